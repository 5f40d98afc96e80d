/*
 * The files of a run are written by a thread of their own, because their file
 * system may not answer; the main thread answers signals meanwhile.  The thread
 * has the outputs to itself, and its own copy of the outcome, of which the
 * fault is taken back only when it has ended.  The maps and digests are const
 * by then.
 */
#include "run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/status.h"
#include "copy/verdict.h"
#include "report/report.h"

static const double told_after = 2, waits = 8, echo = 1;	/* s */

struct settled {		/* the thread's */
	struct outputs	*outputs;
	const struct plan *p;
	struct outcome	 out;
};

struct settling {		/* the main thread's */
	const struct plan *p;
	const struct signals *signals;
	double		 began, signalled;	/* 0: no signal came */
	bool		 told;
};

static void
settle_write(struct outputs *r, const struct plan *p, struct outcome *out)
{
	outputs_write(r, p, out);
	verdict_make(p, out);
	outputs_report(r, out);
}

/* An errand. */
static void
settle_run(void *arg)
{
	struct settled *d = arg;

	settle_write(d->outputs, d->p, &d->out);
}

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

/* What the thread uses; NULL if there is no memory. */
static struct settled *
settle_begin(struct outputs *r, const struct plan *p,
    const struct outcome *out)
{
	size_t room = out->targets * sizeof(*out->target);
	struct settled *d = malloc(sizeof(*d));

	if (d == NULL)
		return NULL;
	*d = (struct settled){ .outputs = r, .p = p, .out = *out };
	d->out.target = malloc(room);
	if (d->out.target == NULL) {
		free(d);
		return NULL;
	}
	memcpy(d->out.target, out->target, room);
	return d;
}

bool
settle(struct outputs *r, const struct plan *p, const struct signals *signals,
    struct outcome *out)
{
	struct settled *d = outputs_any(r) ? settle_begin(r, p, out) : NULL;
	struct settling s = { .p = p, .signals = signals,
		.began = clock_seconds() };

	if (d == NULL) {		/* nothing to wait for, or no memory */
		settle_write(r, p, out);
		return true;
	}
	s.signalled = out->signal != 0 ? s.began : 0;
	if (!errand_attend(settle_run, d, settle_stays, &s)) {
		fault_set(&out->outputs, status_errno(ETIMEDOUT), "the files "
		    "of the run: their file system does not answer");
		return false;
	}
	out->outputs = d->out.outputs;
	free(d->out.target);
	free(d);
	verdict_make(p, out);
	return true;
}
