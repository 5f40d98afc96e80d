/*
 * A map of any length as a number of cells to be drawn.
 */
#ifndef PARDD_CELLS_H
#define PARDD_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "map/map.h"

/*
 * Give each of n cells the worst status (enum seg_status) in its part of
 * "length" bytes. seg has n_seg segments, in order and without gaps, as
 * map_copy returns them.  If the map has fewer bytes than cells, several cells
 * stand for one byte.
 */
void cells_fill(char *cell, size_t n, const struct seg *seg, size_t n_seg,
    uint64_t length);

#endif
