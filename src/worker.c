/*
 * The threads of a copy: the lead, which is worker 0, starts the others, and
 * all take pieces until the map has none left.  The lead then flushes.
 */
#include "job.h"

#include <errno.h>
#include <unistd.h>

#include "back.h"
#include "compare.h"
#include "keeper.h"
#include "number.h"
#include "piece.h"
#include "profile.h"
#include "queue.h"
#include "rescue.h"
#include "share.h"
#include "status.h"
#include "verify.h"

/* A source that goes between two passes is met here before it is read. */
static bool
fail_attach(struct job *job, const struct endpoint *ep, int err)
{
	struct fault f;

	fault_errno(&f, err, "%s: starting a worker", ep->name);
	if (ep == job->p->src && errno_is_gone(err))
		job->gone = true;
	job_fail(job, &f);
	return false;
}

static bool
attach(struct worker *w)
{
	struct job *job = w->job;
	const struct endpoint *ep = job->p->src;
	int err = lane_attach(&w->src, job->p->src, job->halt);

	if (err == 0) {
		ep = job->p->dst;
		err = lane_attach(&w->dst, job->p->dst, job->halt);
		if (err != 0)
			lane_detach(&w->src);
	}
	if (err == 0 && job->reads_back) {
		ep = &job->back;
		err = lane_attach(&w->back, &job->back, job->halt);
		if (err != 0) {
			lane_detach(&w->src);
			lane_detach(&w->dst);
		}
	}
	if (err != 0)
		return fail_attach(job, ep, err);
	profile_lane(job->profile, (unsigned)(w - job->worker), &w->src);
	profile_lane(job->profile, (unsigned)(w - job->worker), &w->dst);
	if (job->reads_back)
		profile_lane(job->profile, (unsigned)(w - job->worker),
		    &w->back);
	return true;
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct fault f;
	int err;

	if (!attach(w))
		return NULL;
	if (w->job->step == NULL)
		queue_work(w->queue);
	else
		while (w->job->step(w))
			continue;
	lane_detach(&w->src);
	if (w->job->reads_back)
		lane_detach(&w->back);
	err = lane_detach(&w->dst);
	if (err != 0) {
		w->job->doubt = true;
		fault_errno(&f, err, "%s: writing back",
		    w->job->p->dst->name);
		job_fail(w->job, &f);
	}
	return NULL;
}

/* Where the target ends at least; 0 unless all was written to it. */
static uint64_t
written_end(struct job *job)
{
	const struct plan *p = job->p;
	struct map_totals t = map_totals(&job->map);

	if (t.untried + t.claimed > 0 || t.end == 0)
		return 0;
	return p->dst_off + round_up(t.end, p->pad);
}

/* A hole at the end, or what a rescue could not read there. */
static void
extend(struct job *job)
{
	const struct plan *p = job->p;
	uint64_t length = written_end(job);
	struct fault f;
	int err;

	if (length == 0 || !(p->sparse || p->holes || job->rescue != NULL) ||
	    p->dst->be->extend == NULL)
		return;
	err = p->dst->be->extend(p->dst, length);
	if (err == 0)
		return;
	fault_errno(&f, err, "%s: making it %llu bytes long", p->dst->name,
	    (unsigned long long)length);
	job_fail(job, &f);
}

static void
keep(struct job *job)
{
	const struct endpoint *dst = job->p->dst;
	uint64_t length = written_end(job);
	struct fault f;

	if (length > 0 && dst->be->kept != NULL &&
	    dst->be->kept(dst, length, &f) != 0)
		job_fail(job, &f);
}

/* What was written, and then the map of it. */
static void
save(struct job *job)
{
	struct fault f;

	if (keeper_save(job, &f) == 0 && keeper_find(job, &f) == 0)
		return;
	if (f.status == STATUS_NOT_FLUSHED)
		job->flush = f;
	else
		job->unsaved = f;
}

/* Put what was written on the medium. */
static void
finish(struct job *job)
{
	const struct plan *p = job->p;
	uint64_t end = map_totals(&job->map).end;
	struct seg left = { .off = end };

	job->phase = PHASE_FLUSHING;
	extend(job);
	if (job->rescue != NULL)
		save(job);
	else if (p->opts->sync != 0)
		endpoint_flush(p->dst, &job->flush);
	if (job->flush.status != 0)
		job->flush.status = STATUS_NOT_FLUSHED;
	map_next(&job->map, 0, UNTRIED, &left);
	if (p->src->be->leave != NULL)
		p->src->be->leave(p->src, p->src_off, left.off);
	if (p->dst->be->leave != NULL)
		p->dst->be->leave(p->dst, p->dst_off, left.off == end ?
		    round_up(end, p->pad) : left.off);
}

/* All workers, until the map has nothing left for them. */
static void
all_work(struct job *job)
{
	unsigned n, i;

	for (n = 1; n < job->workers; n++)
		if (pthread_create(&job->worker[n].thread, NULL, work,
		    &job->worker[n]) != 0)
			break;		/* fewer will do */
	work(&job->worker[0]);
	for (i = 1; i < n; i++)
		pthread_join(job->worker[i].thread, NULL);
}

static void
lead(struct job *job)
{
	const unsigned verify = job->p->opts->verify;

	job->step = job->worker[0].queue != NULL ? NULL :
	    job->rescue != NULL ? rescue_piece :
	    verify == VERIFY_STREAM ? verify_behind : piece_copy;
	if (job->rescue != NULL)
		rescue_run(job, all_work);
	else {
		if (job->p->reflink)
			share_run(job);
		all_work(job);
	}
	finish(job);
	if (verify != 0) {
		job_threads(job);
		verify_run(job, all_work);
	}
	keep(job);
}

/* The target is there and can be written, and read back if that is wanted. */
static bool
prepare(struct job *job)
{
	const struct plan *p = job->p;

	return endpoint_prepare(p->dst, p->mode, p->truncate,
	    &job->fault) == 0 && back_open(job, &job->fault) == 0;
}

void *
worker_lead(void *arg)
{
	static const uint64_t one = 1;
	struct job *job = arg;

	job->began = job->compare != NULL || prepare(job);
	if (job->compare != NULL)
		compare_run(job, all_work);
	else if (job->began)
		lead(job);
	while (write(job->done, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	return NULL;
}
