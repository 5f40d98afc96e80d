/*
 * The passes of a rescue: rescue.c has them in their order, rescue_piece.c does
 * what they say.
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
	MIDST,		/* the same, and each of those is tried */
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
	return pass->skip == ENDS || pass->skip == INNER ||
	    pass->skip == MIDST || pass->how == TRIM;
}

/* Whether it goes backwards in this run, with rescue=reverse or without. */
bool pass_backwards(const struct job *, const struct pass *);

/* The number that the map's file has for it. */
int pass_number(const struct job *, const struct pass *);

/*
 * Where the rescue stands, as the map's file tells it: pos, phase and pass of
 * *m.  Returns the same for people.
 */
struct mapfile;
const char *pass_where(struct job *, struct mapfile *m);

/*
 * maxerrors=: whether there are too many bad ranges, of which none may be in
 * hand, and then the run is stopped.
 */
bool pass_too_many(struct job *);

/* Whether maxtime= is over, and so many seconds more. */
bool pass_too_long(const struct job *, double more);

/* maxtime= is over: stop the run, if nothing else was first. */
void pass_stop_late(struct job *);

/*
 * maxerrors= and maxtime=: enough is enough, and the run is stopped.  A worker
 * asks between reads.
 */
bool pass_given_up(struct job *);

#endif
