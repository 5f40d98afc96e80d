/*
 * The run as programs see it: JSON lines for json=, and one line of a journal
 * for log=.  For their contents see pardd-json(5).
 */
#ifndef PARDD_EVENTS_H
#define PARDD_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "copy/outcome.h"
#include "end/endpoint.h"
#include "map/map.h"
#include "plan/plan.h"
#include "rescue/pattern.h"

/*
 * Where the lines of json= and log= go: a file, or an inherited descriptor.
 */

struct sink {
	int		 fd;	/* -1: none, or closed */
	bool		 journal;	/* lines are appended to a regular
					 * file */
	bool		 named;	/* opened and closed by us */
	bool		 regular;
	const char	*key, *name;	/* the operand and its value */
	struct fault	 trouble;	/* a line was lost; status 0: none
					 * was */
};

/*
 * Open s->name.  Unless this is a journal, a number is a descriptor, and so is
 * what a shell makes of >(command).  Refuses an end of the copy, none of which
 * may be open yet, and files of other operands.  With --dry-run a name is only
 * checked.  Returns 0, or -1 with *f (f->by is TOLD_LEASED if another process
 * has a lease on it) and nothing to close.
 */
int sink_open(struct sink *s, const struct opts *, struct fault *f);

/* Whether PIPE_BUF bytes can be written within so many ms. */
bool sink_room(const struct sink *, int patience);

/*
 * Write a line, waiting at most so many ms whenever a pipe is full, and for a
 * file until a signal arrives.  Returns 0, or an errno value; a file then
 * contains no part of the line, or was left, and takes no more.
 */
int sink_put(struct sink *, const char *line, size_t len, int patience);

/*
 * Close it, unless it was inherited; it takes no more lines.  Returns 0 or an
 * errno value.
 */
int sink_close(struct sink *);

struct json_t;			/* of jansson */

struct events {			/* for the main thread only */
	const struct opts *opts;
	struct sink	 json, log;
	struct timespec	 started;
	/* for the result; NULL without memory: then they are left out */
	struct json_t	*source, *target, *unreadable, *mismatch;
	struct json_t	*targets;	/* NULL with a single target */
	uint64_t	 length;	/* bytes, if bounded */
	bool		 bounded;
	uint64_t	 told;	/* errors before this byte were reported */
	double		 next;	/* s, when progress is due */
	bool		 patterned;	/* a pattern was reported */
};

/* The run begins; nothing is open yet. */
void events_begin(struct events *, const struct opts *);

/*
 * Open json= and log=, unless they are.  Neither may be an end of the copy,
 * none of which may be open yet.  With --dry-run a name is only checked.
 * Returns 0, or -1 with *f; the other one may then be open, and takes the
 * result.  If another process has a lease on one, f->by is TOLD_LEASED: call it
 * again.
 */
int events_open(struct events *, struct fault *f);

/* The plan was made. */
void events_plan(struct events *, const struct plan *);

/* How long the main thread may sleep, in ms; -1: without limit. */
int events_wait(const struct events *, double seconds);

/*
 * If it is time, write new unreadable ranges, and progress.  Never waits: a
 * line that nobody reads is left out.
 */
void events_progress(struct events *, const struct plan *, struct map *,
    const struct tally *);

/*
 * Nothing more will be read: write the remaining errors, and keep all of them
 * for the result.
 */
void events_errors(struct events *, const struct plan *, struct map *);

/* The i-th of several targets was dropped, and why. */
void events_dropped(struct events *, const struct plan *, unsigned i,
    const struct fault *why);

/* The bad ranges form a pattern. */
void events_pattern(struct events *, const struct pattern *);

/* wait=: the source has gone, and the copy waits; the source is back. */
void events_gone(struct events *, const struct plan *, const struct tally *);
void events_back(struct events *, const struct plan *);

/*
 * The result: of a run with its verdict in *out, or of one that did not begin.
 */
void events_result(struct events *, const struct plan *, struct outcome *);
void events_refused(struct events *, const struct fault *why);

/* Close the sinks, and free everything. */
void events_close(struct events *);

/*
 * Whether a sink has failed since the last call; *f says why.  It gets no more
 * lines, and the copy goes on.
 */
bool events_trouble(struct events *, struct fault *f);

/*
 * JSON lines for programs: writing them, and parts that several of them have.
 * Returned values belong to the caller; NULL: no memory.
 */

#define SCHEMA	"pardd/1"

enum { PATIENCE = 5000 };	/* ms to wait for a slow reader */

/*
 * Describe an end, whose copy begins at byte off; the caller frees the object.
 * NULL without memory.
 */
struct json_t *describe_end(const struct endpoint *, uint64_t off);

#endif
