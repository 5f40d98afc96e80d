/*
 * Whether the source of a rescue still answers: a disk with bad blocks looks
 * much like one that no longer answers.
 */
#ifndef PARDD_LIVENESS_H
#define PARDD_LIVENESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "end/endpoint.h"
#include "map/map.h"

struct job;
struct worker;

enum { LIVENESS_BADS = 64 };

struct liveness {
	pthread_mutex_t	 look;	/* held while good blocks are reread */
	pthread_mutex_t	 lock;
	bool		 lost;	/* look, later the lead: the source is gone */
	/* lock: the last errors, with the earlier status */
	struct seg	 bad[LIVENESS_BADS];
	size_t		 bads;		/* lock: number of errors so far */
	size_t		 proved;	/* lock: of these, certainly medium
					 * errors */
	size_t		 patience;	/* lock: errors until the next test */
	bool		 read;		/* lock: this run has read something */
	bool		 blank;		/* lock: nothing was read before it */
	uint64_t	 dice;		/* look, later the lead */
};

/* Begin without errors; and free it. */
void liveness_begin(struct liveness *);
void liveness_end(struct liveness *);

/*
 * Before a read: a mark for liveness_feel, which says what a success will
 * prove.
 */
size_t liveness_mark(struct worker *);

/*
 * Record a read of the copy at off, of a range that had the status "was".  A
 * read that timed out becomes a medium error.  After many errors without a good
 * read, some blocks that were read before, and some untried ones, are read.  If
 * too few of them can be, the source is gone, and the read fails with ENODEV.
 */
void liveness_feel(struct worker *, struct io *, uint64_t off,
    enum seg_status was, size_t mark);

/* The source is gone, as somebody else has found out.  Any thread. */
void liveness_gone(struct job *);

/*
 * For the lead, once no worker reads: check once more if the last reads have
 * failed.  If the source is gone, that is the fault of the copy, unless there
 * was one before.
 */
void liveness_last(struct worker *);

/*
 * Nothing proves that the source is there, so the last errors may not be medium
 * errors: restore the status of those ranges.  For the lead, when no other
 * worker is left.
 */
void liveness_forgive(struct job *);

#endif
