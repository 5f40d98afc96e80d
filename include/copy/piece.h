/*
 * What a worker does with one piece, for the plain copy and for
 * rescue (rescue.c).  Offsets are bytes of the map.
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
	size_t		lost;	/* of them unreadable, and zero */
	enum got	got;
	bool		hole;	/* nothing was read, and all is zero */
};

/*
 * The target is being given the first len bytes of the buffer for off: note
 * their digest, with verify= and manifest=.  False as above.
 */
bool piece_note(struct worker *, uint64_t off, size_t len);

/*
 * One piece of a plain copy, from claim to settlement; false when there is no
 * further one.
 */
bool piece_copy(struct worker *);

/*
 * The same in steps, for who has more than one in hand (ring.c); w->buf is the
 * buffer of the piece that a step is for.
 *
 * Claim: false when there is none, or no memory and the copy is being stopped.
 */
bool piece_claim(struct worker *, struct piece *);

/* What the read of all of it brought; what failed is read again in parts. */
void piece_took(struct worker *, struct piece *, const struct io *);

/*
 * Lend what was read to the digests, if there are any; hash_wait or
 * hash_taken gives it back.
 */
struct hash_piece;
void piece_lend(struct worker *, const struct piece *, struct hash_piece *);

/*
 * Bytes to write, padded if the copy ends there.  Of a piece that was cut that
 * is what the target can take, and pc->good becomes it.
 */
size_t piece_to_write(struct worker *, struct piece *);

/* Settle; false when there is no further piece. */
bool piece_done(struct worker *, const struct piece *, bool stored);

#endif
