/*
 * oflag=sparing: reading the target and writing only what differs.  Offsets are
 * bytes of the map.
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

/*
 * Read len bytes of the target at off into the worker's second buffer; *data
 * points to them there.  io.done is their number, less than len past the end of
 * a file.
 */
struct io sparing_read(struct worker *, uint64_t off, size_t len,
    unsigned char **data);

/* Fail the job because of a failed read of the target. */
void sparing_fail(struct worker *, const struct io *);

/*
 * The length of the run of equal units, or of different units, that a and b
 * begin with; *same says which.  Units end at multiples of their size; a begins
 * at "start".
 */
size_t sparing_run(const unsigned char *a, const unsigned char *b, size_t len,
    uint64_t start, size_t unit, bool *same);

/*
 * Write to off those of the first len bytes of the worker's buffer that the
 * target does not have yet.  Returns false if it failed; then the copy is being
 * stopped.
 */
bool sparing_spare(struct worker *, uint64_t off, size_t len);

#endif
