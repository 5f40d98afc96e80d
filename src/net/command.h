/*
 * A command started for an end, with a socket as its standard input and output.
 */
#ifndef PARDD_COMMAND_H
#define PARDD_COMMAND_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/fault.h"

enum { SAID = 4096 };		/* bytes */

struct command {
	pid_t	 pid;		/* 0: none */
	int	 end;		/* pidfd: readable once it has ended */
	int	 words;		/* its standard error, or -1 */
	bool	 listens;	/* it got a socket to listen on, and may go on
				 * when that of its client is closed */
	pthread_mutex_t	 lock;	/* guards: */
	char	 said[SAID];	/* what it has printed last, */
	size_t	 kept;		/* bytes of it */
};

/*
 * Start a line "[ COMMAND ARG... ]", found by PATH; "name" is what may be shown
 * of it.  *sock is our connection to it, for the caller to close: its standard
 * input and output, or for qemu-nbd one to the socket that it gets as
 * descriptor 3 (LISTEN_FDS).  nbdkit is told to serve this connection only
 * (-s).  Returns 0, or -1 with *f and no command.
 */
int command_start(struct command *, const char *name, const char *line,
    int *sock, struct fault *f);

/*
 * Keep what it has printed.  Call this now and then, from any thread: the room
 * for output that was not kept is limited.
 */
void command_listen(struct command *);

/*
 * Once its socket has failed or was closed: write how the command has ended, if
 * it does so within ms, and the end of its last line on standard error; "" if
 * there is nothing to say.  The room is 60 bytes or more.  Returns true if it
 * has ended with status 0.
 */
bool command_tell(struct command *, int ms, char *text, size_t room);

/*
 * Once a command has ended with status 0 before it has served anybody: end what
 * it has left in the background.  Returns how many processes that were.
 */
unsigned command_end_left(const struct command *);

/*
 * Once its socket was closed: wait until the command has ended, and end it if
 * that takes too long, or at once if it is stuck.
 */
void command_end(struct command *, bool stuck);

#endif
