/*
 * The threads of a copy.
 */
#ifndef PARDD_WORKER_H
#define PARDD_WORKER_H

#include "copy/job.h"

/*
 * Have all workers do a task until there is nothing left for them: the calling
 * thread is the first of them.  Where no further thread can be started, fewer
 * will do.
 */
void workers_run(struct job *, const struct task *);

#endif
