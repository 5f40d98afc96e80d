/*
 * What a kind of work does at the steps that all kinds have: a row of steps.c
 * each.  NULL: nothing.
 */
#ifndef PARDD_STEPS_H
#define PARDD_STEPS_H

#include <stdbool.h>

#include "base/fault.h"
#include "copy/job.h"
#include "copy/outcome.h"
#include "map/map.h"
#include "plan/plan.h"

struct steps {
	bool	writes;		/* to the target, which is got ready for it */
	bool	gaps;		/* and the target may have holes that nobody
				 * has counted: of runs before */
	/* The main thread's, before there are others: 0, or -1 with *f. */
	int	(*begin)(struct job *, struct fault *f);
	/* Whether what the map calls finished is there; before any write. */
	bool	(*trust)(struct job *, struct fault *f);
	void	(*run)(struct job *);		/* by all workers */
	void	(*flush)(struct job *);		/* what was written */
	void	(*tally)(struct job *, const struct map_totals *,
		    struct tally *);
	void	(*fill_in)(struct job *, struct outcome *);
	/* The same while workers are still at it. */
	void	(*fill_in_left)(struct job *, struct outcome *);
	void	(*free)(struct job *);
};

/* Of the work that the plan is about. */
const struct steps *steps_of(const struct plan *);

#endif
