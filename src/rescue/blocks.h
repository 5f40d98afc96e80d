/*
 * Trying a claimed piece block by block.  These return false if the copy is
 * being stopped; then the worker ends, or the piece is not finished.
 */
#ifndef PARDD_BLOCKS_H
#define PARDD_BLOCKS_H

#include <stdbool.h>

#include "copy/job.h"
#include "map/map.h"

/* Trim: from both ends up to the first bad block; the rest is to be scraped. */
bool blocks_trim(struct worker *, const struct seg *);

/* Scrape: every block.  A backwards retry goes backwards within the piece. */
bool blocks_scrape(struct worker *, const struct seg *);

/*
 * Skim: some blocks, skipping ahead after errors; the rest is for another pass.
 */
bool blocks_skim(struct worker *, const struct seg *);

#endif
