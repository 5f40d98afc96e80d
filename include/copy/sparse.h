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
 * Claim the next piece of a source with holes: a hole as far as it goes, or
 * data up to the next hole that is worth it.  Returns as map_claim, with *hole.
 */
int sparse_claim(struct worker *, struct seg *, bool *hole);

/*
 * Make zeros of a hole that was claimed, and settle it.  False when it failed,
 * and the copy is being stopped.  Uses the worker's buffer.
 */
bool sparse_hole(struct worker *, const struct seg *);

/*
 * Make zeros of the next range that is left out, in a pass over those: false
 * when there is none, or the copy is being stopped.
 */
bool sparse_clear(struct worker *);

/* Whether all of len (> 0) bytes are zeros. */
bool sparse_zeros(const unsigned char *buf, size_t len);

/* Whether a piece that was read is to be written by sparse_write. */
bool sparse_wanted(const struct plan *);

/*
 * Write the first len bytes of the buffer to off, but make holes of zeros
 * (sparse) or of what is a hole in the source.  False when it failed, and the
 * copy is being stopped.
 */
bool sparse_write(struct worker *, uint64_t off, size_t len);

#endif
