/*
 * Leaving parts out of a map.
 */
#include "map/domain.h"

#include <sys/param.h>

int
domain_apply(struct map *map, uint64_t from, struct domain_source *source)
{
	uint64_t to = from + map_totals(map).end, off, end;
	struct seg s;
	int err = 0;

	while (err == 0 && source->next(source->arg, &s)) {
		off = MAX(s.off, from);
		end = MIN(s.off + s.len, to);
		if (off < end)
			err = map_set(map, off - from, end - off, OUTSIDE);
	}
	return err;
}
