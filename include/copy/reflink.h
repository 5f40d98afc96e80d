/*
 * Copying by sharing: two files of one file system with the same blocks.
 */
#ifndef PARDD_REFLINK_H
#define PARDD_REFLINK_H

#include "copy/job.h"

/*
 * Before the workers start: share what can be shared, and settle it.  Fails the
 * job where that was not all with reflink=always.
 */
void reflink_run(struct job *);

#endif
