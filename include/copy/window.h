/*
 * How many requests of one end may be in flight.
 *
 * A window grows as long as requests return about as fast as the fastest one:
 * then the time is latency, and more requests hide it.  When they take much
 * longer, they wait for each other, and more would only cost memory and slow
 * down other programs.
 */
#ifndef PARDD_WINDOW_H
#define PARDD_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct window {
	unsigned	 size;		/* requests that may be in flight */
	unsigned	 fixed;		/* always this many, or 0 */
	unsigned	 limit;		/* upper limit of size */
	unsigned	 busy;		/* requests in flight */
	unsigned	 most;		/* the maximum so far */
	uint64_t	 base;		/* ns, the fastest request since the
					 * window was small */
};

/* Make it small again, and forget how fast requests were. */
void window_begin(struct window *);

/* Whether no further request may be started. */
bool window_full(const struct window *);

/* A request is in flight. */
void window_start(struct window *);

/* It has returned after "took" ns: adapt the size. */
void window_end(struct window *, uint64_t took);

#endif
