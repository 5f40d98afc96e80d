/*
 * The map: what is still to do, claimed, done or lost.  It is the queue that
 * workers claim from, the progress, and the report of what could not be read.
 *
 * Offsets are bytes from the first byte of the copy (not of either end).
 * Every function locks for itself; the lock is a leaf.
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
	BAD = '-',
	FINISHED = '+',
	CLAIMED = 'c',
};

struct seg {
	uint64_t	off, len;	/* bytes */
	enum seg_status	status;
};

struct map {			/* m: lock; I: set by map_init, then const */
	pthread_mutex_t	 lock;
	uint64_t	 chunk;	/* I: bytes of a claim, at most */
	uint64_t	 phase;	/* I: a claim ends at a multiple - phase */
	struct seg	*seg;	/* m: sorted, adjoining, no two alike */
	size_t		 n, room;	/* m */
	uint64_t	 cursor;	/* m: nothing untried lies before it */
};

struct map_totals {		/* bytes, and ranges where it says so */
	uint64_t	end;	/* of the whole map */
	uint64_t	finished, bad, untried, claimed;
	uint64_t	bad_ranges;
};

/*
 * Make a map of length untried bytes, to be claimed in pieces of chunk (> 0).
 * Returns 0 or ENOMEM.  map_free frees it.
 */
int map_init(struct map *, uint64_t length, uint64_t chunk, uint64_t phase);
void map_free(struct map *);

/*
 * Claim the next untried piece.  Returns 1 with *got filled, 0 when nothing is
 * left, -1 when there is no memory to note the claim.
 */
int map_claim(struct map *, struct seg *got);

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

/* What the map says in all. */
struct map_totals map_totals(struct map *);

#endif
