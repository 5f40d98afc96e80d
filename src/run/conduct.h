/*
 * The main thread while workers run.
 */
#ifndef PARDD_CONDUCT_H
#define PARDD_CONDUCT_H

#include <stdbool.h>

#include "base/signals.h"
#include "copy/job.h"
#include "copy/outcome.h"
#include "copy/watch.h"
#include "record/events.h"
#include "report/report.h"
#include "run/control.h"

struct conductor {		/* the main thread's, for one job */
	struct job	*job;
	const struct signals *signals;
	struct events	*events;
	struct outcome	*out;		/* its signal, again and tally */
	double		 start;		/* s; includes earlier runs */
	double		 signalled;	/* s: when out->signal came */
	double		 stuck;		/* s: when out->stuck was set */
	struct control	 control;
	struct watch	 watch;
	struct progress	 progress;
	unsigned	 dropped;	/* a bit for each target that was
					 * reported as dropped */
	bool		 warm;		/* a pause was reported */
};

/*
 * Handle signals and clients, and report, until the lead has ended; false:
 * workers are still running.  The control socket is open.
 */
bool conduct(struct conductor *);

/*
 * maxtemp=: no requests while the source is too warm.
 */

/*
 * Measure once before there are workers, then repeatedly in a thread until the
 * copy ends.  If the thread cannot be started, nobody waits.
 */
void thermometer_begin(struct job *);

/* Join the thread, after the lead has ended. */
void thermometer_end(struct job *);

#endif
