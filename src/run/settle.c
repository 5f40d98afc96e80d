/*
 * The end of a run, when no worker is left: what closes the ends and writes the
 * files of the run has its own thread, because their file system may not
 * answer; the main thread answers signals.
 */
#include "run/settle.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/signals.h"
#include "base/status.h"
#include "report/report.h"

static const double told_after = 2, waits = 8, echo = 1;	/* s */

struct settling {
	const struct plan *p;
	const struct signals *signals;
	double		 began, signalled;	/* 0: no signal came */
	bool		 told;
};

/* Handle signals, and tell of a long wait; false: leave. */
static bool
settle_stays(void *arg)
{
	struct settling *s = arg;
	struct signalfd_siginfo si;
	double now = clock_seconds();

	if (!s->told && now - s->began > told_after) {
		s->told = true;
		report_settling(s->p);
	}
	while (read(s->signals->fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGUSR1)
			continue;
		if (s->signalled > 0 && now - s->signalled > echo)
			return false;
		if (s->signalled > 0)
			continue;
		s->signalled = now;
		signals_hurry();
		report_stopping((int)si.ssi_signo);
	}
	return s->signalled <= 0 || now - s->signalled < waits;
}

bool
settle(void (*run)(void *), void *arg, const struct plan *p,
    const struct signals *signals, struct outcome *out)
{
	struct settling s = { .p = p, .signals = signals,
		.began = clock_seconds() };
	int err;

	s.signalled = out->signal != 0 ? s.began : 0;
	if (errand_attend(run, arg, settle_stays, &s, &err))
		return true;
	if (err != ETIMEDOUT) {
		run(arg);		/* there is no thread for it */
		return true;
	}
	fault_set(&out->outputs, status_errno(err), "the files of the run: "
	    "their file system does not answer");
	return false;
}
