/*
 * The live line on stderr, or a line now and then.
 */
#ifndef PARDD_PROGRESS_H
#define PARDD_PROGRESS_H

#include <stdbool.h>

#include "copy/outcome.h"
#include "plan/plan.h"

enum { PROGRESS_SAMPLES = 32 };

struct progress {
	const struct plan *p;
	enum { NO_LINE, LIVE_LINE, LINES } how;
	bool	 drawn;		/* there is a line to clear */
	double	 interval;	/* seconds */
	double	 next;		/* seconds; when the next one is due */
	struct {
		double	seconds, bytes;
	}	 sample[PROGRESS_SAMPLES];	/* for the rate of late */
	unsigned samples;
	enum phase phase;	/* they are of */
	char	 map[256];	/* the second line, as made last */
	double	 map_next;	/* seconds; when it is due */
	bool	 two;		/* it is drawn */
};

/* Decide whether there is a line at all, and prepare it: the tally as it is. */
void progress_begin(struct progress *, const struct plan *,
    const struct tally *);

/* How long the conductor may sleep, in ms; -1 when there is no line. */
int progress_wait(const struct progress *, double seconds);

/* Draw the line if it is due, with status=map that of the map, too. */
void progress_draw(struct progress *, struct map *, const struct tally *);

/* Take the line away, so that something else can be printed. */
void progress_clear(struct progress *);

/* Leave the last state there, if there was a line. */
void progress_end(struct progress *, const struct tally *);

#endif
