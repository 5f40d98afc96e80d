/*
 * Signals as something to be read, and the end by one.
 */
#ifndef PARDD_SIGNALS_H
#define PARDD_SIGNALS_H

#include <stdbool.h>

#include "base/fault.h"

struct signals {
	int	fd;		/* a signalfd */
};

/*
 * Block the signals this program answers (those that were ignored when it was
 * started stay so) and make them readable.  Before any thread is made.
 */
int signals_take(struct signals *, struct fault *f);

/*
 * Let those that end the program do so: it is over, but for telling, and who is
 * to be told may not read.
 */
void signals_let(void);

/* Whether one of those waits for its answer. */
bool signals_wait(void);

/* End by a signal as if it had never been blocked; returns if it is ignored. */
void signals_raise(int signo);

/*
 * Block SIGUSR1 only, which would end the program until signals_take.  First
 * thing in main.
 */
void signals_hold(void);

/* Let a write fail instead of ending the program: EPIPE and EFBIG tell. */
void signals_ignore(void);

#endif
