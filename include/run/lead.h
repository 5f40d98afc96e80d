/*
 * The lead: the first worker's thread; and what each kind of work does at the
 * steps that all have.
 */
#ifndef PARDD_LEAD_H
#define PARDD_LEAD_H

#include <stdbool.h>

#include "base/fault.h"
#include "copy/job.h"
#include "copy/outcome.h"
#include "map/map.h"
#include "plan/plan.h"

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
