/*
 * What the bad runs that a rescue has met tell of the next: of a dead head all
 * are alike.  Used by course.c, under its lock.
 */
#ifndef PARDD_FORECAST_H
#define PARDD_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

struct run {			/* bytes */
	uint64_t	 off, end;
	bool		 sure;		/* it is bad far into it */
};

struct forecast {
	struct run	 last;		/* about: the last that was met */
	uint64_t	 distance;	/* from the one before to it */
	unsigned	 alike;		/* so many in a row are like the last */
	uint64_t	 start;		/* exactly: of the last of a pattern, */
	uint64_t	 length;	/* how long it is, 0: there is none; */
	uint64_t	 period;	/* to the next, or 0 */
};

/*
 * A run was met, that reaches about so far.  Returns whether it may be of a
 * pattern, so that its edges are worth finding.
 */
bool forecast_met(struct forecast *, const struct run *);

/* Its edges were found. */
void forecast_learn(struct forecast *, const struct run *);

/* The next run; false: nobody knows. */
bool forecast_next(const struct forecast *, struct run *);

#endif
