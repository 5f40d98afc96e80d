/*
 * The files of a run, once it is over: their file system may not answer.
 */
#ifndef PARDD_SETTLE_H
#define PARDD_SETTLE_H

#include <stdbool.h>

#include "base/signals.h"
#include "copy/outcome.h"
#include "run/outputs.h"

/*
 * Write the files and judge the run, while signals are answered.  False if that
 * did not end within seconds after a signal: out->outputs says so, and the
 * process has to end by _exit, because a thread goes on with the outputs.
 */
bool settle(struct outputs *, const struct plan *, const struct signals *,
    struct outcome *out);

#endif
