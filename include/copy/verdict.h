/*
 * The verdict on a run.
 */
#ifndef PARDD_VERDICT_H
#define PARDD_VERDICT_H

#include "copy/outcome.h"
#include "plan/plan.h"

/*
 * The exit status of a run that ended for n reasons, in whatever order: that of
 * the reason of the first kind; STATUS_COMPLETE if there are none.
 */
int verdict_judge(const struct reason *, unsigned n);

/*
 * The reason of a kind, or NULL; and the first one from that kind on, in order
 * of precedence.
 */
const struct reason *verdict_reason(const struct verdict *, enum why);
const struct reason *verdict_from(const struct verdict *, enum why);

/*
 * Once nothing moves any more: the verdict on each target, and the status of
 * the run.  The reasons point to the faults in *out.
 */
void verdict_make(const struct plan *, struct outcome *out);

/*
 * After that: a file of the run was not written, because of this fault.  Only
 * the first such file counts.
 */
void verdict_unrecorded(struct outcome *out, const struct fault *);

/*
 * The status and one sentence for the run; and for its i-th target, to be put
 * after its name.
 */
void verdict_words(struct fault *, const struct plan *, struct outcome *);
void verdict_words_of(struct fault *, const struct plan *, struct outcome *,
    unsigned i);

#endif
