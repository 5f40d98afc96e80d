/*
 * A thread looks at the ends once more and closes them, and another one then
 * writes the files of the run, because a file system may not answer; the main
 * thread answers signals meanwhile.  The second has the outputs to itself, and
 * its own copy of the outcome, of which the fault is taken back only when it
 * has ended.  The maps and digests are const by then.
 */
#include "run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
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
	const char	*what;	/* what it waits for */
	double		 began, signalled;	/* 0: no signal came */
	bool		 told;
};

struct closing {
	struct settling	 wait;		/* the main thread's */
	struct endpoint	*src, *dst;	/* the thread's */
	struct decision	*d;		/* likewise, until "looked" */
	struct outcome	*out;		/* likewise: map and target */
	struct damage	 damage;	/* likewise */
	int		 err;		/* likewise, until "closed" */
	bool		 stopped, flushed;	/* how the copy has ended */
	atomic_bool	 looked, closed;	/* the target was, and is */
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
		report_settling(s->p, s->what);
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

static struct settling
settling_begin(const struct plan *p, const struct signals *signals,
    const struct outcome *out, const char *what)
{
	double now = clock_seconds();

	return (struct settling){ .p = p, .signals = signals, .what = what,
		.began = now, .signalled = out->signal != 0 ? now : 0 };
}

/* An errand. */
static void
closing_run(void *arg)
{
	struct closing *c = arg;
	const struct plan *p = &c->d->plan;

	if (!c->stopped)
		damage_make(&c->damage, plan_first(p), &c->out->map);
	outputs_look(&c->d->outputs, p, c->out);
	if (c->flushed)
		decision_reread(c->d, c->out);
	c->looked = true;
	c->err = endpoint_close(c->dst);
	c->closed = true;
	endpoint_close(c->src);
}

/* The close of each of several targets has a time limit. */
static bool
closing_stays(void *arg)
{
	struct closing *c = arg;

	return settle_stays(&c->wait) || (c->wait.p->targets > 1 && c->looked &&
	    !c->closed);
}

bool
settle_close(struct endpoint *src, struct endpoint *dst, struct decision *d,
    const struct signals *signals, struct outcome *out, bool *looked)
{
	const struct plan *p = &d->plan;
	struct closing *c = malloc(sizeof(*c));
	bool over = false;
	int err = ENOMEM;

	*looked = true;
	if (c != NULL) {
		*c = (struct closing){ .src = src, .dst = dst, .d = d,
			.out = out, .stopped = out->signal != 0,
			.flushed = out->flush.status == 0, .wait =
			settling_begin(p, signals, out, "closing its ends") };
		over = src->is.memory && dst->is.memory;	/* none hangs */
		if (over)
			closing_run(c);
		else
			over = errand_attend(closing_run, c, closing_stays, c);
		err = c->closed ? c->err : ETIMEDOUT;
		*looked = c->looked;
		if (*looked)
			out->damage = c->damage;
	}
	if (err != 0 && out->flush.status == 0)
		fault_set(&out->flush, STATUS_NOT_FLUSHED, "%s: closing: %s",
		    dst->name, err == ETIMEDOUT ? "its file system does not "
		    "answer" : errno_words(err));
	if (over)
		free(c);
	return over;
}

/* What the thread uses; NULL if there is no memory. */
static struct settled *
settle_begin(struct outputs *r, const struct plan *p, const struct outcome *out)
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
	struct settling s = settling_begin(p, signals, out, "writing the files "
	    "of the run");

	if (d == NULL) {		/* nothing to wait for, or no memory */
		settle_write(r, p, out);
		return true;
	}
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
