/*
 * The main thread while workers run: it waits for two descriptors (signals, the
 * end), for clients of control=, and for the next progress line.  It reports
 * each fact once, as soon as there is room to print, above the progress line.
 *
 * maxtemp=: a thread watches the temperature of the source, because the disk
 * may not answer.  While it is too warm, every caller of rate_wait waits.  It
 * has to cool down by COOLER, or it would be too warm again at once.
 */
#include "conduct.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/param.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/print.h"
#include "base/title.h"
#include "disk/disk.h"
#include "end/endpoint.h"
#include "open/tee.h"
#include "report/report.h"
#include "rescue/rescue.h"
#include "verify/verify.h"
#include "view/view.h"

/* --- an end that does not answer ------------------------------------------ */

static const double patience = 3;	/* s; slow, but in order */

/*
 * Workers count requests as they begin and end, which needs no clock; here the
 * counts are looked at now and then.  A single slow request means nothing while
 * others are answered; nor does a flush while the copy continues.
 */
static void
requests_add(struct requests *sum, const struct requests *r)
{
	/* load "ended" first, so that it never exceeds "begun" */
	sum->ended += atomic_load_explicit(&r->ended, memory_order_relaxed);
	sum->begun += atomic_load_explicit(&r->begun, memory_order_relaxed);
}

static struct requests
requests_of(const struct job *job, enum watched what)
{
	struct requests sum = { .begun = 0 };
	unsigned i;

	if (what == WATCH_FLUSH)
		requests_add(&sum, &job->flushes);
	else
		for (i = 0; i < WORKERS_MOST; i++)
			requests_add(&sum,
			    &job->worker[i].asked[what == WATCH_SOURCE ?
			    SOURCE : TARGET]);
	return sum;
}

/* Start, with nothing pending. */
static void
watch_begin(struct watch *watch, double now)
{
	enum watched i;

	for (i = 0; i < WATCHED; i++) {
		watch->on[i].ended = 0;
		watch->on[i].since = now;
	}
	watch->inside[0].call = watch->inside[1].call = 0;
}

/*
 * Which end the copy waits for at time "now", in seconds, if any.  The time
 * that is returned is as exact as the calls are frequent.
 */
static struct silence
watch_look(struct watch *watch, const struct job *job, double now)
{
	struct silence longest = { .end = NULL };
	const struct endpoint *end;
	bool answered = false;
	enum watched i;

	for (i = 0; i < WATCHED; i++) {
		struct requests r = requests_of(job, i);

		answered |= r.ended != watch->on[i].ended;
		if (r.begun == r.ended || r.ended != watch->on[i].ended ||
		    (i == WATCH_FLUSH && answered))
			watch->on[i].since = now;
		watch->on[i].ended = r.ended;
		if (now - watch->on[i].since < patience ||
		    now - watch->on[i].since <= longest.seconds)
			continue;
		end = i == WATCH_SOURCE ? job->p->src : job->p->targets > 1 ?
		    tee_silent(job->p->dst) : job->p->dst;
		if (end != NULL)	/* else it has just answered */
			longest = (struct silence){ .end = end,
				.flush = i == WATCH_FLUSH,
				.seconds = now - watch->on[i].since };
	}
	return longest;
}

/*
 * An end whose library has not returned within timeout=, or NULL.  Several
 * targets are never returned: those that hang are dropped.
 */
static const struct endpoint *
watch_stuck(struct watch *watch, const struct job *job, double now)
{
	const struct endpoint *end[2] = { job->p->src, job->p->dst };
	unsigned i, call;

	for (i = 0; i < 2; i++) {
		call = endpoint_inside(end[i]);
		if (call == 0 || call != watch->inside[i].call)
			watch->inside[i].since = now;
		watch->inside[i].call = call;
		if (now - watch->inside[i].since > end[i]->spec.timeout)
			return end[i];
	}
	return NULL;
}

