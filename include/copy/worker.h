/*
 * The threads of a copy.
 */
#ifndef PARDD_WORKER_H
#define PARDD_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/job.h"

/*
 * Have all workers do a task until nothing is left; the calling thread is the
 * first worker.  If no more threads can be started, fewer do the work.
 */
void workers_run(struct job *, const struct task *);

/*
 * The asynchronous engine: one worker with many requests in flight, by
 * io_uring.
 */

struct queue;
struct worker;

/*
 * A queue for a worker, of up to "slots" pieces.  The buffer of slot i is at
 * bufs + i * stride (bytes); the buffers belong to the caller, and are not
 * touched before they are needed.  Returns NULL with an errno value in *err if
 * the kernel has no io_uring or does not allow it.  ring_free takes NULL too.
 */
struct queue *ring_new(struct worker *, unsigned char *bufs, size_t stride,
    unsigned slots, int *err);
void ring_free(struct queue *);

/*
 * Copy pieces until the map has none left.  Called by the worker's thread, with
 * its lanes attached.
 */
void ring_work(struct queue *);

/* How many reads and writes were in flight at most; call it at the end. */
void ring_depth(const struct queue *, unsigned *reads, unsigned *writes);

/*
 * How many requests of one end may be in flight.
 *
 * A window grows as long as requests return about as fast as the fastest one:
 * then the time is latency, and more requests hide it.  When they take much
 * longer, they wait for each other, and more would only cost memory and slow
 * down other programs.
 */

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
