/*
 * maxtemp=: no request while the source is too warm.  Used by copy.c.
 */
#ifndef PARDD_THERMOMETER_H
#define PARDD_THERMOMETER_H

#include "copy/job.h"

/*
 * Look once, before there are workers, and then now and then until the copy
 * ends.  Without a thread to do so nothing is waited for.
 */
void thermometer_begin(struct job *);

/* After the lead has left. */
void thermometer_end(struct job *);

#endif
