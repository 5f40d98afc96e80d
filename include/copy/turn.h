/*
 * Taking turns at an end that is written in order: a pipe, a terminal, a file
 * that is appended to.
 */
#ifndef PARDD_TURN_H
#define PARDD_TURN_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { TURN_WAITERS = 16 };	/* at the same time, at most */

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

/* The first turn is byte 0's.  turn_destroy when no thread uses it. */
void turn_init(struct turn *);
void turn_destroy(struct turn *);

/* Wait until it is byte off's turn.  False when it never will be. */
bool turn_wait(struct turn *, uint64_t off);

/* Let byte next have the turn.  For the holder of the turn. */
void turn_pass(struct turn *, uint64_t next);

/* There is no further turn: all who wait leave.  For anybody. */
void turn_stop(struct turn *);

#endif
