/*
 * The main thread while workers run; the lead, which is the first worker's
 * thread; and what each kind of work does at the steps that all have.
 */
#ifndef PARDD_CONDUCT_H
#define PARDD_CONDUCT_H

#include <stdbool.h>

#include "base/fault.h"
#include "base/signals.h"
#include "copy/job.h"
#include "copy/outcome.h"
#include "map/map.h"
#include "plan/plan.h"
#include "record/events.h"
#include "report/report.h"
#include "run/control.h"

/* If several are silent, the first of these is named. */
enum watched { WATCH_SOURCE, WATCH_TARGET, WATCH_FLUSH, WATCHED };

struct watch {		/* how an end is noticed that does not answer */
	struct {
		unsigned ended;		/* requests, at the last call */
		double	 since;		/* s; time of the last answer, or when
					 * nothing was pending */
	}	 on[WATCHED];
	struct {
		unsigned call;		/* endpoint_inside, at the last call */
		double	 since;		/* s; when it was first seen */
	}	 inside[2];		/* of the source; of the target */
};

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
 * maxtemp=, no requests while the source is too warm: measure once before there
 * are workers, then repeatedly in a thread until the copy ends.  If the thread
 * cannot be started, nobody waits.
 */
void thermometer_begin(struct job *);

/* Join the thread, after the lead has ended. */
void thermometer_end(struct job *);

/*
 * The thread of the lead; arg is the struct job.  Prepares the target, which is
 * the first change to it; starts the other workers, works, joins them, flushes
 * the target, and makes job->done readable.  Returns NULL.
 */
void *lead_run(void *arg);

/* A kind of work; NULL: nothing. */
struct steps {
	bool	writes;		/* the target, which is prepared first */
	bool	gaps;		/* the target may have holes from earlier runs
				 * that nobody has counted */
	/* Before there are workers, in the main thread. 0, or -1 with *f. */
	int	(*begin)(struct job *, struct fault *f);
	/* Check what the map calls finished, before any write. */
	bool	(*trust)(struct job *, struct fault *f);
	void	(*run)(struct job *);		/* with all workers */
	void	(*flush)(struct job *);		/* everything written */
	void	(*tally)(struct job *, const struct map_totals *,
		    struct tally *);
	void	(*fill_in)(struct job *, struct outcome *);
	/* The same while workers still run. */
	void	(*fill_in_left)(struct job *, struct outcome *);
	void	(*free)(struct job *);
};

/* The row for the work of the plan. */
const struct steps *steps_of(const struct plan *);

#endif
