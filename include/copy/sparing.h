/*
 * Reading the target back: the window of a worker, what of it differs, and
 * oflag=sparing, which writes only that.  Offsets are bytes of the map.
 */
#ifndef PARDD_SPARING_H
#define PARDD_SPARING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "copy/job.h"
#include "end/endpoint.h"
#include "plan/plan.h"

/* Open job->back, once the target is there.  Returns 0, or -1 with *f. */
int sparing_open(struct job *, struct fault *f);

/*
 * Read len bytes at off of the target's range.  *data is where they begin in
 * the worker's second buffer; io.done of them are there, fewer than len behind
 * the end of a file.
 */
struct io sparing_read(struct worker *, uint64_t off, size_t len,
    unsigned char **data);

/*
 * The same read brought this of one of several targets; NULL: less than len
 * bytes.  There is room behind them, of the length that was read.
 */
unsigned char *sparing_read_of(struct worker *, unsigned target, uint64_t off,
    size_t len);

/* A read of the target that failed, as the fault of the run. */
void sparing_fail(struct worker *, const struct io *);

/*
 * The length of the run that a and b begin with, of units that are alike, or
 * that are not.  A unit ends at a multiple of its size, where a begins at
 * "start".
 */
size_t sparing_run(const unsigned char *a, const unsigned char *b, size_t len,
    uint64_t start, size_t unit, bool *same);

/*
 * Write the first len bytes of the worker's buffer to off, but for what the
 * target has already.  False when it failed, and the copy is being stopped.
 */
bool sparing_spare(struct worker *, uint64_t off, size_t len);

#endif
