/*
 * maxtemp=: no requests while the source is too warm.
 */
#ifndef PARDD_THERMOMETER_H
#define PARDD_THERMOMETER_H

#include "copy/job.h"

/*
 * Measure once before there are workers, then repeatedly in a thread until the
 * copy ends.  If the thread cannot be started, nobody waits.
 */
void thermometer_begin(struct job *);

/* Join the thread, after the lead has ended. */
void thermometer_end(struct job *);

#endif
