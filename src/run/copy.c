/*
 * The main thread.  It makes the job, starts the lead, and then waits for two
 * descriptors (signals, the end) and for the next progress line.  It moves no
 * data, except in a copy so short that it is the lead itself (plan.c).
 */
#include "run/copy.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ioprio.h"
#include "base/number.h"
#include "base/print.h"
#include "base/signals.h"
#include "base/status.h"
#include "copy/job.h"
#include "copy/ranges.h"
#include "copy/ring.h"
#include "copy/watch.h"
#include "end/tee.h"
#include "part/used.h"
#include "report/events.h"
#include "report/profile.h"
#include "report/progress.h"
#include "report/report.h"
#include "rescue/rescue.h"
#include "run/control.h"
#include "run/lead.h"
#include "run/reattach.h"
#include "run/thermometer.h"
#include "steps.h"
#include "verify/verify.h"

enum {
	TICK = 500,		/* ms, with verify= or maxtime= */
	LONG_TICK = 1000,	/* ms, otherwise */
	TITLED = 4 << 20,	/* bytes; less is over before ps(1) runs */
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
	t->finished = map->finished;
	t->left = map->end - map->outside - map->finished;
	t->outside = map->outside;
	t->had = job->before.had;
	t->whole = p->bounded ? round_up(p->length, p->pad) - map->outside : 0;
	t->passed = t->written + t->spared;
}

static struct tally
tally(struct job *job, struct watch *watch, double start)
{
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
		.seconds = now - start, .celsius = job->celsius,
		.phase = (enum phase)job->phase, .stopping = job->stop,
		.silence = watch_look(watch, job, now) };

	tally_map(job, &map, &t);
	if (steps->tally != NULL)
		steps->tally(job, &map, &t);
	if (job->verify != NULL) {
		t.verified = verify_right(job);
		t.mended = job->verify->mended;
		t.differing = verify_differing(job);
		if (t.phase == PHASE_VERIFYING || t.phase == PHASE_REPAIRING)
			t.passed = job->verify->read;
	}
	return t;
}

/* Give each worker a queue; if the kernel refuses one, a single piece each. */
static void
enlist(struct job *job)
{
	const struct plan *p = job->p;
	size_t stride = job_stride(p);
	unsigned i;
	int err;

	job->workers = p->queues;
	for (i = 0; i < p->queues; i++) {
		job->worker[i].job = job;
		job->worker[i].buf = job->bufs + (size_t)i * p->slots * stride;
		job->worker[i].queue = ring_new(&job->worker[i],
		    job->worker[i].buf, stride,
		    p->slots, &err);
		if (job->worker[i].queue != NULL)
			continue;
		report_threads(p, err);
		while (i-- > 0) {
			ring_free(job->worker[i].queue);
			job->worker[i].queue = NULL;
		}
		job->workers = 0;
		break;
	}
	if (job->workers == 0)
		job_threads(job);
}

/*
 * Take over from the previous run what the user has set and what was recorded.
 */
static int
take_over(struct job *job, const struct plan *p, const struct outcome *before)
{
	const struct opts *o = p->opts;

	if (before != NULL) {
		job->before = before->tally;
		job->ioprio = before->ioprio;
		job->title = before->title;
		job->profile = before->profile;
		rate_set(&job->rate, before->rate);
		return 0;
	}
	job->ioprio = o->ioprio != NULL ? ioprio_parse(o->ioprio) : 0;
	rate_set(&job->rate, o->rate > 0 ? (uint64_t)o->rate : 0);
	return profile_new(&job->profile, p);
}

static int
job_init(struct job *job, const struct plan *p, const struct outcome *before,
    struct fault *f)
{
	int err;

	job->p = p;
	job->done = -1;
	err = take_over(job, p, before);
	job->halt = eventfd(0, EFD_CLOEXEC);
	if (job->halt >= 0)
		job->done = eventfd(0, EFD_CLOEXEC);
	if (job->done < 0)
		return fault_errno(f, errno, "eventfd");
	if (job_buffers(job, f) != 0)
		return -1;
	if (err != 0 || map_init(&job->map, p->length,
	    rate_piece(&job->rate, p, p->claim), p->phase) != 0)
		return fault_errno(f, ENOMEM, "the map of the copy");
	if (used_apply(p, &job->map) != 0)
		return fault_errno(f, ENOMEM, "the map of the copy");
	turn_init(&job->turn);
	pthread_mutex_init(&job->order, NULL);
	pthread_mutex_init(&job->first, NULL);
	enlist(job);
	return 0;
}

