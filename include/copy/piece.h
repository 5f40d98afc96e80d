/*
 * One piece of a copy in the hands of a worker.  Offsets are bytes of the map.
 */
#ifndef PARDD_PIECE_H
#define PARDD_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/job.h"
#include "end/endpoint.h"

enum got { NOTHING, WHOLE, ENDED, CUT };

struct piece {			/* on its way through a worker */
	struct seg	seg;
	size_t		good;	/* bytes in the buffer, to be written */
	size_t		lost;	/* of these, unreadable: zeros stand for them */
	enum got	got;
	bool		hole;	/* a hole: not read, all zeros */
};

/*
 * Record the digest of the first len bytes of the buffer, which are about to be
 * written to off, for verify= and manifest=.  Returns false without memory;
 * then the copy is being stopped.
 */
bool piece_note(struct worker *, uint64_t off, size_t len);

/*
 * Copy one piece, from claim to settlement.  Returns false when none is left.
 */
bool piece_copy(struct worker *);

/*
 * The same in steps, for ring.c, which works on many pieces.  w->buf must be
 * the buffer of the piece.
 *
 * Claim a piece.  Returns false when there is none left, or without memory;
 * then the copy is being stopped.
 */
bool piece_claim(struct worker *, struct piece *);

/* Take the result of its read.  What failed is read again in parts. */
void piece_took(struct worker *, struct piece *, struct io *);

/*
 * Lend the buffer to the digests, if any, until hash_wait returns or hash_taken
 * says so.
 */
struct hash_piece;
void piece_lend(struct worker *, const struct piece *, struct hash_piece *);

/*
 * The number of bytes to write, with padding if the copy ends there.  If the
 * read was cut short, only what the target can take: pc->good is reduced to
 * that.
 */
size_t piece_to_write(struct worker *, struct piece *);

/* Settle the piece.  Returns false when no further piece can follow. */
bool piece_done(struct worker *, const struct piece *, bool stored);

#endif
