/*
 * The verdict on a run.
 */
#ifndef PARDD_VERDICT_H
#define PARDD_VERDICT_H

#include "copy/outcome.h"
#include "plan/plan.h"

/*
 * Set out->verdict: the exit status of the run, and what it means in words.
 * Prints nothing.
 */
void verdict_judge(const struct plan *, struct outcome *out);

#endif
