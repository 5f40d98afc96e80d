/*
 * What a run is refused for before it writes anything.
 */
#ifndef PARDD_SAFETY_H
#define PARDD_SAFETY_H

#include "plan.h"

/*
 * Hold the plan against every objection.  Returns 0, or -1 with the first
 * objection in *f (STATUS_REFUSED).  Looks, and changes nothing.
 */
int safety_check(const struct plan *, struct fault *f);

#endif
