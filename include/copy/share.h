/*
 * Copying by sharing: two files of one file system with the same blocks.
 */
#ifndef PARDD_SHARE_H
#define PARDD_SHARE_H

#include "copy/job.h"

/*
 * Before the workers start: share what can be shared, and settle it.  Fails the
 * job where that was not all with reflink=always.
 */
void share_run(struct job *);

#endif
