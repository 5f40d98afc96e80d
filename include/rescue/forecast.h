/*
 * Predicting bad runs from those found so far: the runs of a dead head are
 * alike.  It has no lock of its own: it is called with gaps->lock held.
 */
#ifndef PARDD_FORECAST_H
#define PARDD_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

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