/* The process was stopped for so many seconds: they do not count. */
static void
watch_stood(struct watch *watch, double seconds)
{
	enum watched i;

	for (i = 0; i < WATCHED; i++)
		watch->on[i].since += seconds;
	watch->inside[0].since += seconds;
	watch->inside[1].since += seconds;
}

/* --- what is told meanwhile ---------------------------------------------- */

/* Whether messages are wanted; if so, the progress line is erased. */
static bool
tell_wanted(struct conductor *c)
{
	if ((c->job->p->opts->status & SHOW_NONE) != 0)
		return false;
	progress_clear(&c->progress);
	return true;
}

/* Report at once that a target does not keep what is written to it. */
static void
tell_differs(struct conductor *c)
{
	struct verify *v = c->job->verify;
	struct checked *of;
	unsigned i;

	for (i = 0; v != NULL && i < v->targets; i++) {
		of = &v->target[i];
		if (of->told || of->first == NOWHERE || !print_room())
			continue;
		of->told = true;
		if (tell_wanted(c))
			report_differs(plan_each(c->job->p, i), of->first,
			    of->unread);
	}
}

/* Report at once that one of several targets was dropped. */
static void
tell_dropped(struct conductor *c)
{
	const struct plan *p = c->job->p;
	unsigned told = (unsigned)__builtin_popcount(c->dropped);
	unsigned left = p->targets - told, i;
	const struct fault *why;

	for (i = 0; i < p->targets; i++) {
		why = tee_dropped(p->dst, i);
		if ((c->dropped & 1U << i) != 0 || why == NULL || !print_room())
			continue;
		c->dropped |= 1U << i;
		left--;
		events_dropped(c->events, p, i, why);
		if (tell_wanted(c))
			report_dropped(why, left);
	}
}

/* Report once that a head of the disk seems to be dead. */
static void
tell_pattern(struct conductor *c)
{
	const struct rescue *r = c->job->rescue;

	if (r == NULL || !r->patterned || c->events->patterned || !print_room())
		return;
	c->events->patterned = true;
	events_pattern(c->events, &r->pattern);
	if (tell_wanted(c))
		report_pattern(c->job->p, &r->pattern);
}

/* Report that the copy waits for the source to cool, and when it continues. */
static void
tell_warmth(struct conductor *c)
{
	bool warm = c->job->rate.paused;

	if (c->warm == warm || !print_room())
		return;
	c->warm = warm;
	if (tell_wanted(c))
		report_warmth(c->job->p, warm, c->job->celsius);
}

/* Report news, draw the progress line, set the title. */
static void
tell_all(struct conductor *c, const struct tally *t)
{
	struct job *job = c->job;
	struct fault f;

	tell_dropped(c);
	tell_differs(c);
	tell_pattern(c);
	tell_warmth(c);
	progress_draw(&c->progress, &job->map, t);
	title_set(&job->title, t->seconds, job->p->src->name, job->p->dst->name,
	    t->whole == 0 ? -1 : tally_part(t));
	events_progress(c->events, job->p, &job->map, t);
	while (print_room() && events_trouble(c->events, &f)) {
		progress_clear(&c->progress);
		report_fault(&f, job->p->opts);
	}
}

enum {
	TICK = 500,		/* ms, with verify= or maxtime= */
	LONG_TICK = 1000,	/* ms, otherwise */
};

/*
 * Within this many s the same signal counts as one: the kernel and the shell
 * both send SIGHUP, and timeout(1) signals the command and then its group.
 */
static const double one_hangup = 1, one_signal = 0.2;

/* Add what the map says. */
static void
tally_map(struct job *job, const struct map_totals *map, struct tally *t)
{
	const struct plan *p = job->p;

	t->lost = map->bad + map->failed;
	t->again = map->failed;
	t->finished = map->finished;
	t->left = map->end - map->outside - map->finished;
	t->outside = map->outside;
	t->had = job->before.had;
	t->passed = t->written + t->spared;
	t->whole = p->bounded ? round_up(p->length, p->pad) - map->outside :
	    endpoint_guess(p->src);
	if (p->bounded || t->whole == 0)
		return;
	t->guessed = true;
	t->whole = MAX(t->whole - MIN(t->whole, p->src_off), t->passed + 1);
}

