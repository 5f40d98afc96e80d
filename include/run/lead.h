/*
 * The lead: the first worker's thread.
 */
#ifndef PARDD_LEAD_H
#define PARDD_LEAD_H

/*
 * The thread of the lead; arg is the struct job.  Prepares the target, which is
 * the first change to it; starts the other workers, works, joins them, flushes
 * the target, and makes job->done readable.  Returns NULL.
 */
void *lead_run(void *arg);

#endif
