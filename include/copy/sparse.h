/*
 * Holes and zeros: what need not be read, and what need not be written.
 * Offsets are bytes of the map.
 */
#ifndef PARDD_SPARSE_H
#define PARDD_SPARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy/job.h"
#include "map/map.h"

/*
 * Claim the next piece of a source with holes: a whole hole, or data up to the
 * next hole that is large enough to matter; *hole says which.  Returns what
 * map_claim does.
 */
int sparse_claim(struct worker *, struct seg *, bool *hole);

/*
 * Make a claimed hole zeros in the target, and settle it.  Uses the worker's
 * buffer.  Returns false if it failed; then the copy is being stopped.
 */
bool sparse_hole(struct worker *, const struct seg *);

/*
 * In a pass over ranges that are left out: make the next one zeros.  Returns
 * false when there is none, or when the copy is being stopped.
 */
bool sparse_clear(struct worker *);

/* Whether pieces are to be written with sparse_write. */
static inline bool
sparse_wanted(const struct plan *p)
{
	return p->store == STORE_SPARSE || (p->holes && !p->src->is.device &&
	    !p->dst->is.device);
}

/*
 * Write the first len bytes of the buffer to off, but make holes where they are
 * zeros (oflag=sparse) or a hole of the source.  Returns false if it failed;
 * then the copy is being stopped.
 */
bool sparse_write(struct worker *, uint64_t off, size_t len);

/*
 * Copying by sharing the blocks of two files on one file system.
 */

/*
 * Share whatever can be shared, and settle it in the map, before the workers
 * start.  With reflink=always the job fails if that was not everything.
 */
void reflink_run(struct job *);

#endif
