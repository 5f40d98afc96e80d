/*
 * The threads of a copy.  The lead, worker 0, starts the others, and all take
 * pieces until none is left.  Fewer are enough if no more threads can be
 * started, also for the arms of a lane (tee_lane.c); so the lead attaches its
 * lanes first.
 */
#include "copy/transfer.h"
#include "copy/worker.h"

#include <errno.h>
#include <sys/mman.h>

#include "end/gauge.h"

/* Report a source that disappeared between two passes. */
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

/* Attach the lanes of a worker: all of them, or none. */
static bool
worker_attach(struct worker *w)
{
	struct job *job = w->job;
	const struct plan *p = job->p;
	const struct {
		struct lane	*lane;
		struct endpoint	*ep;
		uint64_t	 origin;
		enum role	 role;
	} all[] = {
		{ &w->src, p->src, p->src_off, SOURCE },
		{ &w->dst, p->dst, p->dst_off, TARGET },
		{ &w->back, &job->back, p->dst_off, TARGET },
	};
	size_t n = job->reads_back ? 3 : 2, i, k;
	int err;

	for (i = 0; i < n; i++) {
		err = lane_attach(all[i].lane, all[i].ep, all[i].origin,
		    job->halt);
		if (err != 0) {
			for (k = 0; k < i; k++)
				lane_detach(all[k].lane);
			return (err != EAGAIN || w == &job->worker[0]) &&
			    fail_attach(job, all[i].lane, err);
		}
		all[i].lane->requests = &w->asked[all[i].role];
		gauge_lane(job->profile, (unsigned)(w - job->worker),
		    all[i].lane);
	}
	return true;
}

/* A request that never returned may still use the old one. */
static int
worker_new_buffer(struct worker *w)
{
	void *buf = mmap(NULL, job_stride(w->job->p), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buf == MAP_FAILED)
		return errno;
	w->buf = buf;
	return 0;
}

/* Before a step: replace a buffer that a request has kept. */
static bool
have_buffer(struct worker *w)
{
	struct fault f;
	int err = w->buf_in_use ? worker_new_buffer(w) : 0;

	w->buf_in_use = false;
	if (err == 0)
		return true;
	fault_errno(&f, err, "another buffer");
	job_fail(w->job, &f);
	return false;
}

/* Do the task, and detach. */
static void
worker_loop(struct worker *w)
{
	const struct task *task = w->job->task;
	struct fault f;
	int err;

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
		fault_errno(&f, err, "%s: writing back", w->job->p->dst->name);
		job_fail(w->job, &f);
	}
	transfer_end(w);
}

static void *
worker_thread(void *arg)
{
	struct worker *w = arg;

	if (worker_attach(w))
		worker_loop(w);
	return NULL;
}

void
workers_run(struct job *job, const struct task *task)
{
	unsigned n, i;

	job->phase = task->phase;
	job->task = task;
	if (!worker_attach(&job->worker[0]))
		return;
	for (n = 1; n < job->workers; n++)
		if (pthread_create(&job->worker[n].thread, NULL, worker_thread,
		    &job->worker[n]) != 0)
			break;
	worker_loop(&job->worker[0]);
	for (i = 1; i < n; i++)
		pthread_join(job->worker[i].thread, NULL);
}
