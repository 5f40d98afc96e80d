/*
 * What comes after a copy, and may wait for ever.
 */
#ifndef PARDD_SETTLE_H
#define PARDD_SETTLE_H

#include <stdbool.h>

#include "copy/outcome.h"
#include "plan/plan.h"

struct signals;

/*
 * Call run(arg), which may use all of the outcome, in another thread, and
 * answer signals meanwhile.  False if it did not return within seconds after a
 * signal: out->outputs says so, and the process has to end by _exit, because
 * run goes on.
 */
bool settle(void (*run)(void *), void *arg, const struct plan *,
    const struct signals *, struct outcome *out);

#endif
