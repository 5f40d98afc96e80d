/*
 * What is decided and held for each of several targets.
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
	unsigned	 n;		/* of the plans */
	unsigned	 claimed, remarked;	/* of the others */
};

/*
 * Hold the plan of each target against every objection, and each target
 * against the others; p->each becomes theirs.  Returns 0, or -1 with *f; *made
 * is to be freed by several_free either way, and may be NULL.
 */
int several_check(struct several **made, struct plan *p, struct fault *f);

/* claims_take for each.  Returns 0, or -1 with *f, and then none is held. */
int several_claim(struct several *, struct fault *f);

/* remarks_make for each, which their plans have then. */
void several_remark(struct several *, bool thorough);

/* claims_settle, claims_forget and claims_release for all that are held. */
void several_settle(const struct several *);
void several_forget(const struct several *);
void several_release(struct several *);

/* Takes NULL, too. */
void several_free(struct several *);

#endif
