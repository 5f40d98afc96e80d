/*
 * Reading alone: where reading side by side would only meet the same error
 * several times, one worker reads at a time.  One that is stuck is left behind;
 * and where the disk can read elsewhere meanwhile, that is soon.
 */
#ifndef PARDD_EXCLUSIVE_H
#define PARDD_EXCLUSIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "map/map.h"

enum { SEATS = 2 };

struct seat {				/* all g */
	uint64_t	 ticket;	/* who is inside, or 0 */
	double		 since;	/* seconds of the monotonic clock: what he does
				 * now has kept the disk at most so long */
	struct seg	 at;	/* what is read, or of length 0 */
	bool		 stuck;	/* he was taken to be, and another let in */
};

struct exclusive {			/* g: lock */
	pthread_mutex_t	 lock;
	pthread_cond_t	 left;
	unsigned	 seats;	/* I: 1, or 2 */
	struct seat	 seat[SEATS];	/* g */
	uint64_t	 ticket;	/* g: of the last who came in */
	bool		 parallel;	/* g: two were served at a time */
};

/*
 * seats: so many may be inside at last.  Returns 0, or an errno, and then there
 * is nothing to destroy.
 */
int exclusive_init(struct exclusive *, unsigned seats);
void exclusive_destroy(struct exclusive *);

/*
 * Wait to be let in: until the one inside has left, or has been at one thing
 * for "hint" seconds and there is a second seat, or for "patience" seconds; if
 * that is news, *stuck is what he reads, else of length 0.  Returns a ticket
 * (> 0).
 */
uint64_t exclusive_enter(struct exclusive *, double hint, double patience,
    struct seg *stuck);

/* What is read inside from now on, to be told to who loses patience. */
void exclusive_reads(struct exclusive *, uint64_t ticket, const struct seg *);

/*
 * It has been read.  Returns whether somebody came in meanwhile who was told of
 * it as stuck; from now on nobody is.
 */
bool exclusive_passed(struct exclusive *, uint64_t ticket);

/* A read that needed no ticket was answered: who is inside may have waited. */
void exclusive_answered(struct exclusive *);

/* Leave.  Nothing happens if one was left behind, or for ticket 0. */
void exclusive_leave(struct exclusive *, uint64_t ticket);

#endif
