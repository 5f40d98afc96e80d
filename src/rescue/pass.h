/*
 * The passes of a rescue.  Shared by rescue.c, which has them in their order,
 * and rescue_piece.c, which does what they say.
 */
#ifndef PARDD_PASS_H
#define PARDD_PASS_H

#include <stdbool.h>

#include "copy/job.h"
#include "map/map.h"

/* What to do with a piece. */
enum how { COPY, TRIM, SKIM, SCRAPE, FILL };

/* What to leave out, for a later pass, once an error was met. */
enum skip {
	NO_SKIP,
	COURSE,		/* as much as the disk has taught (course.c) */
	ENDS,		/* the rest of the gap: the largest come first, */
	INNER,		/* also those that lie between errors (gaps.c) */
	AHEAD,		/* a part that grows from error to error */
	GAP,		/* the rest of what lies between two errors */
};

struct pass {
	const char	*text;
	enum seg_status	 from;
	enum how	 how;
	bool		 backwards;
	enum skip	 skip;
	char		 phase;		/* ddrescue's name for it */
	int		 number;
	bool		 last;		/* it leaves nothing for another */
};

/* The one that reads large pieces side by side, as a plain copy does. */
static inline bool
pass_is_first(const struct pass *pass)
{
	return pass->phase == '?' && pass->number == 1;
}

/* Whether it takes the largest first, wherever that lies. */
static inline bool
pass_by_size(const struct pass *pass)
{
	return pass->skip == ENDS || pass->skip == INNER || pass->how == TRIM;
}

/* Whether it goes backwards in this run, with rescue=reverse or without. */
bool pass_backwards(const struct job *, const struct pass *);

/*
 * maxerrors= and maxtime=: enough is enough, and the run is stopped.  A worker
 * asks between reads.
 */
bool pass_given_up(struct job *);

#endif
