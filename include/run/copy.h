/*
 * Running a plan, from the main thread.
 */
#ifndef PARDD_COPY_H
#define PARDD_COPY_H

#include "base/fault.h"
#include "copy/outcome.h"
#include "plan/plan.h"

struct events;
struct signals;

/*
 * Run the plan.  Both ends are open, and stay open.  Prepares the target once
 * nothing else can prevent the copy, draws the progress line, reports events
 * and answers signals.  Fills *out and returns 0 however the copy went; returns
 * -1 with *f if it could not begin, and then the target is unchanged.
 */
int copy_run(const struct plan *, const struct signals *, struct events *,
    struct outcome *out, struct fault *f);

#endif
