/*
 * The passes of a rescue. rescue.c has them in order, rescue_piece.c carries
 * them out.
 */
#ifndef PARDD_PASS_H
#define PARDD_PASS_H

#include <stdbool.h>

#include "copy/job.h"
#include "map/map.h"

/* What to do with a piece. */
enum how { COPY, TRIM, SKIM, SCRAPE, FILL };

/* What to skip after an error, and leave to a later pass. */
enum skip {
	NO_SKIP,
	COURSE,		/* as much as course.c has learned */
	ENDS,		/* the rest of the gap; largest gaps first */
	INNER,		/* the same, also gaps between errors (gaps.c) */
	MIDST,		/* the same, trying each of those */
	AHEAD,		/* a part that grows with each error */
	GAP,		/* the rest between two errors */
};

struct pass {
	const char	*text;
	enum seg_status	 from;
	enum how	 how;
	bool		 backwards;
	enum skip	 skip;
	char		 phase;		/* as in ddrescue's map files */
	int		 number;
	bool		 last;		/* leaves nothing for later passes */
};

/* Whether it reads large pieces in parallel, as a plain copy does. */
static inline bool
pass_is_first(const struct pass *pass)
{
	return pass->phase == '?' && pass->number == 1;
}

/* Whether it takes the largest gaps first, wherever they are. */
static inline bool
pass_by_size(const struct pass *pass)
{
	return pass->skip == ENDS || pass->skip == INNER ||
	    pass->skip == MIDST || pass->how == TRIM;
}

/* Whether it works block by block, and pays rate= for each block. */
static inline bool
pass_by_block(const struct pass *pass)
{
	return pass->how == TRIM || pass->how == SKIM || pass->how == SCRAPE;
}

/* Whether it goes backwards in this run, considering rescue=reverse. */
bool pass_backwards(const struct job *, const struct pass *);

/* Its number in the map file. */
int pass_number(const struct job *, const struct pass *);

/* The rescue is in this pass from now on. */
void pass_enter(struct rescue *, const struct pass *);

/*
 * Set where the rescue stands, as the map file says it: pos, phase and pass of
 * *m: until it has entered a pass, as the map was loaded.  Returns the same for
 * people; a constant.
 */
struct mapfile;
const char *pass_where(struct job *, struct mapfile *m);

/*
 * maxerrors=: stop the run if there are too many bad ranges.  Call when no bad
 * range is claimed.  Returns whether that is so.
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
