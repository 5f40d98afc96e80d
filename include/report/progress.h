/*
 * The live line on stderr, or a progress line now and then.
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
	bool	 drawn;		/* there is a line to erase */
	double	 interval;	/* seconds */
	double	 next;		/* s, time of the next line */
	struct {
		double	seconds, bytes;
	}	 sample[PROGRESS_SAMPLES];	/* for the recent rate */
	unsigned samples;
	enum phase phase;	/* that the samples belong to */
	char	 map[256];	/* the second line, as last made */
	double	 map_next;	/* s, when to make it again */
	bool	 two;		/* the second line is drawn */
};

/*
 * Decide whether and how to report progress, and prepare it, starting with this
 * tally.
 */
void progress_begin(struct progress *, const struct plan *,
    const struct tally *);

/* How long the main thread may sleep, in ms; -1 without a line. */
int progress_wait(const struct progress *, double seconds);

/* Draw the line if it is time; with status=map also the map below it. */
void progress_draw(struct progress *, struct map *, const struct tally *);

/* Erase the line, so that something else can be printed. */
void progress_clear(struct progress *);

/* Leave the final state on the screen, if there was a line. */
void progress_end(struct progress *, const struct tally *);

#endif
