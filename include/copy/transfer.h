/*
 * One request of a piece: made, counted, and put in words when it fails.
 * Offsets are bytes of the map.
 */
#ifndef PARDD_TRANSFER_H
#define PARDD_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/job.h"
#include "end/endpoint.h"

/* A read that failed, or ended before its end, as the fault of the copy. */
void transfer_fail_read(struct worker *, const struct io *);

/* A write that failed, likewise. */
void transfer_fail_write(struct worker *, const struct io *);

/*
 * Read len bytes at off + at of the map to the worker's buffer at "at";
 * careful, past all caches, when an error is being isolated.
 */
struct io transfer_read(struct worker *, uint64_t off, size_t at, size_t len,
    bool careful);

/* The bad byte that a failed read tells, if within the read, else NOWHERE. */
uint64_t transfer_hint(const struct io *);

/*
 * The worker asks something of the target, and knows what it brought: whatever
 * failed has set job->doubt.  Not nested.
 */
void transfer_begin(struct worker *);
void transfer_end(struct worker *);

/*
 * Wait for all that the workers have asked of the target by now.  What they
 * begin meanwhile is not waited for.
 */
void transfer_await(struct job *);

/*
 * Write len bytes of the buffer from "at" on to off + at of the map.  False
 * when it failed, and the copy is being stopped.
 */
bool transfer_write(struct worker *, uint64_t off, size_t at, size_t len);

/*
 * Write the first len bytes of the buffer to off of the map, padded if the
 * copy ends there.  False when it failed, and the copy is being stopped.
 */
bool transfer_write_end(struct worker *, uint64_t off, size_t len);

/*
 * What the write brought; retries= are made.  False when it failed, and the
 * copy is being stopped.
 */
bool transfer_wrote(struct worker *, struct io *);

/*
 * Note what became of a claimed range (map_settle).  False when there was no
 * memory for it, and the copy is being stopped.
 */
bool transfer_settle(struct worker *, uint64_t off, uint64_t len,
    enum seg_status to);

/* There was no memory for the map: the fault of the copy. */
void transfer_fail_map(struct job *);

/*
 * Add zeros behind the len bytes of the buffer that the copy, at off + len,
 * ends with, to make them whole blocks of the target.  Returns the new length.
 */
size_t transfer_pad(struct worker *, uint64_t off, size_t len);

#endif
