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
	int		 fd;	/* -1: nowhere, or no more */
	bool		 journal;	/* lines are added to a regular file */
	bool		 named;	/* opened here, and closed here */
	bool		 regular;	/* takes any line at once */
	const char	*key, *name;	/* of the operand */
	struct fault	 trouble;	/* a line was lost; status 0: none */
};

/*
 * Open what s->name is; but for a journal a number is a descriptor, and so is
 * what a shell makes of >(command).  Not an end of the copy, which must not be
 * open yet, nor what another operand names.  Returns 0, or -1 with *f, and then
 * there is nothing to close.  With --dry-run a name is only looked at.
 */
int sink_open(struct sink *s, const struct opts *, struct fault *f);

/* Whether it takes PIPE_BUF bytes, within so many ms. */
bool sink_room(const struct sink *, int patience);

/*
 * Write a line, waiting for so many ms at most each time that a pipe is full.
 * Returns 0 or an errno value; then a file has nothing of it.
 */
int sink_put(const struct sink *, const char *line, size_t len, int patience);

/*
 * Close what was opened, not what was inherited; it gets no more lines.
 * Returns 0 or an errno value.
 */
int sink_close(struct sink *);

#endif
