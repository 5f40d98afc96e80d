/*
 * The lead: the first worker's thread.  It prepares the target, has all workers
 * do what the run asks for, and then flushes.
 */
#include "run/lead.h"

#include <errno.h>
#include <unistd.h>

#include "base/number.h"
#include "base/status.h"
#include "copy/piece.h"
#include "copy/reflink.h"
#include "copy/sparing.h"
#include "copy/sparse.h"
#include "copy/trust.h"
#include "copy/worker.h"
#include "end/tee.h"
#include "part/used.h"
#include "rescue/mapsaver.h"
#include "rescue/rescue.h"
#include "verify/compare.h"
#include "verify/verify.h"

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

	if (length == 0 || !(p->sparse || p->holes || p->used != NULL ||
	    job->rescue != NULL))
		return;
	err = endpoint_extend(p->dst, length);
	if (err == 0)
		return;
	fault_errno(&f, err, "%s: making it %llu bytes long", p->dst->name,
	    (unsigned long long)length);
	job_fail(job, &f);
}

/* Bytes that may be holes of the target; of a rescue's runs before: any. */
static uint64_t
holes(struct job *job)
{
	return job->rescue != NULL ? UINT64_MAX :
	    job->zeroed + job->shared + job->spared +
	    map_totals(&job->map).outside;
}

/* All is there, and no read of it failed: asking again is worth it. */
static bool
whole(struct job *job)
{
	struct map_totals t = map_totals(&job->map);

	return t.untried + t.claimed + t.failed + t.bad == 0;
}

/* Both ends are what they were. */
static void
keep(struct job *job)
{
	const struct endpoint *dst = job->p->dst;
	uint64_t end = job->compare == NULL ? written_end(job) :
	    dst->is.device ? job->p->dst_off + map_totals(&job->map).end : 0;
	struct fault f;

	if (job_source_kept(job, &f) != 0 || (whole(job) &&
	    used_kept(job->p, &f) != 0))
		job_fail(job, &f);
	if (end > 0 && endpoint_check_kept(dst, job->p->dst_off, end,
	    holes(job), &f) != 0)
		job_fail(job, &f);
}

/* What was written, and then the map of it. */
static void
save(struct job *job)
{
	struct fault f;

	if (mapsaver_save(job, &f) == 0 && mapsaver_find(job, &f) == 0)
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
		job_flush(job, &job->flush);
	if (job->flush.status != 0)
		job->flush.status = STATUS_NOT_FLUSHED;
	map_next(&job->map, 0, UNTRIED, &left);
	endpoint_drop_cache(p->src, p->src_off, left.off);
	endpoint_drop_cache(p->dst, p->dst_off, left.off == end ?
	    round_up(end, p->pad) : left.off);
}

/* What is left out reads as zeros. */
static void
clear(struct job *job)
{
	static const struct task clearing = { .phase = PHASE_COPYING,
		.step = sparse_clear };

	map_pass(&job->map, OUTSIDE, false);
	workers_run(job, &clearing);
	map_pass(&job->map, UNTRIED, false);
}

static void
lead(struct job *job)
{
	static const struct task copying = { .phase = PHASE_COPYING,
		.step = piece_copy, .ring = true };
	const unsigned verify = job->p->opts->verify;

	if (job->rescue != NULL) {
		rescue_run(job);
	} else {
		if (job->p->used != NULL && job->p->used->clears)
			clear(job);
		if (job->p->reflink)
			reflink_run(job);
		workers_run(job, verify == VERIFY_STREAM && job->p->targets ==
		    1 ? &verify_streaming : &copying);
	}
	finish(job);
	if (verify != 0) {
		job_threads(job);
		verify_run(job);
	}
}

/* The target is there and can be written, and read back if that is wanted. */
static bool
prepare(struct job *job)
{
	const struct plan *p = job->p;

	return (p->targets > 1 ? tee_prepare : endpoint_prepare)(p->dst,
	    p->mode, p->truncate, &job->fault) == 0 &&
	    sparing_open(job, &job->fault) == 0;
}

/* What the map calls finished is there, as far as can be seen. */
static bool
trusted(struct job *job)
{
	struct map_totals t;
	struct agreed a;
	size_t i;

	if (job->rescue == NULL)
		return true;
	if (trust_map(job->p, &job->map, &job->stop, &a, &job->fault) != 0)
		return false;
	t = map_totals(&job->map);
	job->rescue->zeros.sick = t.bad + t.failed > 0;
	for (i = 0; i < a.n; i++)
		zeros_know(&job->rescue->zeros, a.at[i]);
	return true;
}

void *
lead_run(void *arg)
{
	static const uint64_t one = 1;
	struct job *job = arg;

	job->began = job->compare != NULL || (trusted(job) && prepare(job));
	if (job->compare != NULL)
		compare_run(job);
	else if (job->began)
		lead(job);
	if (job->began)
		keep(job);
	while (write(job->done, &one, sizeof(one)) < 0 && errno == EINTR)
		continue;
	return NULL;
}
