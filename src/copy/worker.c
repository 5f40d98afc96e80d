/*
 * The threads of a copy.  The lead, worker 0, starts the others, and all take
 * pieces until none is left.
 */
#include "copy/transfer.h"
#include "copy/worker.h"

#include "copy/ring.h"
#include "end/gauge.h"

/* Report a source that went away between two passes. */
static bool
fail_attach(struct job *job, const struct lane *lane, int err)
{
	struct fault f;

	lane_unattached(&f, lane, err);
	if (lane->ep == job->p->src && errno_is_gone(err))
		job->gone = true;
	job_fail(job, &f);
	return false;
}

static bool
attach(struct worker *w)
{
	struct job *job = w->job;
	const struct lane *lane = &w->src;
	int err = lane_attach(&w->src, job->p->src, job->p->src_off,
	    job->halt);

	if (err == 0) {
		lane = &w->dst;
		err = lane_attach(&w->dst, job->p->dst, job->p->dst_off,
		    job->halt);
		if (err != 0)
			lane_detach(&w->src);
	}
	if (err == 0 && job->reads_back) {
		lane = &w->back;
		err = lane_attach(&w->back, &job->back, job->p->dst_off,
		    job->halt);
		if (err != 0) {
			lane_detach(&w->src);
			lane_detach(&w->dst);
		}
	}
	if (err != 0)
		return fail_attach(job, lane, err);
	w->src.requests = &w->asked[SOURCE];
	w->dst.requests = w->back.requests = &w->asked[TARGET];
	gauge_lane(job->profile, (unsigned)(w - job->worker), &w->src);
	gauge_lane(job->profile, (unsigned)(w - job->worker), &w->dst);
	if (job->reads_back)
		gauge_lane(job->profile, (unsigned)(w - job->worker),
		    &w->back);
	return true;
}

/* Before a step: replace a buffer that a request has been left with. */
static bool
have_buffer(struct worker *w)
{
	struct fault f;
	int err = w->buf_in_use ? job_buffer_anew(w) : 0;

	w->buf_in_use = false;
	if (err == 0)
		return true;
	fault_errno(&f, err, "another buffer");
	job_fail(w->job, &f);
	return false;
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	const struct task *task = w->job->task;
	struct fault f;
	int err;

	if (!attach(w))
		return NULL;
	if (task->ring && w->queue != NULL)
		ring_work(w->queue);
	else
		while (have_buffer(w) && task->step(w))
			continue;
	transfer_settle(w, w->zone.off, w->zone.len, UNTRIED);
	w->zone.len = 0;
	lane_detach(&w->src);
	if (w->job->reads_back)
		lane_detach(&w->back);
	transfer_begin(w);
	err = lane_detach(&w->dst);
	if (err != 0) {
		w->job->doubt = true;
		fault_errno(&f, err, "%s: writing back",
		    w->job->p->dst->name);
		job_fail(w->job, &f);
	}
	transfer_end(w);
	return NULL;
}

void
workers_run(struct job *job, const struct task *task)
{
	unsigned n, i;

	job->phase = task->phase;
	job->task = task;
	for (n = 1; n < job->workers; n++)
		if (pthread_create(&job->worker[n].thread, NULL, work,
		    &job->worker[n]) != 0)
			break;		/* fewer will do */
	work(&job->worker[0]);
	for (i = 1; i < n; i++)
		pthread_join(job->worker[i].thread, NULL);
}