/*
 * What is read back, during the copy or after it.  How much that will be is not
 * known before a stream has ended.
 */
static void
tally_verify(struct job *job, struct tally *t)
{
	bool after = job->p->verify != VERIFY_STREAM;
	bool sample = job->p->verify == VERIFY_SAMPLE;
	bool later = t->phase == PHASE_VERIFYING || t->phase == PHASE_REPAIRING;

	t->verified = verify_right(job);
	t->mended = job->verify->mended;
	t->differing = verify_differing(job);
	if (t->guessed && later)
		t->whole = t->passed;
	t->twice = t->whole > 0 && !sample;
	t->other = after ? 0 : t->verified;
	if (!later)
		return;
	t->other = sample ? 0 : t->whole;
	if (sample)
		t->whole = job->verify->wanted;
	if (t->whole == 0)
		t->whole = t->passed;
	t->guessed = false;
	t->passed = after ? job->verify->read : t->verified;
}

static struct tally
conduct_tally(struct conductor *c)
{
	struct job *job = c->job;
	const struct steps *steps = steps_of(job->p);
	double now = clock_seconds();
	struct map_totals map = map_totals(&job->map);
	struct tally t = { .read = job->before.read + job->read,
		.written = job->before.written + job->written,
		.padded = job->before.padded + job->padded,
		.holes = job->before.holes + job->holes,
		.zeroed = job->before.zeroed + job->zeroed,
		.shared = job->before.shared + job->shared,
		.spared = job->before.spared + job->spared,
		.seconds = now - c->start, .celsius = job->celsius,
		.phase = (enum phase)job->phase, .stopping = job->stop,
		.silence = watch_look(&c->watch, job, now),
		.view = viewer_count(job->p->view) };

	tally_map(job, &map, &t);
	if (steps->tally != NULL)
		steps->tally(job, &map, &t);
	if (t.phase == PHASE_CLEARING) {
		t.passed = job->rest;
		t.whole = job->rest_whole;
	}
	if (job->verify != NULL)
		tally_verify(job, &t);
	return t;
}

/* Whether this is a repetition of a signal already handled. */
static bool
is_echo(const struct conductor *c, int signo)
{
	double since = clock_seconds() - c->signalled;

	return signo == c->out->signal &&
	    since < (signo == SIGHUP ? one_hangup : one_signal);
}

/* Handle pending signals; false: leave at once. */
static bool
conduct_signals(struct conductor *c, const struct tally *t)
{
	struct outcome *out = c->out;
	struct signalfd_siginfo si;

	while (read(c->signals->fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGUSR1) {
			if (print_room())
				report_so_far(c->job->p, t);
			continue;
		}
		if (is_echo(c, (int)si.ssi_signo))
			continue;
		if (out->signal != 0) {
			out->again = (int)si.ssi_signo;
			return false;
		}
		out->signal = (int)si.ssi_signo;
		c->signalled = clock_seconds();
		signals_hurry();
		job_stop(c->job);
		report_stopping(out->signal);
	}
	return true;
}

/* Stop because of an end whose library does not return, if there is one. */
static void
stop_stuck(struct conductor *c)
{
	const struct endpoint *ep = watch_stuck(&c->watch, c->job,
	    clock_seconds());
	struct fault f;

	if (ep == NULL || c->out->stuck)
		return;
	if (ep == c->job->p->dst)
		c->job->doubt = true;
	fault_set(&f, status_errno(ENODEV), "%s: the library that reads its "
	    "answers has not returned within %u seconds (timeout=)%s",
	    ep->name, ep->spec.timeout, ep == c->job->p->src ? "" :
	    "; writes since the last flush may be lost");
	job_fail(c->job, &f);
	c->out->stuck = true;
	c->stuck = clock_seconds();
}

