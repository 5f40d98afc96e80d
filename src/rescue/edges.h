/*
 * Finding the exact edges of a bad run.
 */
#ifndef PARDD_EDGES_H
#define PARDD_EDGES_H

#include <stdint.h>

#include "copy/job.h"
#include "rescue/course.h"

/*
 * Find the edges of a run that the pass has just jumped over, and tell the
 * course.  Call with the ticket to read alone.  The contents of the worker's
 * buffer are kept.
 */
void edges_find(struct worker *, uint64_t ticket, const struct bad_run *);

#endif
