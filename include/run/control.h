/*
 * control=: a socket through which a running copy is asked and told.
 *
 * Each line is a command and gets a line as its answer.  The main thread serves
 * it between signals and the live line; it never waits for whom it talks to.
 */
#ifndef PARDD_CONTROL_H
#define PARDD_CONTROL_H

#include <poll.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "copy/outcome.h"

struct job;

enum { CONTROL_POLLS = 2 };

struct control {
	const char	*path;	/* NULL: there is none */
	dev_t		 dev;	/* what it named when it was made */
	ino_t		 ino;
	int		 ear;	/* listens, or -1 */
	int		 peer;	/* whom we talk to, or -1 */
	size_t		 n;	/* bytes of line */
	char		 line[64];
};

/*
 * Make the socket that control= names, mode 0600, or nothing without it.
 * Returns 0, or -1 with *f; then there is nothing to close.
 */
int control_open(struct control *, const struct opts *, struct fault *f);

/* The same for --dry-run: what would refuse it does, and nothing is made. */
int control_look(const struct opts *, struct fault *f);

/* What to wait for: fills CONTROL_POLLS of p, with fd -1 for nothing. */
void control_polls(const struct control *, struct pollfd *p);

/* Answer what has come, as p says after poll(2). */
void control_serve(struct control *, const struct pollfd *p, struct job *,
    const struct tally *);

/* Take the socket away. */
void control_close(struct control *);

#endif
