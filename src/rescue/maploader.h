/*
 * Loading the map of a rescue: what earlier runs have left in its file.
 */
#ifndef PARDD_MAPLOADER_H
#define PARDD_MAPLOADER_H

#include "base/fault.h"
#include "map/map.h"
#include "plan/plan.h"
#include "rescue/mapsaver.h"

/* Say in *k which source a map of this copy is of, and which target. */
void maploader_name(struct mapsaver *k, const struct plan *);

/*
 * Say there, too, when the target was last written, where that can be told: all
 * that the map says was written, and nothing more is going to be.
 */
void maploader_date(struct mapsaver *k, const struct plan *);

/*
 * Load the file, hold it against the ends, and put it into the copy's map; what
 * the copy does not come to stays in k->file.  After maploader_name.  Returns
 * 0, or -1 with *f.
 */
int maploader_load(struct mapsaver *k, const struct plan *, struct map *,
    struct fault *f);

#endif
