/*
 * The main thread.  It makes the job, starts the lead, and waits for its end
 * (conduct.c).  It moves no data, except in a copy so short that it is the lead
 * itself (plan.c).
 */
#include "run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ioprio.h"
#include "base/status.h"
#include "conduct.h"
#include "copy/ranges.h"
#include "copy/worker.h"
#include "part/used.h"
#include "report/profile.h"
#include "report/report.h"
#include "run/reattach.h"
#include "verify/verify.h"
#include "view/view.h"

enum { TITLED = 4 << 20 };	/* bytes; less is over before ps(1) runs */

/* Give each worker a queue; if the kernel refuses one, a single piece each. */
static void
run_enlist(struct job *job)
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
		    job->worker[i].buf, stride, p->slots, &err);
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

/* Take over the user's settings and the records of the previous run. */
static int
run_take_over(struct job *job, const struct plan *p,
    const struct outcome *before)
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
	err = run_take_over(job, p, before);
	job->halt = eventfd(0, EFD_CLOEXEC);
	if (job->halt >= 0)
		job->done = eventfd(0, EFD_CLOEXEC);
	if (job->done < 0)
		return fault_errno(f, errno, "eventfd");
	if (job_buffers(job, f) != 0)
		return -1;
	if (err != 0 || map_init(&job->map, p->length, plan_claim(p,
	    rate_piece(&job->rate, p, p->claim)), plan_phase(p)) != 0)
		return fault_errno(f, ENOMEM, "the map of the copy");
	if (used_apply(p, &job->map) != 0)
		return fault_errno(f, ENOMEM, "the map of the copy");
	turn_init(&job->turn);
	turn_pass(&job->turn, job_next_turn(job, 0));
	if (junk_begin(&job->junk, p->opts->coe != 0 ||
	    p->opts->map != NULL) != 0)
		return fault_errno(f, ENOMEM, "what is doubtful");
	pthread_mutex_init(&job->order, NULL);
	pthread_mutex_init(&job->first, NULL);
	run_enlist(job);
	return 0;
}

