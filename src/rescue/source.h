/*
 * Reading the source in a rescue, and storing the data.
 */
#ifndef PARDD_SOURCE_H
#define PARDD_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/job.h"
#include "copy/transfer.h"
#include "end/lane.h"

/* Read len bytes at off + at into the buffer at "at". */
struct io source_read(struct worker *, uint64_t off, size_t at, size_t len,
    enum care);

/* Stop the copy because the source is gone, or ends too early. */
void source_fail(struct worker *, const struct io *);

/* Write the data, and mark it finished; false ends the worker. */
bool source_keep(struct worker *, uint64_t off, size_t len);

#endif
