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

#endif
