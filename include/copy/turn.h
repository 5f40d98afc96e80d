/*
 * Taking turns at a target that is written in order: a pipe, a terminal, a file
 * in append mode.
 */
#ifndef PARDD_TURN_H
#define PARDD_TURN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { TURN_WAITERS = 16 };	/* threads that may wait at a time */

struct turn {			/* t: lock */
	pthread_mutex_t	lock;
	uint64_t	next;		/* t: the byte whose turn it is */
	bool		stopped;	/* t: there will be no further turn */
	struct turn_waiter {
		pthread_cond_t	moved;
		uint64_t	off;
		bool		here;
	}		waiter[TURN_WAITERS];	/* t */
};

/* The first turn is that of byte 0.  Destroy it once no thread uses it. */
void turn_init(struct turn *);
void turn_destroy(struct turn *);

/* Wait for the turn of byte off.  Returns false if turn_stop was called. */
bool turn_wait(struct turn *, uint64_t off);

/* Pass the turn on to byte "next".  Only the holder of the turn may. */
void turn_pass(struct turn *, uint64_t next);

/* End all turns, and wake all waiters.  Safe in any thread. */
void turn_stop(struct turn *);

#endif
