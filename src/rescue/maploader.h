/*
 * Loading the map of a rescue from its file.
 */
#ifndef PARDD_MAPLOADER_H
#define PARDD_MAPLOADER_H

#include "base/fault.h"
#include "map/map.h"
#include "plan/plan.h"
#include "rescue/mapsaver.h"

/* Set in *ms the source and the target that a map of this copy belongs to. */
void maploader_name(struct mapsaver *ms, const struct plan *);

/*
 * Flush the target, and add when it was last written, if that is known.  For
 * the end, when everything that the map calls finished is written and nothing
 * more will be.  Returns 0, or -1 with *f if the flush failed.
 */
int maploader_date(struct mapsaver *ms, const struct plan *, struct fault *f);

/*
 * Load the file, check it against the ends, and put it into the map of the
 * copy; what lies outside the copy stays in ms->file.  After maploader_name.
 * Returns 0, or -1 with *f.
 */
int maploader_load(struct mapsaver *ms, const struct plan *, struct map *,
    struct fault *f);

#endif
