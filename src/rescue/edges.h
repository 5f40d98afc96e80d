/*
 * Where a bad run begins and ends, to the block.
 */
#ifndef PARDD_EDGES_H
#define PARDD_EDGES_H

#include <stdint.h>

#include "copy/job.h"
#include "rescue/course.h"

/*
 * Find the edges of a run that the pass has just jumped over, and tell the
 * course.  By who reads alone, with his ticket; what he holds in his buffer
 * stays there.
 */
void edges_find(struct worker *, uint64_t ticket, const struct bad_run *);

#endif
