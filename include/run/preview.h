/*
 * Showing the plan before anything is changed: -d, and a question.
 * What would refuse the copy is checked first.
 */
#ifndef PARDD_PREVIEW_H
#define PARDD_PREVIEW_H

#include <stdbool.h>

#include "base/fault.h"
#include "plan/plan.h"

struct events;

/*
 * -d: print the plan to standard output or, if that is an end of the copy or a
 * disk, to standard error.  Returns 0, or -1 with *f.
 */
int preview_plan(const struct plan *, struct events *, struct fault *f);

/*
 * Whether the run may begin: with --ask, and at a terminal where
 * remarks_doubtful and nothing was done yet, if the user says yes.  If not, *f
 * is the refusal.
 */
bool preview_ask(const struct plan *, struct fault *f);

#endif
