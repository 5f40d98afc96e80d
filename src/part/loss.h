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
 * Sort what the map has as lost of an area into what its file system calls
 * free, its own structures, and the rest, which is in files; looked up on the
 * target, as far as that was read.  Fills ->loss, with nothing where no file
 * system is found.
 */
void loss_sort(struct damage_area *, const struct plan *, struct map *);

/* Whether what has this status in the map of a rescue counts as lost. */
bool loss_is(enum seg_status);

#endif
