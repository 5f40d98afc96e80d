/*
 * The threads of a copy.
 */
#ifndef PARDD_WORKER_H
#define PARDD_WORKER_H

#include "copy/job.h"

/*
 * Have all workers do a task until nothing is left; the calling thread is the
 * first worker.  If no more threads can be started, fewer do the work.
 */
void workers_run(struct job *, const struct task *);

#endif
