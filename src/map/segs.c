/*
 * Segments that lie in order in an array.
 */
#include "map/map.h"

size_t
segs_find(const struct seg *seg, size_t n, uint64_t off)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (seg[mid].off + seg[mid].len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
