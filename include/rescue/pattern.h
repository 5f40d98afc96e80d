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

/*
 * Predicting bad runs from those found so far: the runs of a dead head are
 * alike.  It has no lock of its own: it is called with gaps->lock held.
 */

struct run {			/* bytes */
	uint64_t	 off, end;
	bool		 sure;		/* longer than a single block */
};

struct forecast {
	struct run	 last;		/* the last one found; approximate */
	uint64_t	 distance;	/* from the one before to it */
	unsigned	 alike;		/* runs in a row that are like it */
	uint64_t	 start;		/* exact: the last run of a pattern, */
	uint64_t	 length;	/* its length, 0: no pattern, */
	uint64_t	 period;	/* and the distance to the next, or 0 */
	unsigned	 missed;	/* in a row that were not foretold */
};

/*
 * A run was found, with approximate edges.  Returns whether it may belong to a
 * pattern, so its exact edges are worth finding.
 */
bool forecast_met(struct forecast *, const struct run *);

/* Its exact edges are known. */
void forecast_learn(struct forecast *, const struct run *);

/* Predict the next run; false if that is not possible. */
bool forecast_next(const struct forecast *, struct run *);

#endif