/* Maps and profile move into the outcome, so they are not freed here. */
static void
fill_in(struct outcome *out, struct job *job)
{
	const struct steps *steps = steps_of(job->p);
	unsigned i;

	out->map = job->map;
	out->profile = job->profile;
	out->fault = job->fault;
	out->flush = job->flush;
	out->unsaved = job->unsaved;
	out->doubt = job->doubt;
	out->gone = job->gone && !job->doubt;
	out->gone_at = job->gone_at;
	out->rate = job->rate.bytes;
	out->ioprio = job->ioprio;
	out->title = job->title;
	if (job->verify != NULL) {
		out->proven = job->verify->done;
		map_take(&out->differ, &job->verify->differ);
		for (i = 0; i < out->targets; i++) {
			out->each[i].proven = verify_proven(job, i);
			map_take(&out->each[i].differ,
			    &job->verify->column[i].differ);
		}
	}
	if (steps->fill_in != NULL)
		steps->fill_in(job, out);
}

static void
job_free(struct job *job)
{
	const struct steps *steps = steps_of(job->p);
	unsigned i;

	verify_free(job->verify);
	if (job->reads_back)
		endpoint_close(&job->back);
	if (steps->free != NULL)
		steps->free(job);
	for (i = 0; i < WORKERS_MOST; i++)
		ring_free(job->worker[i].queue);
	job_unbuffer(job);
	if (job->halt >= 0)
		close(job->halt);
	if (job->done >= 0)
		close(job->done);
	free(job);
}

/* Fill in what can be read while workers still run. */
static void
fill_in_left(struct outcome *out, struct job *job)
{
	const struct steps *steps = steps_of(job->p);

	out->abandoned = true;
	if (out->again)
		return;
	pthread_mutex_lock(&job->first);
	out->fault = job->fault;
	pthread_mutex_unlock(&job->first);
	if (steps->fill_in_left != NULL)
		steps->fill_in_left(job, out);
}

/* Whether this is a repetition of a signal already answered. */
static bool
is_echo(const struct job *job, const struct outcome *out, int signo)
{
	double since = clock_seconds() - job->signalled;

	return signo == out->signal &&
	    since < (signo == SIGHUP ? one_hangup : one_signal);
}

/* Answer pending signals; false: leave at once. */
static bool
answer(struct job *job, const struct signals *s, struct outcome *out,
    const struct tally *t)
{
	struct signalfd_siginfo si;

	while (read(s->fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGUSR1) {
			if (print_room())
				report_so_far(job->p, t);
			continue;
		}
		if (is_echo(job, out, (int)si.ssi_signo))
			continue;
		out->again = out->signal != 0;
		if (out->again)
			return false;
		out->signal = (int)si.ssi_signo;
		job->signalled = clock_seconds();
		job_stop(job);
		report_stopping(out->signal);
	}
	return true;
}

/* Whether requests in flight have had their time to return after the stop. */
static bool
overdue(struct job *job, const struct outcome *out)
{
	if (out->signal == 0)
		return rescue_overdue(job);
	return clock_seconds() - job->signalled > GRACE;
}

/* How long to sleep, in ms. */
static int
nap(const struct progress *pr, const struct events *ev, const struct job *job,
    double seconds)
{
	int a = progress_wait(pr, seconds), b = events_wait(ev, seconds);
	int most = job->verify != NULL || job->p->opts->maxtime >= 0 ? TICK :
	    LONG_TICK;

	most = a >= 0 && a < most ? a : most;
	return b >= 0 && b < most ? b : most;
}

/* Update the column of one of several targets. */
static void
tell_column(struct progress *pr, struct job *job, unsigned i)
{
	struct column *col = &job->verify->column[i];

	if (col->told || col->first == NOWHERE || !print_room())
		return;
	col->told = true;
	if ((job->p->opts->status & SHOW_NONE) == 0) {
		progress_clear(pr);
		report_differs(&job->p->each[i], col->first);
	}
}

/* Report at once that the target does not keep what is written to it. */
static void
tell_differs(struct progress *pr, struct job *job)
{
	struct verify *v = job->verify;
	unsigned i;

	for (i = 0; v != NULL && i < v->targets; i++)
		tell_column(pr, job, i);
	if (v == NULL || v->told || v->first == NOWHERE || !print_room())
		return;
	v->told = true;
	if ((job->p->opts->status & SHOW_NONE) == 0) {
		progress_clear(pr);
		report_differs(job->p, v->first);
	}
}

