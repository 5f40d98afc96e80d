/*
 * A command that is started for an end, and talks on its standard input and
 * output.
 */
#ifndef PARDD_COMMAND_H
#define PARDD_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/fault.h"

struct command {
	pid_t	 pid;		/* 0: there is none */
	int	 end;		/* readable once it has ended (pidfd) */
	int	 words;		/* what it says on standard error, or -1 */
};

/*
 * Start "[ COMMAND ARG... ]", by PATH; *sock is this end of its standard input
 * and output, the caller's to close.  Returns 0, or -1 with *f and nothing to
 * end.
 */
int command_start(struct command *, const char *name, int *sock,
    struct fault *f);

/*
 * What became of it, in words: how it has ended, if it does so within that
 * time, and the last it said; "" where there is nothing to be told.  Its
 * socket has failed, or has been closed.
 */
void command_tell(const struct command *, int ms, char *text, size_t room);

/*
 * Its socket has been closed: wait until it has ended, and make it do so where
 * that takes too long.
 */
void command_end(struct command *);

#endif
