/*
 * Plans, claims and remarks for each of several targets.
 */
#ifndef PARDD_SEVERAL_H
#define PARDD_SEVERAL_H

#include <stdbool.h>

#include "base/fault.h"
#include "part/remarks.h"
#include "plan/claim.h"
#include "plan/plan.h"

struct several {
	struct plan	 plan[TARGETS_MOST];
	struct claims	 claims[TARGETS_MOST];
	struct remarks	 found[TARGETS_MOST];
	unsigned	 n;		/* plans */
	unsigned	 claimed, remarked;	/* how many of each */
};

/*
 * Check the plan of each target for objections, and the targets against each
 * other; p->each points to the plans.  Returns 0, or -1 with *f.  *made may be
 * NULL; the caller frees it with several_free in either case.
 */
int several_check(struct several **made, struct plan *p, struct fault *f);

/* claims_take for each.  Returns 0, or -1 with *f and no claim held. */
int several_claim(struct several *, struct fault *f);

/*
 * remarks_make for each; the plans then have them.  Returns 0, or -1 with *f if
 * a device would get something packed.
 */
int several_remark(struct several *, bool thorough, struct fault *f);

/* claims_settle, claims_forget and claims_release for all claims held. */
void several_settle(const struct several *);
void several_forget(const struct several *);
void several_release(struct several *);

/* NULL is allowed. */
void several_free(struct several *);

#endif
