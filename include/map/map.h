/*
 * The map: which bytes are still to do, claimed, done or lost.  Workers claim
 * their pieces from it, progress is read from it, and it shows what could not
 * be read.
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

/* The characters of GNU ddrescue, and some of our own. */
enum seg_status {
	UNTRIED = '?',
	UNTRIMMED = '*',	/* within a read that failed */
	UNSCRAPED = '/',	/* between the bad ends of such a read */
	BAD = '-',
	FINISHED = '+',
	OUTSIDE = 'x',		/* left out by domain= or used= */
	STALE = 's',		/* the same, but the target's is to be zeroed */
	CLAIMED = 'c',		/* a worker has it */
	/* Untried, but left to a later pass; a file calls them untried. */
	LATER = 'l',
	LAST = 'L',
	ASIDE = 'a',
};

enum {
	MAP_STATUSES = 128,	/* a status is an ASCII character */
	MAP_SPARES = 8,
};

struct seg {
	uint64_t	off, len;	/* bytes */
	enum seg_status	status;
};

/* The first of n segments, in order, that ends after off; n if none does. */
size_t segs_find(const struct seg *, size_t n, uint64_t off);

struct map {			/* m: lock; I: set by map_init, then const */
	pthread_mutex_t	 lock;
	uint64_t	 chunk;	/* m: bytes of a claim, at most */
	uint64_t	 phase;	/* I: a claim ends at a multiple - phase */
	uint64_t	 length;	/* m: where the last segment ends */
	struct leaf	**leaf;	/* m: the segments, see map.c */
	size_t		 leaves, room;	/* m: of the array */
	struct leaf	*spare[MAP_SPARES];	/* m: for later cuts */
	size_t		 spares;	/* m */
	struct {		/* m: of what has a status */
		uint64_t	bytes, ranges;
	}		 sum[MAP_STATUSES];
	uint64_t	 moved;	/* m: steps taken so far, for the tests */
	bool		 ready;	/* I: there is a lock to destroy */
	uint64_t	 cursor;	/* m: claims continue from here */
	enum seg_status	 from;	/* m: what is claimed now */
};

struct map_totals {		/* bytes, unless it says ranges */
	uint64_t	end;	/* of the whole map */
	uint64_t	outside;
	uint64_t	finished, bad, untried;
	uint64_t	bad_ranges;
	uint64_t	failed;	/* in failed reads, not examined yet */
	uint64_t	claimed;	/* counted above too, as what it was */
};

/*
 * Make a map of "length" untried bytes, to be claimed in pieces of at most
 * "chunk" bytes (> 0), which end at a multiple of chunk, less "phase".  Returns
 * 0 or ENOMEM.  The caller frees it with map_free.
 */
int map_init(struct map *, uint64_t length, uint64_t chunk, uint64_t phase);
void map_free(struct map *);

/* Move a map that no thread is using; "from" is left with nothing to free. */
void map_take(struct map *, struct map *from);

/* Begin a pass over everything of one status, from the first byte. */
void map_pass(struct map *, enum seg_status from);

/* From now on a claim takes at most that many bytes (> 0). */
void map_pieces(struct map *, uint64_t chunk);

/* Set the status of a range, whatever it was.  Returns 0 or ENOMEM. */
int map_set(struct map *, uint64_t off, uint64_t len, enum seg_status);

/* The same for those parts of the range that have the status "from". */
int map_change(struct map *, uint64_t off, uint64_t len, enum seg_status from,
    enum seg_status to);

/*
 * Copy all segments, in order; claimed ones have the status they had before,
 * and deferred ones are untried.  The caller frees *copy.  Returns their
 * number, or 0, with *copy NULL, without memory.
 */
size_t map_copy(struct map *, struct seg **copy);

/* The same, but deferred segments stay LATER, LAST and ASIDE. */
size_t map_copy_put_off(struct map *, struct seg **copy);

/*
 * Claim the next piece of the pass.  Returns 1 with *got, 0 when nothing is
 * left, or -1 when there is no memory to record the claim.
 */
int map_claim(struct map *, struct seg *got);

/*
 * The segment of which a pass would claim the next piece.  Returns
 * false when nothing is left.
 */
bool map_peek(struct map *, struct seg *next);

/*
 * Claim the next piece, but nothing from byte "end" on; if "whole", however
 * long it is.  Returns what map_claim does.
 */
int map_claim_to(struct map *, uint64_t end, bool whole, struct seg *got);

/*
 * Set the status of the claimed parts of a range; parts that were settled
 * before keep theirs.  Returns 0, or ENOMEM with the map unchanged.
 */
int map_settle(struct map *, uint64_t off, uint64_t len, enum seg_status to);

/* The map ends at "end", because a stream does. */
void map_end(struct map *, uint64_t end);

/*
 * The first segment with a status at or after off; if off lies within it, the
 * part from off on.  Returns false if there is none.
 */
bool map_next(struct map *, uint64_t off, enum seg_status, struct seg *got);

/* The segment that a byte lies in, from it on; false past the end. */
bool map_here(struct map *, uint64_t off, struct seg *got);

/* The status of the byte at off; FINISHED past the end of the map. */
enum seg_status map_at(struct map *, uint64_t off);

/* Whether a whole range has a status; nothing past the end has one. */
bool map_all(struct map *, uint64_t off, uint64_t len, enum seg_status);

/* The totals of the map. */
struct map_totals map_totals(struct map *);

#endif