/* Report at once that one of several targets was dropped. */
static void
tell_dropped(struct progress *pr, struct events *ev, struct job *job)
{
	const struct plan *p = job->p;
	struct fault why;
	unsigned i;

	for (i = 0; p->targets > 1 && i < p->targets; i++) {
		if ((job->dropped & 1U << i) != 0 ||
		    !tee_dropped(p->dst, i, &why) || !print_room())
			continue;
		job->dropped |= 1U << i;
		events_dropped(ev, p, i, &why);
		if ((p->opts->status & SHOW_NONE) == 0) {
			progress_clear(pr);
			report_dropped(p, &why);
		}
	}
}

/* Report once that a head of the disk seems to be dead. */
static void
tell_pattern(struct progress *pr, struct events *ev, const struct job *job)
{
	const struct pattern *p = rescue_pattern(job->rescue);

	if (p == NULL || ev->patterned || !print_room())
		return;
	ev->patterned = true;
	events_pattern(ev, p);
	if ((job->p->opts->status & SHOW_NONE) == 0) {
		progress_clear(pr);
		report_pattern(job->p, p);
	}
}

/* Report that the copy waits for the source to cool, and when it goes on. */
static void
tell_warmth(struct progress *pr, struct job *job)
{
	bool warm = job->rate.paused;

	if (job->warm == warm || !print_room())
		return;
	job->warm = warm;
	if ((job->p->opts->status & SHOW_NONE) == 0) {
		progress_clear(pr);
		report_warmth(job->p, warm, job->celsius);
	}
}

static void
tell_title(struct job *job, const struct tally *t)
{
	const struct plan *p = job->p;

	if (!title_due(&job->title, t->seconds))
		return;
	title_set(&job->title, p->src->name, p->dst->name, t->whole == 0 ?
	    -1 : (double)t->passed / (double)t->whole);
}

static void
tell(struct progress *pr, struct events *ev, struct job *job,
    const struct tally *t)
{
	struct fault f;

	tell_dropped(pr, ev, job);
	tell_differs(pr, job);
	tell_pattern(pr, ev, job);
	tell_warmth(pr, job);
	progress_draw(pr, &job->map, t);
	tell_title(job, t);
	events_progress(ev, job->p, &job->map, t);
	while (print_room() && events_trouble(ev, &f)) {
		progress_clear(pr);
		report_fault(&f, job->p->opts);
	}
}

/* Wait until the lead has ended; false: workers are still running. */
static bool
conduct(struct job *job, const struct signals *s, struct events *ev,
    struct control *c, struct outcome *out, double start)
{
	struct progress progress;
	struct pollfd p[2 + CONTROL_POLLS] = {
		{ .fd = s->fd, .events = POLLIN },
		{ .fd = job->done, .events = POLLIN } };
	struct watch watch;
	struct tally t;
	bool stay = true;

	watch_begin(&watch, clock_seconds());
	t = tally(job, &watch, start);
	progress_begin(&progress, job->p, &t);
	while (stay && p[1].revents == 0) {
		control_polls(c, p + 2);
		if (poll(p, 2 + CONTROL_POLLS, nap(&progress, ev, job,
		    clock_seconds() - start)) < 0)
			continue;
		if (p[0].revents != 0) {
			progress_clear(&progress);
			t = tally(job, &watch, start);
			stay = answer(job, s, out, &t);
		}
		if (overdue(job, out))
			stay = false;
		t = tally(job, &watch, start);
		tell(&progress, ev, job, &t);
		control_serve(c, p + 2, job, &t);
	}
	tell_dropped(&progress, ev, job);
	tell_pattern(&progress, ev, job);
	out->tally = tally(job, &watch, start);
	progress_end(&progress, &out->tally);
	if (!stay)
		events_errors(ev, job->p, &job->map);
	return stay;
}

static void
tell_depth(const struct job *job, struct tally *t)
{
	unsigned i, reads, writes;

	for (i = 0; i < job->workers && job->worker[i].queue != NULL; i++) {
		ring_depth(job->worker[i].queue, &reads, &writes);
		t->in_flight_read += reads;
		t->in_flight_written += writes;
	}
}

/* Start the lead, in its own thread unless the copy is over in a moment. */
static int
begin_lead(struct job *job, struct fault *f)
{
	int err;

	if (job->p->alone) {
		lead_run(job);
		return 0;
	}
	err = pthread_create(&job->worker[0].thread, NULL, lead_run, job);
	return err == 0 ? 0 : fault_errno(f, err, "starting a worker");
}

