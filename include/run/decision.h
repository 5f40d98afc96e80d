/*
 * Everything that a run has decided, and keeps until its end: the plan, the
 * files that it will write, the claims on its targets, and remarks.
 */
#ifndef PARDD_DECISION_H
#define PARDD_DECISION_H

#include "base/fault.h"
#include "part/clone_table.h"
#include "part/remarks.h"
#include "plan/claim.h"
#include "plan/plan.h"
#include "run/outputs.h"

struct events;

struct claimed_target {
	struct claims	 claims;
	struct remarks	 remarks;
	struct clone_table *table;	/* with table=, else NULL */
};

struct decision {
	struct plan	 plan;
	struct outputs	 outputs;
	struct claimed_target *target;	/* of each target of the plan */
	unsigned	 claimed;	/* of them, have claims */
	struct source_table *source_table;	/* with table=, else NULL */
};

/*
 * Make and check the plan, claim the targets, and report the plan to the
 * events.  Both ends are open, and stay open.  Call before there are threads,
 * so that all of them inherit ioprio=.  Returns 0, or -1 with *f and nothing
 * held.
 */
int decision_make(struct decision *, const struct opts *, struct endpoint *src,
    struct endpoint *dst, struct events *, struct fault *f);

/* claims_settle and claims_forget for each target. */
void decision_settle(const struct decision *);
void decision_forget(const struct decision *);

/*
 * remarks_of_stream and claims_reread for each target, before it is closed; the
 * outcome then says which of them are stale.
 */
void decision_reread(struct decision *, struct outcome *);

/* Release the claims, abandon the files, and free everything. */
void decision_free(struct decision *);

#endif
