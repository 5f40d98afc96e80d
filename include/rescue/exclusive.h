/*
 * Reading alone: where reading side by side would only meet the same error
 * several times, one worker reads at a time.  One that is stuck is left behind.
 */
#ifndef PARDD_EXCLUSIVE_H
#define PARDD_EXCLUSIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "map/map.h"

struct exclusive {			/* g: lock */
	pthread_mutex_t	 lock;
	pthread_cond_t	 left;
	bool		 held;	/* g */
	uint64_t	 ticket;	/* g: of the last who came in */
	double		 since;	/* g: seconds of the monotonic clock: who is
				 * inside began what he does now */
	struct seg	 at;	/* g: what is read, or of length 0 */
};

/* Returns 0, or an errno, and then there is nothing to destroy. */
int exclusive_init(struct exclusive *);
void exclusive_destroy(struct exclusive *);

/*
 * Wait to be let in: until the one inside has left, or has been at one thing
 * for "patience" seconds; then *stuck is what he reads, else of length 0.
 * Returns a ticket (> 0).
 */
uint64_t exclusive_enter(struct exclusive *, double patience,
    struct seg *stuck);

/* What is read inside from now on, to be told to who loses patience. */
void exclusive_reads(struct exclusive *, uint64_t ticket, const struct seg *);

/* Leave.  Nothing happens if one was left behind, or for ticket 0. */
void exclusive_leave(struct exclusive *, uint64_t ticket);

#endif
