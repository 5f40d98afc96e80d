/*
 * The lead: the first worker's thread.
 */
#ifndef PARDD_LEAD_H
#define PARDD_LEAD_H

/*
 * The first worker's thread: prepares the target, which is the first thing to
 * change it; starts the others, works, waits for them, flushes the target, and
 * makes job->done readable.  arg is the struct job.
 */
void *lead_run(void *arg);

#endif
