/*
 * What was lost of a file system.
 */
#ifndef PARDD_LOSS_H
#define PARDD_LOSS_H

#include <stdbool.h>

#include "map/map.h"
#include "part/damage.h"
#include "plan/plan.h"

/*
 * Sort the lost ranges of an area into free space, metadata, and the rest,
 * which is in files, by examining the file system on the target as far as it
 * was read.  Fills ->loss; empty if there is no file system.
 */
void loss_sort(struct damage_area *, const struct plan *, struct map *);

/* Whether this status in the map of a rescue means lost. */
bool loss_is(enum seg_status);

#endif
