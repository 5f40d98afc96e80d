/*
 * The requests of a lane that a library carries: some room for each, which is
 * made when the first one begins.  They are one thread's.
 */
#ifndef PARDD_FLIGHTS_H
#define PARDD_FLIGHTS_H

#include <stddef.h>

struct flight {			/* the first member of a library's call */
	struct lane	*lane;	/* whose io is over then (lane_over), or */
	struct io	*io;	/* NULL: somebody waits for it */
	struct flight	*next;	/* its owner's, while it is idle */
};

struct flights {		/* all 0: there are none yet */
	struct flight	*idle;
	void		*all;
};

/*
 * An idle call, of "most" that have "size" bytes each, or NULL: there is none,
 * or no memory.  What is in it means nothing.
 */
void *flights_begin(struct flights *, unsigned most, size_t size);

/* It is idle again. */
void flights_end(struct flights *, void *call);

/* None is under way: give the memory back. */
void flights_free(struct flights *);

#endif
