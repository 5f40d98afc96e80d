/*
 * The gaps from inside: what gaps.c, which decides, gaps_asked.c and
 * gaps_give.c share.  All of it is called with gaps->lock held; only map->lock
 * is taken with it.  Places are bytes, in the direction of the rescue: one that
 * goes backwards sees the mirror image of the disk.
 */
#ifndef PARDD_GAPS_INSIDE_H
#define PARDD_GAPS_INSIDE_H

#include "rescue/gaps.h"

enum {
	GAP_SWEEP = 64 << 10,	/* bytes that are given up at a time, */
	GAP_PROBES = 16,	/* or after so many in a row that failed */
	UNIT_SHIFT = 7,		/* a unit has 2^UNIT_SHIFT blocks, at most */
};

/* A range as the map has it; and the other way round. */
struct seg gaps_mirrored(const struct gaps *, uint64_t off, uint64_t end);

/* The end of the block that off lies in. */
uint64_t gaps_block_end(const struct gaps *, uint64_t off);

/*
 * The beginning of a block, n bytes before "end", or of the last one before it,
 * but not before off.
 */
uint64_t gaps_block_begin(const struct gaps *, uint64_t off, uint64_t end,
    uint64_t n);

/* The end of n bytes from off on, at least one block, but not behind "end". */
uint64_t gaps_piece_end(const struct gaps *, uint64_t off, uint64_t end,
    uint64_t n);

/* Whether one of its neighbours is good. */
static inline bool
gap_open_ended(const struct gap *gap)
{
	return gap->front || gap->back;
}

/* Good bytes that a gap promises for each error. */
double gap_hope(const struct gaps *, const struct gap *);

/* The same by what came of gaps of its kind that were about so long. */
double gaps_yield(const struct gaps *, enum gap_kind, uint64_t len);

/* What came of a gap: those of other lengths learn from it, too, but less. */
void gaps_learn(struct gaps *, enum gap_kind, uint64_t len, uint64_t bytes,
    unsigned errors);

/* These are left: they are read from the first on, block by block. */
bool gap_hopeless(const struct gaps *, const struct gap *);

/*
 * A gap has failed as a whole.  Returns whether it is of a unit, of several
 * blocks.  Then no more is tried there, but by the block, in one of twice as
 * many each time, whether there are units.
 */
bool gap_lose(struct gaps *, struct gap *);

/*
 * Something was read: the ends of damage that were found before are the
 * medium's, and units may be learned from them.
 */
void gaps_learn_unit(struct gaps *);

/* The hope of gap i of the heap has changed: move it to its place. */
void gaps_settle(struct gaps *, size_t i);

/* Put a gap into the heap, if it is not empty.  Returns 0 or ENOMEM. */
int gaps_put_back(struct gaps *, const struct gap *);

/* The same of one that was not there before: it gets its age and its hope. */
int gaps_put_new(struct gaps *, struct gap);

/* Take gap i out of the heap. */
void gaps_remove_at(struct gaps *, size_t i);

/*
 * Take the first piece that a reader waits for, for worker "who", of "most"
 * bytes.  Returns whether there is one; *waits: others have what there was.
 * gaps->err: no memory.
 */
bool gaps_take_asked(struct gaps *, unsigned who, uint64_t most, struct seg *,
    bool *waits);

#endif
