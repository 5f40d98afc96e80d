/*
 * Whether two ends are the same bytes, by whatever names.
 */
#ifndef PARDD_OVERLAP_H
#define PARDD_OVERLAP_H

#include "base/fault.h"
#include "plan/plan.h"

/*
 * Refuses a target that is written, or cut off, where the source is read.
 * Returns 0, or -1 with *f (STATUS_REFUSED).
 */
int overlap_source(const struct plan *, struct fault *f);

/* The same of two of several targets. */
int overlap_targets(const struct plan *, const struct plan *, struct fault *f);

#endif
