/*
 * Where the lines of json= and log= go: a file, or an inherited descriptor.
 */
#ifndef PARDD_SINK_H
#define PARDD_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "cli/opts.h"

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
 * checked.  Returns 0, or -1 with *f and nothing to close.
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

#endif
