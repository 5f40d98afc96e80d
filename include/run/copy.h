/*
 * Running a plan: the main thread's side.
 */
#ifndef PARDD_COPY_H
#define PARDD_COPY_H

#include "base/fault.h"
#include "copy/outcome.h"
#include "plan/plan.h"

struct events;
struct signals;

/*
 * Copy.  Both ends are open; they are not closed.  Prepares the target once
 * nothing else can prevent the copy, draws the progress line, tells events and
 * answers SIGUSR1.  Fills *out; returns 0 however the copy went, or -1 with *f
 * when it could not begin, and then the target is as it was.
 */
int copy_run(const struct plan *, const struct signals *, struct events *,
    struct outcome *out, struct fault *f);

#endif
