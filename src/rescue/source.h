/*
 * What a worker reads in a rescue, and what becomes of it.
 */
#ifndef PARDD_SOURCE_H
#define PARDD_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/job.h"
#include "end/lane.h"

/* Read to the place "at" of the buffer what lies so far behind off; bytes. */
struct io source_read(struct worker *, uint64_t off, size_t at, size_t len,
    bool careful);

/* A source that has gone, or ends before its end, stops the copy. */
void source_fail(struct worker *, const struct io *);

/* Write what was read, and note it; false ends the worker. */
bool source_keep(struct worker *, uint64_t off, size_t len);

#endif
