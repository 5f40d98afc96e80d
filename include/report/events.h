/*
 * The run as programs want it: JSON lines for json=, and one line of a journal
 * for log=.  pardd-json(5) says what they hold.
 */
#ifndef PARDD_EVENTS_H
#define PARDD_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "copy/outcome.h"
#include "map/map.h"
#include "plan/plan.h"
#include "report/sink.h"
#include "rescue/pattern.h"

struct json_t;			/* jansson's */

struct events {			/* the main thread's */
	const struct opts *opts;
	struct sink	 json, log;
	struct timespec	 started;
	/* of the result; NULL: there was no memory, and it is not told */
	struct json_t	*source, *target, *unreadable, *mismatch;
	struct json_t	*targets;	/* NULL where there is one */
	uint64_t	 length;	/* bytes, if bounded */
	bool		 bounded;
	uint64_t	 told;	/* errors before this byte of the map are */
	double		 next;	/* seconds; when progress is due */
	bool		 patterned;	/* a pattern was told */
};

/*
 * Open what json= and log= name.  None is an end of the copy, which must not
 * be open yet.  Returns 0, or -1 with *f, and then the other may be open all
 * the same, to take the result.  With --dry-run a name is only looked at.
 */
int events_open(struct events *, const struct opts *, struct fault *f);

/* The plan is made. */
void events_plan(struct events *, const struct plan *);

/* How long the conductor may sleep, in ms; -1: as long as it likes. */
int events_wait(const struct events *, double seconds);

/*
 * If it is time: what was found unreadable, and the progress.  Never waits: it
 * is left out if nobody takes it.
 */
void events_progress(struct events *, const struct plan *, struct map *,
    const struct tally *);

/* Nothing more is read: tell the other errors, and note them all. */
void events_errors(struct events *, const struct plan *, struct map *);

/* The i-th of several targets gets nothing more, and why. */
void events_dropped(struct events *, const struct plan *, unsigned i,
    const struct fault *why);

/* There is a pattern in what is bad. */
void events_pattern(struct events *, const struct pattern *);

/* wait=: the source has gone, and is waited for; it is back. */
void events_gone(struct events *, const struct plan *, const struct tally *);
void events_back(struct events *, const struct plan *);

/*
 * The end: of a run whose verdict is in *out, or of one that did not begin.
 */
void events_result(struct events *, const struct plan *, struct outcome *);
void events_refused(struct events *, const struct fault *why);

/* Close the sinks, and free what is kept. */
void events_close(struct events *);

/*
 * Whether a sink has failed since this was asked last.  Such a sink gets no
 * further line, and the copy goes on.
 */
bool events_trouble(struct events *, struct fault *f);

#endif
