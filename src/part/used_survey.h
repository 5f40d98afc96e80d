/*
 * Finding everything that is free on a source, and what comes first.
 */
#ifndef PARDD_USED_SURVEY_H
#define PARDD_USED_SURVEY_H

#include "map/map.h"
#include "part/used.h"
#include "plan/plan.h"

/*
 * "how" has bits of enum fs_how; "known" is what the target has already, or
 * NULL.  Returns 0 or an errno value; call used_free in either case.
 */
int used_look(struct used *, const struct plan *, unsigned how,
    struct map *known);

#endif
