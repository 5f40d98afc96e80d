/*
 * Memory for the requests of a lane that a library carries out, allocated when
 * the first one begins.  Used by one thread.
 */
#ifndef PARDD_FLIGHTS_H
#define PARDD_FLIGHTS_H

#include <stddef.h>

struct flight {			/* first member of a library's call */
	struct lane	*lane;	/* lane_over is called for it; NULL: the caller
				 * waits for the call */
	struct io	*io;	/* the request of that lane */
	struct flight	*next;	/* the owner's, while idle */
};

struct flights {		/* all 0: nothing allocated */
	struct flight	*idle;
	void		*all;
};

/*
 * Take an idle call from "most" of "size" bytes each.  NULL if none is idle, or
 * without memory.  Its contents are undefined.
 */
void *flights_begin(struct flights *, unsigned most, size_t size);

/* Give a call back. */
void flights_end(struct flights *, void *call);

/* Free the memory, when no call is in use. */
void flights_free(struct flights *);

#endif
