/*
 * What a worker does with one piece, for the plain copy and for
 * rescue (rescue.c).  Offsets are bytes of the map.
 */
#ifndef PARDD_PIECE_H
#define PARDD_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "endpoint.h"
#include "job.h"

enum got { NOTHING, WHOLE, ENDED, CUT };

struct piece {			/* on its way through a worker */
	struct seg	seg;
	size_t		good;	/* bytes in the buffer, to be written */
	size_t		lost;	/* of them unreadable, and zero */
	enum got	got;
	bool		hole;	/* nothing was read, and all is zero */
};

/*
 * A request that failed, "what" it was doing: in the end's own words if it has
 * any, else errno's.
 */
void piece_describe(struct fault *f, const struct io *, const char *name,
    const char *what);

/* A read that failed, or ended before its end, as the fault of the copy. */
void piece_fail_read(struct job *, const struct io *);

/* A write that failed, likewise. */
void piece_fail_write(struct job *, const struct io *);

/*
 * Read len bytes at off + at of the map to the worker's buffer at "at";
 * careful, past all caches, when an error is being isolated.
 */
struct io piece_read(struct worker *, uint64_t off, size_t at, size_t len,
    bool careful);

/*
 * Write len bytes of the buffer from "at" on to off + at of the map.  False
 * when it failed, and the copy is being stopped.
 */
bool piece_write(struct worker *, uint64_t off, size_t at, size_t len);

/*
 * Write the first len bytes of the buffer to off of the map, padded if the
 * copy ends there.  False when it failed, and the copy is being stopped.
 */
bool piece_write_end(struct worker *, uint64_t off, size_t len);

/*
 * The target is being given the first len bytes of the buffer for off: note
 * their digest, with verify= and manifest=.  False as above.
 */
bool piece_note(struct worker *, uint64_t off, size_t len);

/*
 * Note what became of a claimed range (map_settle).  False when there was no
 * memory for it, and the copy is being stopped.
 */
bool piece_settle(struct worker *, uint64_t off, uint64_t len,
    enum seg_status to);

/* The bad byte that a failed read tells, if within the read, else NOWHERE. */
uint64_t piece_hint(const struct io *);

/*
 * One piece of a plain copy, from claim to settlement; false when there is no
 * further one.
 */
bool piece_copy(struct worker *);

/*
 * The same in steps, for who has more than one in hand (queue.c); w->buf is the
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

/*
 * What the write brought; retries= are made.  False when it failed, and the
 * copy is being stopped.
 */
bool piece_wrote(struct worker *, struct io *);

/* Settle; false when there is no further piece. */
bool piece_done(struct worker *, const struct piece *, bool stored);

#endif
