/*
 * Reading alone.  Near errors several workers would hit the same error, so only
 * one reads at a time.  If it is stuck, the others go on without it; sooner, if
 * the disk can read elsewhere at the same time.  And how long each read, alone
 * or not, has occupied the disk.
 */
#ifndef PARDD_EXCLUSIVE_H
#define PARDD_EXCLUSIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "copy/job.h"
#include "map/map.h"

enum { SEATS = 4 };

struct seat {				/* all x */
	uint64_t	 ticket;	/* of its worker; 0: free */
	double		 since;	/* s of the monotonic clock: its current read
				 * has occupied the disk since then, at most */
	struct seg	 at;	/* what is being read; length 0: unknown */
	bool		 stuck;	/* another was let in because this one is
				 * stuck */
};

struct exclusive {			/* x: lock */
	pthread_mutex_t	 lock;
	pthread_cond_t	 left;
	unsigned	 most;	/* I: seats, at most */
	unsigned	 seats;	/* x: 1, or from 2 up to most */
	struct seat	 seat[SEATS];	/* x */
	uint64_t	 ticket;	/* x: the last one given out */
	bool		 parallel;	/* x: two were served at the same
					 * time */
	double		 failed;	/* x: s: when the last error returned */
	double		 hint, patience;	/* x: s: those of the latest to
					 * enter, who knows most */
	uint64_t	 begun;		/* x: reads so far, of all workers */
	struct {			/* x: for each worker: */
		uint64_t	 number;	/* of its current read, or 0 */
		double		 since;		/* s, see exclusive_ends */
	}		 read[WORKERS_MOST];
};

/*
 * At most two may be inside at a time, and "most" (up to SEATS) once
 * exclusive_failed has shown that the disk serves several at once.
 */
void exclusive_init(struct exclusive *, unsigned most);
void exclusive_destroy(struct exclusive *);

/*
 * Wait for admission: until the worker inside leaves, or has spent "hint"
 * seconds on one read and there is another seat, or "patience" seconds without
 * one.  If that worker was not known to be stuck, *stuck is what it reads, else
 * its length is 0.  Returns a ticket (> 0).
 */
uint64_t exclusive_enter(struct exclusive *, double hint, double patience,
    struct seg *stuck);

/*
 * Set what the ticket's worker reads from now on, for others that lose
 * patience.
 */
void exclusive_reads(struct exclusive *, uint64_t ticket, const struct seg *);

/*
 * That read has returned.  Returns whether someone was told meanwhile that it
 * is stuck; from now on nobody will be.  Ticket 0: a read without one, which
 * those inside may have waited for.
 */
bool exclusive_passed(struct exclusive *, uint64_t ticket);

/*
 * That was an error; the longest so far took so many seconds.  Two that return
 * closer together than that were served at the same time: from then on there
 * are all seats.
 */
void exclusive_failed(struct exclusive *, uint64_t ticket, double longest);

/* Leave.  Does nothing if the ticket was left behind, or is 0. */
void exclusive_leave(struct exclusive *, uint64_t ticket);

/* A worker begins a read, with a ticket or without. */
void exclusive_begins(struct exclusive *, const struct worker *);

/*
 * The read was answered.  Returns for how many seconds the disk may have worked
 * on it: before that, it may have been busy with reads that began earlier.
 */
double exclusive_ends(struct exclusive *, const struct worker *);

#endif
