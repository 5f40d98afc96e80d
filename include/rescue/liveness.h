/*
 * Whether a rescue's source is alive: tells a disk with bad blocks from one
 * that answers nothing any more.  Used by rescue.c.
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
struct pass;
struct worker;

enum { LIVENESS_BADS = 64 };

struct liveness {
	pthread_mutex_t	 look;	/* held while good blocks are read again */
	pthread_mutex_t	 lock;
	bool		 lost;	/* look, then the lead's: too few could be */
	/* lock: the last errors, with the status that the range had */
	struct seg	 bad[LIVENESS_BADS];
	size_t		 bads;		/* lock: how many ever */
	size_t		 proved;	/* lock: so many are the medium's */
	bool		 read;		/* lock: something, in this run */
	bool		 blank;		/* lock: nor in any run before */
	uint64_t	 dice;		/* look, then the lead's */
	const struct pass *pass;	/* lock: of the first error that is */
	int		 retry;		/* not proved, and which retry */
};

/* With nothing noted yet; and with what it takes given back. */
void liveness_begin(struct liveness *);
void liveness_end(struct liveness *);

/* Before a read: what a success of it will prove. */
size_t liveness_mark(struct worker *);

/*
 * Take note of a read of the copy, from off on, of what had the status "was".
 * One that the disk gave no answer to in time becomes an error of the medium.
 * After a number of errors without a good read between, blocks that this run or
 * one before has read are read again, and some that are untried: when too few
 * of them can be read, the source has gone, and the read failed with ENODEV.
 */
void liveness_feel(struct worker *, struct io *, uint64_t off,
    enum seg_status was, size_t mark);

/*
 * The lead's, when nobody reads any more: look once more if the last reads have
 * failed.  If the source has gone that is the fault of the copy, unless it was
 * stopped before.
 */
void liveness_last(struct worker *);

/*
 * Take note of what follows from errors for a range that had the status "was":
 * it is as doubtful as they are.
 */
void liveness_note(struct worker *, uint64_t off, uint64_t len,
    enum seg_status was);

/*
 * Nothing shows that the source is there: what failed last may be none
 * of the medium's; it gets back the status it had.  The lead's, when no other
 * worker is left.
 */
void liveness_forgive(struct job *);

#endif