/*
 * Nothing can be refused from here on: a refusal prints one line and no more.
 */
static int
start(struct job *job, bool again, struct fault *f)
{
	if (!again) {
		report_begin(job->p);
		job->before.had = map_totals(&job->map).finished;
	}
	thermometer_begin(job);
	return begin_lead(job, f);
}

static int
begin_ranges(struct job *job, struct fault *f)
{
	return ranges_begin(job) == 0 ? 0 : fault_errno(f, ENOMEM, "the map of "
	    "the copy");
}

/* Do everything that can fail before the target is touched. */
static int
begin(struct job *job, struct control *c, bool again, struct fault *f)
{
	const struct plan *p = job->p;
	const struct steps *steps = steps_of(p);

	if (control_open(c, p->opts, f) != 0)
		return -1;
	/* before any thread could read the environment */
	if (!p->bounded || p->length >= TITLED)
		title_begin(&job->title, p->opts->argc, p->opts->title);
	if ((steps->begin == NULL || steps->begin(job, f) == 0) &&
	    verify_begin(job, f) == 0 && begin_ranges(job, f) == 0 &&
	    start(job, again, f) == 0)
		return 0;
	control_close(c);
	return -1;
}

/*
 * One run of copy_run: a whole copy, or what "before" has left of a rescue.
 * The profile of "before" is used, and still belongs to it if this run does not
 * begin.
 */
static int
run(const struct plan *p, const struct signals *s, struct events *ev,
    const struct outcome *before, struct outcome *out, struct fault *f)
{
	struct job *job = calloc(1, sizeof(*job));
	double start = clock_seconds();
	struct control control;
	bool began;

	*out = (struct outcome){ .signal = 0 };
	if (p->targets > 1)
		out->each = calloc(p->targets, sizeof(*out->each));
	if (job == NULL || (p->targets > 1 && out->each == NULL)) {
		free(job);
		free(out->each);
		return fault_errno(f, ENOMEM, "a job");
	}
	out->targets = p->targets > 1 ? p->targets : 0;
	job->gone_at = NOWHERE;
	if (before != NULL)
		start -= before->tally.seconds;
	if (job_init(job, p, before, f) != 0 ||
	    begin(job, &control, before != NULL, f) != 0) {
		map_free(&job->map);
		if (before == NULL)
			gauge_free(job->profile);
		free(out->each);
		job_free(job);
		return -1;
	}
	if (!conduct(job, s, ev, &control, out, start))
		fill_in_left(out, job);
	control_close(&control);
	if (out->abandoned)
		return 0;
	if (!p->alone)
		pthread_join(job->worker[0].thread, NULL);
	thermometer_end(job);
	tell_depth(job, &out->tally);
	fill_in(out, job);
	began = job->began;
	turn_destroy(&job->turn);
	pthread_mutex_destroy(&job->order);
	pthread_mutex_destroy(&job->first);
	job_free(job);
	if (began)
		return 0;
	*f = out->fault;
	if (before != NULL)
		out->profile = NULL;
	outcome_free(out);
	return -1;
}

/*
 * The source is back: go on.  If that fails, its fault replaces the earlier
 * one, but the status cannot become a refusal any more.
 */
static void
go_on(const struct plan *p, const struct signals *s, struct events *ev,
    double start, struct outcome *out)
{
	int status = out->fault.status;
	struct outcome *next = malloc(sizeof(*next));

	out->tally.seconds = clock_seconds() - start;
	out->gone = false;
	if (next == NULL) {
		fault_errno(&out->fault, ENOMEM, "going on");
		return;
	}
	endpoint_go_on(p->dst);
	gauge_go_on(out->profile);
	if (run(p, s, ev, out, next, &out->fault) == 0) {
		out->profile = NULL;		/* now next's */
		outcome_free(out);
		*out = *next;
	} else if (out->fault.status == STATUS_REFUSED) {
		out->fault.status = status;
	}
	free(next);
}

int
copy_run(const struct plan *p, const struct signals *s, struct events *ev,
    struct outcome *out, struct fault *f)
{
	double start = clock_seconds();
	struct reattach await;

	reattach_begin(&await, p);
	if (run(p, s, ev, NULL, out, f) != 0)
		return -1;
	while (p->opts->wait >= 0 && out->gone && out->signal == 0 &&
	    out->flush.status == 0 && !out->abandoned &&
	    reattach_source(&await, p, s, ev, out))
		go_on(p, s, ev, start, out);
	if (!out->abandoned)
		events_errors(ev, p, &out->map);
	return 0;
}
