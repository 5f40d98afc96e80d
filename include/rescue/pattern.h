/*
 * A pattern in what a rescue could not read: bad runs of similar length at
 * similar distances, as a dead head leaves them.
 */
#ifndef PARDD_PATTERN_H
#define PARDD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map/map.h"

struct pattern {
	size_t		 runs;		/* runs that belong to it */
	uint64_t	 length;	/* mean length in bytes */
	uint64_t	 period;	/* mean distance in bytes */
	double		 share;		/* bad part of the range it covers */
};

/*
 * Look for a pattern in a map.  Returns false if there is none, or without
 * memory.
 */
bool pattern_find(struct map *, struct pattern *);

#endif
