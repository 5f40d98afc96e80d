/*
 * What a run is refused for before it writes anything.
 */
#ifndef PARDD_SAFETY_H
#define PARDD_SAFETY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "disk/usage.h"
#include "plan/plan.h"

/*
 * Check the plan for every objection.  Returns 0, or -1 with the first one in
 * *f (STATUS_REFUSED).  Changes nothing.
 */
int safety_check(const struct plan *, struct fault *f);

/*
 * Whether the source can change while it is read, because it, or a partition
 * that the range touches, is mounted read-write: *use says where, and name gets
 * the kernel's name of the node.
 */
bool safety_source_busy(const struct plan *, struct usage *use, char *name,
    size_t room);

/*
 * Whether two ends share bytes, under whatever names.
 */

/*
 * Refuse a target if it is written or truncated where the source is read.
 * Returns 0, or -1 with *f (STATUS_REFUSED).
 */
int overlap_source(const struct plan *, struct fault *f);

/* The same for two of several targets. */
int overlap_targets(const struct plan *, const struct plan *, struct fault *f);

#endif
