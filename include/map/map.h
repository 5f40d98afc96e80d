/*
 * The map: what is still to do, claimed, done or lost.  It is the queue that
 * workers claim from, the progress, and the report of what could not be read.
 *
 * Offsets are bytes from the first byte of the copy (not of either end).
 * Every function of a map locks for itself; the lock is a leaf.
 */
#ifndef PARDD_MAP_H
#define PARDD_MAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GNU ddrescue's characters, and one for a piece in a worker's hands. */
enum seg_status {
	UNTRIED = '?',
	UNTRIMMED = '*',	/* within a read that failed */
	UNSCRAPED = '/',	/* between the bad ends of such a read */
	BAD = '-',
	FINISHED = '+',
	OUTSIDE = 'x',		/* not wanted (domain=); in no file */
	CLAIMED = 'c',
	/* Untried, and no pass comes to it yet; in a file they are that. */
	LATER = 'l',
	LAST = 'L',
	ASIDE = 'a',
};

enum {
	MAP_STATUSES = 128,	/* they are characters */
	MAP_SPARES = 8,
};

struct seg {
	uint64_t	off, len;	/* bytes */
	enum seg_status	status;
};

/* The first of n segments, in order, that ends behind off; n if none does. */
size_t segs_find(const struct seg *, size_t n, uint64_t off);

struct map {			/* m: lock; I: set by map_init, then const */
	pthread_mutex_t	 lock;
	uint64_t	 chunk;	/* m: bytes of a claim, at most */
	uint64_t	 phase;	/* I: a claim ends at a multiple - phase */
	uint64_t	 length;	/* m: where the last segment ends */
	struct leaf	**leaf;	/* m: the segments, see map.c */
	size_t		 leaves, room;	/* m: of the array */
	struct leaf	*spare[MAP_SPARES];	/* m: for cuts to come */
	size_t		 spares;	/* m */
	struct {		/* m: of what has a status */
		uint64_t	bytes, ranges;
	}		 sum[MAP_STATUSES];
	uint64_t	 moved;	/* m: steps taken so far, for the tests */
	bool		 ready;	/* I: there is a lock to destroy */
	uint64_t	 cursor;	/* m: claims go on from here */
	enum seg_status	 from;	/* m: what is claimed now */
	bool		 backwards;	/* m: from the end, and cursor is one */
	uint64_t	 skip;	/* m: bytes to leave out after an error */
};

struct map_totals {		/* bytes, and ranges where it says so */
	uint64_t	end;	/* of the whole map */
	uint64_t	outside;
	uint64_t	finished, bad, untried, claimed;
	uint64_t	bad_ranges;
	uint64_t	failed;	/* in reads that failed, not yet looked into */
};

/*
 * Make a map of length untried bytes, to be claimed in pieces of chunk (> 0).
 * Returns 0 or ENOMEM.  map_free frees it.
 */
int map_init(struct map *, uint64_t length, uint64_t chunk, uint64_t phase);
void map_free(struct map *);

/* Hand a map over that nobody uses now; nothing is left to free at "from". */
void map_take(struct map *, struct map *from);

/*
 * Begin a pass over what has a status: from the first byte, or backwards from
 * the last.
 */
void map_pass(struct map *, enum seg_status from, bool backwards);

/*
 * Where the pass stands: what lies behind, in its direction, is over.  And to
 * begin it there; a position outside the map does not count.
 */
uint64_t map_cursor(struct map *);
void map_begin_at(struct map *, uint64_t off);

/*
 * A segment has its status back: where that is the pass's, the pass, which may
 * have gone past it, is not over there.
 */
void map_back(struct map *, const struct seg *);

/* Claims are of so many bytes (> 0) from now on. */
void map_pieces(struct map *, uint64_t chunk);

/* Give a range a status, whatever it had.  Returns 0 or ENOMEM. */
int map_set(struct map *, uint64_t off, uint64_t len, enum seg_status);

/* The same of what has the status "from" in the range. */
int map_change(struct map *, uint64_t off, uint64_t len, enum seg_status from,
    enum seg_status to);

/*
 * An error was met in a piece: leave out, in this pass, some of what follows
 * it in its direction.  It is "least" bytes at first, twice as many with each
 * further error, "most" at most.
 */
void map_skip(struct map *, const struct seg *, uint64_t least, uint64_t most);

/* The same: leave out what lies before a place, in its direction. */
void map_skip_to(struct map *, uint64_t off);

/* The same: leave out the rest of the gap that the piece was part of. */
void map_leave(struct map *, const struct seg *);

/* No error was met: what has to be left out next time is little again. */
void map_go_on(struct map *);

/*
 * All segments, in order; what is claimed counts as not yet claimed.  *copy is
 * malloc'ed and the caller's.  Returns their number, or 0 without memory.
 */
size_t map_copy(struct map *, struct seg **copy);

/*
 * Claim a whole segment of the pass, however long.  Returns as map_claim.
 */
int map_claim_all(struct map *, struct seg *got);

/*
 * Claim the next piece of the pass.  Returns 1 with *got filled, 0 when nothing
 * is left, -1 when there is no memory to note the claim.
 */
int map_claim(struct map *, struct seg *got);

/*
 * What the pass, which goes forwards, would claim next, as far as it goes.
 * Returns false when nothing is left.
 */
bool map_peek(struct map *, struct seg *next);

/*
 * Claim the next piece, but nothing from byte "end" on; whole: all up to
 * there, however long.  Returns as map_claim.
 */
int map_claim_to(struct map *, uint64_t end, bool whole, struct seg *got);

/*
 * Claim the next piece of a pass that goes forwards if it follows "at", but
 * nothing from byte "end" on.  Returns as map_claim.
 */
int map_claim_on(struct map *, const struct seg *at, uint64_t end,
    struct seg *got);

/*
 * Give what is claimed of the range the status "to"; parts of it that were
 * settled before keep theirs.  Returns 0, or ENOMEM with the map unchanged.
 */
int map_settle(struct map *, uint64_t off, uint64_t len, enum seg_status to);

/* Nothing lies at end and beyond: the stream is over. */
void map_end(struct map *, uint64_t end);

/*
 * The first segment of a status that ends behind off, cut to begin no earlier
 * than off.  Returns false when there is none.
 */
bool map_next(struct map *, uint64_t off, enum seg_status, struct seg *got);

/* The status of the byte at off; behind the end, of one that is finished. */
enum seg_status map_at(struct map *, uint64_t off);

/* Whether all of a range has a status; what lies behind the end has none. */
bool map_all(struct map *, uint64_t off, uint64_t len, enum seg_status);

/* What the map says in all. */
struct map_totals map_totals(struct map *);

#endif
