/*
 * Whether two ends share bytes, under whatever names.
 */
#ifndef PARDD_OVERLAP_H
#define PARDD_OVERLAP_H

#include "base/fault.h"
#include "plan/plan.h"

/*
 * Refuse a target if it is written or truncated where the source is read.
 * Returns 0, or -1 with *f (STATUS_REFUSED).
 */
int overlap_source(const struct plan *, struct fault *f);

/* The same for two of several targets. */
int overlap_targets(const struct plan *, const struct plan *, struct fault *f);

#endif
