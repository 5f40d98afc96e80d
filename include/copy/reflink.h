/*
 * Copying by sharing the blocks of two files on one file system.
 */
#ifndef PARDD_REFLINK_H
#define PARDD_REFLINK_H

#include "copy/job.h"

/*
 * Share whatever can be shared, and settle it in the map, before the workers
 * start.  With reflink=always the job fails if that was not everything.
 */
void reflink_run(struct job *);

#endif
