/*
 * The steps of a run, in the main thread: it is decided, shown if wanted, and
 * carried out, and its files are finished.
 */
#ifndef PARDD_RUN_H
#define PARDD_RUN_H

#include <stdbool.h>

#include "base/fault.h"
#include "base/signals.h"
#include "copy/outcome.h"
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

struct decision {	/* kept until the end of the run */
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

/* claims_settle for each target. */
void decision_settle(const struct decision *, bool copied);

/* Release the claims, abandon the files, and free everything. */
void decision_free(struct decision *);

/*
 * Ask logind to let the machine neither suspend nor idle, and to ignore its
 * lid, until the descriptor that is returned is closed, if only by the end of
 * the process.  -1: the copy is short, or there is no logind, or it does not
 * want to or does not answer at once; then nothing holds the machine awake.
 */
int awake_hold(const struct plan *);

/*
 * Run the plan.  Both ends are open, and stay open.  Prepares the target once
 * nothing else can prevent the copy, draws the progress line, reports events
 * and answers signals.  Fills *out and returns 0 however the copy went; returns
 * -1 with *f if it could not begin, and then the target is unchanged.
 */
int copy_run(const struct plan *, const struct signals *, struct events *,
    struct outcome *out, struct fault *f);

/*
 * Look at the ends for the last time (damage, outputs_look, decision_reread),
 * and close them, while signals are answered, because none of that may return.
 * An error becomes out->flush.  False if that did not end within seconds after
 * a signal: the process has to end by _exit, because a thread goes on with the
 * ends, but the run can be judged and reported.  If it has not "looked" by
 * then, the files of the run cannot be written.
 */
bool settle_close(struct endpoint *src, struct endpoint *dst,
    struct decision *, const struct signals *, struct outcome *out,
    bool *looked);

/*
 * Write the files and judge the run, while signals are answered, because a file
 * system may not answer.  False if that did not end within seconds after a
 * signal: out->outputs says so, and the process has to end by _exit, because a
 * thread goes on with the outputs.
 */
bool settle(struct outputs *, const struct plan *, const struct signals *,
    struct outcome *out);

#endif
