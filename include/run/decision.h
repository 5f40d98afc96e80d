/*
 * What a run has decided, and holds until its end: the plan, the files that it
 * will write, the claims on its targets, what there is to remark.  It looks the
 * same whether there is one target or several.
 */
#ifndef PARDD_DECISION_H
#define PARDD_DECISION_H

#include "base/fault.h"
#include "part/remarks.h"
#include "plan/claim.h"
#include "plan/plan.h"
#include "run/outputs.h"
#include "run/several.h"

struct events;

struct decision {
	struct plan	 plan;
	struct outputs	 outputs;
	struct claims	 claims;	/* on the target, */
	struct several	*several;	/* or on each of several; else NULL */
	struct remarks	 remarks;
};

/*
 * Make the plan and check it, and claim the targets; both ends are open, and
 * stay so.  The events are told of the plan.  Called before there are threads,
 * so that all inherit what ioprio= sets.  Returns 0, or -1 with *f, and then
 * nothing is held.
 */
int decision_make(struct decision *, const struct opts *, struct endpoint *src,
    struct endpoint *dst, struct events *, struct fault *f);

/* claims_settle and claims_forget, for each target. */
void decision_settle(const struct decision *);
void decision_forget(const struct decision *);

/* Release the claims, give up the files, and free what was taken. */
void decision_free(struct decision *);

#endif
