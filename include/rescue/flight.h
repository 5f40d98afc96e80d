/*
 * The reads of a rescue in flight, and how long each has occupied the disk.
 */
#ifndef PARDD_FLIGHT_H
#define PARDD_FLIGHT_H

#include <pthread.h>
#include <stdint.h>

#include "copy/job.h"

struct flight {				/* f: lock */
	pthread_mutex_t	 lock;
	uint64_t	 begun;	/* f: number of reads so far */
	struct {		/* f: for each worker: */
		uint64_t	 number;	/* of its current read, or 0 */
		double		 since;		/* s, see flight_end */
	}		 read[WORKERS_MOST];
};

/* Begin with nothing in flight; and free it. */
void flight_init(struct flight *);
void flight_destroy(struct flight *);

/* A worker begins a read. */
void flight_begin(struct flight *, const struct worker *);

/*
 * The read was answered.  Returns for how many seconds the disk may have worked
 * on it: before that, it may have been busy with reads that began earlier.
 */
double flight_end(struct flight *, const struct worker *);

#endif
