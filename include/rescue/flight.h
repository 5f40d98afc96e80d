/*
 * The reads of a rescue that are in flight, and how long each kept the disk.
 */
#ifndef PARDD_FLIGHT_H
#define PARDD_FLIGHT_H

#include <pthread.h>
#include <stdint.h>

#include "copy/job.h"

struct flight {				/* f: lock */
	pthread_mutex_t	 lock;
	uint64_t	 begun;	/* f: reads so far */
	struct {		/* f: of each worker: */
		uint64_t	 number;	/* of its read, or 0 */
		double		 since;		/* seconds, see flight_end */
	}		 read[WORKERS_MOST];
};

/* With nothing in flight; and to be done with it. */
void flight_init(struct flight *);
void flight_destroy(struct flight *);

/* A worker begins a read. */
void flight_begin(struct flight *, const struct worker *);

/*
 * It was answered.  Returns for how many seconds the disk can have been at it:
 * while one was not answered that began before, it had perhaps not come to it.
 */
double flight_end(struct flight *, const struct worker *);

#endif
