/*
 * The plan shown before anything is changed: -d, and the question of --ask.
 * All that would still refuse the copy is asked first.
 */
#ifndef PARDD_PREVIEW_H
#define PARDD_PREVIEW_H

#include <stdbool.h>

#include "base/fault.h"
#include "plan/plan.h"

struct events;

/*
 * -d: print the plan, to standard output, or where that is an end of the copy
 * or a disk, to standard error.  Returns 0, or -1 with *f.
 */
int preview_plan(const struct plan *, struct events *, struct fault *f);

/* --ask: whether the answer was yes; if not, *f. */
bool preview_ask(const struct plan *, struct fault *f);

#endif
