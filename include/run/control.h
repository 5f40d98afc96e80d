/*
 * control=: a socket through which other programs query a running copy and
 * change its limits.
 *
 * Each line is a command and gets one line as its answer.  The main thread
 * serves the socket; it never waits for a client.
 */
#ifndef PARDD_CONTROL_H
#define PARDD_CONTROL_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "copy/outcome.h"

struct job;

enum { CONTROL_POLLS = 2 };

struct control {
	const char	*path;	/* NULL: no socket */
	dev_t		 dev;	/* of the node when it was made */
	ino_t		 ino;
	int		 ear;	/* listens, or -1 */
	int		 peer;	/* connected, or -1 */
	uint64_t	 deaf;	/* nobody is answered until then, by clock_ns */
	size_t		 n;	/* bytes in "line" */
	char		 line[64];
};

/*
 * Make the socket of control=, mode 0600; without control=, do nothing.
 * Returns 0, or -1 with *f and nothing to close.
 */
int control_open(struct control *, const struct opts *, struct fault *f);

/* Make the same checks for --dry-run, but no socket. */
int control_look(const struct opts *, struct fault *f);

/* Fill CONTROL_POLLS entries of p for poll(2); fd -1 means nothing. */
void control_polls(const struct control *, struct pollfd *p);

/* Serve what poll(2) has found. */
void control_serve(struct control *, const struct pollfd *p, struct job *,
    const struct tally *);

/* Close and remove the socket. */
void control_close(struct control *);

#endif
