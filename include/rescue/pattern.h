/*
 * A pattern in what a rescue could not read: bad runs of like length, at like
 * distances, as a dead head leaves them.  Used by rescue.c, and by who tells of
 * it.
 */
#ifndef PARDD_PATTERN_H
#define PARDD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map/map.h"

struct pattern {
	size_t		 runs;		/* that are part of it */
	uint64_t	 length;	/* bytes of one, in the mean */
	uint64_t	 period;	/* bytes from one to the next */
	double		 share;		/* of what it reaches over */
};

/* Look for one in a map.  Returns false when there is none, or no memory. */
bool pattern_find(struct map *, struct pattern *);

#endif
