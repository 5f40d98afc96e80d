/*
 * The asynchronous engine: one worker with many requests in flight, by
 * io_uring.
 */
#ifndef PARDD_RING_H
#define PARDD_RING_H

#include <stdbool.h>
#include <stddef.h>

struct queue;
struct worker;

/*
 * A queue for a worker, of "slots" pieces at most; slot i has its buffer at
 * bufs + i * stride, bytes that stay the caller's and are touched when needed.
 * Returns it, or NULL with *err an errno value: the kernel has no io_uring, or
 * does not let us have it.  ring_free takes NULL too.
 */
struct queue *ring_new(struct worker *, unsigned char *bufs, size_t stride,
    unsigned slots, int *err);
void ring_free(struct queue *);

/*
 * The worker's thread: pieces until the map has none left.  Its lanes are
 * attached.
 */
void ring_work(struct queue *);

/* The most reads and writes that were in flight at a time, once it is over. */
void ring_depth(const struct queue *, unsigned *reads, unsigned *writes);

#endif
