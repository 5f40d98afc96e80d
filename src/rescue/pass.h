/*
 * The passes of a rescue, as ddrescue's map file has them, and its limits.
 */
#ifndef PARDD_PASS_H
#define PARDD_PASS_H

#include <stdbool.h>

#include "copy/job.h"
#include "map/map.h"

struct pass {
	const char	*text;
	enum seg_status	 from;		/* what it takes */
	char		 phase;		/* as in ddrescue's map files */
	int		 number;	/* likewise; of retries: the parity */
	bool		 backwards;
};

extern const struct pass pass_reading, pass_sweeping;

/* The rescue is in this pass from now on. */
void pass_enter(struct rescue *, const struct pass *);

/*
 * Set where the rescue stands, as the map file says it: pos, phase and pass of
 * *m: until it has entered a pass, as the map was loaded.  Returns the same for
 * people; a constant.
 */
struct mapfile;
const char *pass_where(struct job *, struct mapfile *m);

/* Look for a pattern in what could not be read, once.  In any worker. */
void pass_look(struct job *);

/*
 * maxerrors=: stop the run if there are too many bad ranges.  Returns whether
 * that is so.
 */
bool pass_too_many(struct job *);

/* Whether maxtime= has passed, plus "more" seconds. */
bool pass_too_long(const struct job *, double more);

/* maxtime= has passed: stop the run, unless it was stopped before. */
void pass_stop_late(struct job *);

/*
 * Whether maxerrors= or maxtime= is exceeded; the run is then stopped.  Called
 * by workers between reads.
 */
bool pass_given_up(struct job *);

#endif
