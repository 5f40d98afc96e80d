/*
 * Signals that are read from a descriptor, and dying by one.
 */
#ifndef PARDD_SIGNALS_H
#define PARDD_SIGNALS_H

#include <stdbool.h>

#include "base/fault.h"

struct signals {
	int	fd;		/* a signalfd */
};

/*
 * Block the signals that this program handles and make them readable; those
 * that were ignored at the start stay ignored.  Call it before any thread
 * exists.  Returns 0, or -1 with *f.
 */
int signals_take(struct signals *, struct fault *f);

/*
 * Let fatal signals kill the program again: only reports are left to write, and
 * their reader may have stopped reading.  Or nothing is written yet; then
 * signals_block ends that, before another thread exists.
 */
void signals_let(void);
void signals_block(void);

/*
 * The program is to end, by a signal that was read from the descriptor: in some
 * seconds signals_pending is true, because messages that nobody reads must not
 * delay the end.
 */
void signals_hurry(void);

/* Whether one of the fatal signals is pending, or it is time to end. */
bool signals_pending(void);

/* Die by a signal as if it had never been blocked; return if it is ignored. */
void signals_raise(int signo);

/*
 * Block SIGUSR1 alone, which would kill the program before signals_take, and do
 * not ignore SIGCHLD, even if our parent does: the kernel would keep no child's
 * exit status.  Call it first in main.
 */
void signals_hold(void);

/* Ignore SIGPIPE and SIGXFSZ: a write then fails with EPIPE or EFBIG. */
void signals_ignore(void);

#endif