/* Maps and profile move into the outcome, so they are not freed here. */
static void
run_fill_outcome(struct outcome *out, struct job *job)
{
	const struct steps *steps = steps_of(job->p);

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
	if (job->verify != NULL)
		verify_results(job, out->target);
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
	if (out->again != 0)
		return;
	pthread_mutex_lock(&job->first);
	out->fault = job->fault;
	pthread_mutex_unlock(&job->first);
	if (steps->fill_in_left != NULL)
		steps->fill_in_left(job, out);
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
run_start(struct job *job, bool again, struct fault *f)
{
	if (!again) {
		job->before.had = map_totals(&job->map).finished;
		report_begin(job->p, job->p->work == WORK_RESCUE &&
		    job->before.had > 0);
	}
	thermometer_begin(job);
	if (begin_lead(job, f) == 0)
		return 0;
	job_stop(job);			/* ends the thermometer */
	thermometer_end(job);
	return -1;
}

/*
 * Open the files of the run.  Their file system may not answer, so at first a
 * signal ends the program, as before the run.
 */
static int
run_open(struct job *job, struct control *c, bool again, struct fault *f)
{
	const struct steps *steps = steps_of(job->p);
	const struct opts *o = job->p->opts;
	bool killed = !again && (o->control != NULL || o->map != NULL), open;

	if (killed)
		signals_let();
	open = control_open(c, o, f) == 0;
	if (open && steps->begin != NULL && steps->begin(job, f) != 0) {
		control_close(c);
		open = false;
	}
	if (killed)
		signals_block();
	return open ? 0 : -1;
}

/* Do everything that can fail before the target is touched. */
static int
run_begin(struct job *job, struct control *c, bool again, struct fault *f)
{
	const struct plan *p = job->p;

	if (run_open(job, c, again, f) != 0)
		return -1;
	/* before any thread could read the environment */
	if (!p->bounded || p->length >= TITLED)
		title_begin(&job->title, p->opts->argc, p->opts->title);
	if (verify_begin(job, f) == 0) {
		if (ranges_begin(job) != 0)
			fault_errno(f, ENOMEM, "the map of the copy");
		else if (run_start(job, again, f) == 0)
			return 0;
	}
	control_close(c);
	return -1;
}

static int
begin_outcome(struct outcome *out, const struct plan *p, struct fault *f)
{
	*out = (struct outcome){ .signal = 0 };
	out->target = calloc(p->targets, sizeof(*out->target));
	if (out->target == NULL)
		return fault_errno(f, ENOMEM, "the outcome");
	out->targets = p->targets;
	return 0;
}

/* Free a job that did not begin; the profile of "before" stays its own. */
static void
run_undo(struct job *job, const struct outcome *before, struct outcome *out)
{
	map_free(&job->map);
	if (before == NULL)
		gauge_free(job->profile);
	free(job->junk.held);
	free(out->target);
	job_free(job);
}

/*
 * The workers have ended: fill in the outcome, and free the job.  Returns 0, or
 * -1 with *f if the target was not touched.
 */
static int
run_end(struct job *job, const struct outcome *before, struct outcome *out,
    struct fault *f)
{
	bool began;

	if (!job->p->alone)
		pthread_join(job->worker[0].thread, NULL);
	thermometer_end(job);
	tell_depth(job, &out->tally);
	run_fill_outcome(out, job);
	began = job->began;
	turn_destroy(&job->turn);
	junk_end(&job->junk);
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
 * One run of copy_run: a whole copy, or what "before" has left of a rescue.
 * The profile of "before" is used, and still belongs to it if this run does not
 * begin.
 */
static int
run_once(const struct plan *p, const struct signals *s, struct events *ev,
    const struct outcome *before, struct outcome *out, struct fault *f)
{
	struct job *job = calloc(1, sizeof(*job));
	struct conductor c = { .job = job, .signals = s, .events = ev,
		.out = out, .start = clock_seconds() };

	if (job == NULL)
		return fault_errno(f, ENOMEM, "a job");
	if (begin_outcome(out, p, f) != 0) {
		free(job);
		return -1;
	}
	job->gone_at = NOWHERE;
	if (before != NULL)
		c.start -= before->tally.seconds;
	if (job_init(job, p, before, f) != 0 ||
	    run_begin(job, &c.control, before != NULL, f) != 0) {
		run_undo(job, before, out);
		return -1;
	}
	if (!conduct(&c))
		fill_in_left(out, job);
	control_close(&c.control);
	return out->abandoned ? 0 : run_end(job, before, out, f);
}

/*
 * The source is back: continue.  If that fails, its fault replaces the earlier
 * one, but the status can no longer become a refusal.
 */
static void
run_go_on(const struct plan *p, const struct signals *s, struct events *ev,
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
	if (run_once(p, s, ev, out, next, &out->fault) == 0) {
		out->profile = NULL;		/* now next's */
		outcome_free(out);
		*out = *next;
	} else if (out->fault.status == STATUS_REFUSED) {
		out->fault.status = status;
		out->refused = true;
	}
	free(next);
}

/* Wait for the source, while view= shows what is there. */
static bool
run_back(const struct plan *p, const struct signals *s, struct events *ev,
    struct reattach *await, struct outcome *out)
{
	bool is;

	viewer_await(p->view, &out->map);
	is = reattach_source(await, p, s, ev, out);
	viewer_end(p->view);
	return is;
}

/* With wait=, go on as often as the source is back. */
static void
run_await(const struct plan *p, const struct signals *s, struct events *ev,
    struct reattach *await, struct outcome *out)
{
	double began = clock_seconds() - out->tally.seconds;

	while (out->gone && out->signal == 0 && out->flush.status == 0 &&
	    !out->abandoned && run_back(p, s, ev, await, out))
		run_go_on(p, s, ev, began, out);
}

/* For how long the machine has slept since it started, in seconds. */
static double
machine_slept(void)
{
	double awake = clock_seconds();
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9 - awake;
}

int
copy_run(const struct plan *p, const struct signals *s, struct events *ev,
    struct outcome *out, struct fault *f)
{
	/* not on the stack, which may be small */
	struct reattach *await = p->opts->wait < 0 ? NULL :
	    malloc(sizeof(*await));
	double slept = machine_slept();
	int failed;

	if (p->opts->wait >= 0 && await == NULL)
		return fault_errno(f, ENOMEM, "wait=");
	if (await != NULL)
		reattach_begin(await, p);
	failed = run_once(p, s, ev, NULL, out, f);
	if (failed == 0 && await != NULL)
		run_await(p, s, ev, await, out);
	if (failed == 0 && !out->abandoned) {
		viewer_finish(p->view);
		out->tally.view = viewer_count(p->view);
	}
	if (failed == 0)
		out->tally.slept = machine_slept() - slept;
	if (failed == 0 && !out->abandoned)
		events_errors(ev, p, &out->map);
	free(await);
	return failed;
}