/* Whether requests in flight have had time to return after the stop. */
static bool
conduct_overdue(struct conductor *c)
{
	if (c->out->signal != 0)
		return clock_seconds() - c->signalled > GRACE;
	stop_stuck(c);
	if (c->out->stuck)
		return c->job->rescue == NULL ||
		    c->job->rescue->mapsaver.settled ||
		    clock_seconds() - c->stuck > GRACE;
	return rescue_overdue(c->job);
}

/* How long to sleep, in ms. */
static int
conduct_wait(const struct conductor *c)
{
	const struct job *job = c->job;
	double seconds = clock_seconds() - c->start;
	int a = progress_wait(&c->progress, seconds);
	int b = events_wait(c->events, seconds);
	int most = job->verify != NULL || job->p->opts->maxtime >= 0 ? TICK :
	    LONG_TICK;

	most = a >= 0 && a < most ? a : most;
	return b >= 0 && b < most ? b : most;
}

bool
conduct(struct conductor *c)
{
	struct job *job = c->job;
	struct pollfd p[2 + CONTROL_POLLS] = {
		{ .fd = c->signals->fd, .events = POLLIN },
		{ .fd = job->done, .events = POLLIN } };
	struct tally t;
	bool stay = true;
	uint64_t due;
	int wait;

	watch_begin(&c->watch, clock_seconds());
	t = conduct_tally(c);
	progress_begin(&c->progress, job->p, &t);
	while (stay && p[1].revents == 0) {
		control_polls(&c->control, p + 2);
		wait = conduct_wait(c);
		due = clock_ns() + (uint64_t)wait * 1000000;
		if (poll(p, 2 + CONTROL_POLLS, wait) < 0)
			continue;
		watch_stood(&c->watch, (double)clock_stood(due) / 1e9);
		if (p[0].revents != 0) {
			progress_clear(&c->progress);
			t = conduct_tally(c);
			stay = conduct_signals(c, &t);
		}
		if (conduct_overdue(c))
			stay = false;
		t = conduct_tally(c);
		tell_all(c, &t);
		control_serve(&c->control, p + 2, job, &t);
	}
	tell_dropped(c);		/* the last news */
	tell_pattern(c);
	c->out->tally = conduct_tally(c);
	progress_end(&c->progress, &c->out->tally);
	if (!stay)
		events_errors(c->events, job->p, &job->map);
	return stay;
}

/* --- maxtemp= ------------------------------------------------------------ */

enum {
	EVERY = 1000,		/* ms */
	COOLER = 3,		/* degrees */
};

/* Without a measurement nobody waits. */
static void
thermometer_look(struct job *job)
{
	double most = (double)job->p->opts->maxtemp, is = NAN;
	struct disk d;

	if (!endpoint_disk(job->p->src, &d) || !disk_temperature(d.whole, &is))
		is = NAN;
	job->celsius = is;
	job->rate.paused = job->rate.paused ? is > most - COOLER : is > most;
}

static void *
thermometer_thread(void *arg)
{
	struct job *job = arg;
	struct pollfd p[2] = { { .fd = job->done, .events = POLLIN },
		{ .fd = job->halt, .events = POLLIN } };
	int n;

	while ((n = poll(p, 2, EVERY)) <= 0)
		if (n == 0)
			thermometer_look(job);
	job->rate.paused = false;
	return NULL;
}

void
thermometer_begin(struct job *job)
{
	job->celsius = NAN;
	if (job->p->opts->maxtemp < 0)
		return;
	thermometer_look(job);
	job->measured = pthread_create(&job->thermometer, NULL,
	    thermometer_thread, job) == 0;
	if (!job->measured)
		job->rate.paused = false;
}

void
thermometer_end(struct job *job)
{
	if (job->measured)
		pthread_join(job->thermometer, NULL);
}
