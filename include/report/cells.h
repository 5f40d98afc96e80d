/*
 * A map of any length as so many cells, to be drawn.
 */
#ifndef PARDD_CELLS_H
#define PARDD_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "map/map.h"

/*
 * Fill n cells with the worst status (enum seg_status) that there is in the
 * part of "length" bytes which each stands for.  seg: n_seg of them, in order,
 * without gaps, as of map_copy.  Of a map that is shorter than it has cells,
 * several cells stand for one byte.
 */
void cells_fill(char *cell, size_t n, const struct seg *seg, size_t n_seg,
    uint64_t length);

#endif
