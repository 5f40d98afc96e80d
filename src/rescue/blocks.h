/*
 * What a worker does block by block with a piece that it holds.  False ends the
 * worker, or says that the piece is not over: the copy is being stopped.
 */
#ifndef PARDD_BLOCKS_H
#define PARDD_BLOCKS_H

#include <stdbool.h>

#include "copy/job.h"
#include "map/map.h"

/* From both ends up to the first bad block; what lies between is to scrape. */
bool blocks_trim(struct worker *, const struct seg *);

/* All blocks; a retry that goes backwards does so within the piece. */
bool blocks_scrape(struct worker *, const struct seg *);

/* Some of them: what follows an error is left out, for another pass. */
bool blocks_skim(struct worker *, const struct seg *);

#endif
