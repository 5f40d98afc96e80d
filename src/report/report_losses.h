/*
 * What was lost, at the end of a run.
 */
#ifndef PARDD_REPORT_LOSSES_H
#define PARDD_REPORT_LOSSES_H

#include "copy/outcome.h"
#include "plan/plan.h"

/*
 * Print the ranges that cannot be read.  If a map was saved, it has all of
 * them, and only the first are printed.
 */
void report_unreadable(const struct plan *, struct outcome *);

/* Print the first ranges that differ, and how many more there are. */
void report_differing(const struct plan *, struct map *differ);

/* Print where the losses of a rescue lie, and which file systems they hit. */
void report_damage(const struct plan *, const struct damage *);

#endif
