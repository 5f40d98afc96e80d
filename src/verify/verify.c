/*
 * Verify.  During the copy, piece.c records a digest of each chunk that is
 * written.  After the flush all workers go through the table, one entry at a
 * time, and read the target back past the caches (sparing.c):
 *
 *	check	the digest is the same: RIGHT, else DIFFERS
 *	mend	the source is read again and gets a new digest; the target is
 *		rewritten, flushed, and checked again
 *
 * For both see verify_check.c.  Differences are narrowed down to logical blocks
 * by rereading the source.  If it cannot be read again (a pipe, random bytes),
 * they are neither narrowed down nor mended. verify=source compares the target
 * with the source itself; the digests then serve for what cannot be read again.
 *
 * With verify=stream a worker that looks for work may instead check data
 * written before.  The entries are in four parts, whose boundaries only grow:
 *
 *	0 .. begun	are checked, or being checked
 *	begun .. ready	can be: they were written, and flushed after that
 *	ready .. low	are written; flushed after a LOT of bytes or a beat
 *	low ..		still to be written, or being written
 *
 * A third of the workers may check, so that the others keep both ends busy; all
 * of them, once the check is more than LAG behind.  The rest is checked after
 * the copy, as without "stream".
 *
 *	s	verify->lock, held for a few instructions; takes digests.lock
 *		and map.lock, which are leaves
 */
#include "verify/verify.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/status.h"
#include "copy/piece.h"
#include "copy/ranges.h"
#include "copy/worker.h"
#include "open/tee.h"
#include "verify_check.h"

enum {
	LOT = 64 << 20,		/* bytes worth a flush */
	LOT_LEAST = 8 << 20,
	LOTS = 16,		/* at least, so that little is left at the
				 * end */
	LAG = 256 << 20,	/* bytes */
};

static const double beat = 1.0;	/* seconds */

/* Make the table and the maps.  Returns 0 or ENOMEM. */
static int
make_tables(struct verify *v, const struct plan *p)
{
	unsigned i;

	if (digest_table_init(&v->digests, p->bounded ? p->length : 0,
	    p->claim, p->phase, ranges_by(p)) != 0)
		return ENOMEM;
	for (i = 0; i < v->targets; i++) {
		v->target[i].first = NOWHERE;
		if (map_init(&v->target[i].differ, INT64_MAX, p->claim,
		    0) != 0)
			return ENOMEM;
	}
	return 0;
}

int
verify_begin(struct job *job, struct fault *f)
{
	const struct plan *p = job->p;
	struct verify *v;

	if (p->opts->verify == 0)
		return 0;
	v = calloc(1, sizeof(*v) + p->targets * sizeof(v->target[0]));
	if (v == NULL)
		return fault_errno(f, ENOMEM, "the digests of the copy");
	v->targets = p->targets;
	v->flushed = clock_seconds();
	pthread_mutex_init(&v->lock, NULL);
	if (make_tables(v, p) != 0) {
		verify_free(v);
		return fault_errno(f, ENOMEM, "the digests of the copy");
	}
	job->digests = &v->digests;
	job->verify = v;
	return 0;
}

void
verify_free(struct verify *v)
{
	unsigned i;

	if (v == NULL)
		return;
	digest_table_free(&v->digests);
	for (i = 0; i < v->targets; i++)
		map_free(&v->target[i].differ);
	pthread_mutex_destroy(&v->lock);
	free(v);
}

uint64_t
verify_right(struct job *job)
{
	struct verify *v = job->verify;
	uint64_t least = UINT64_MAX;
	unsigned i;

	for (i = 0; i < v->targets; i++)
		if (tee_dropped(job->p->dst, i) == NULL &&
		    v->target[i].right < least)
			least = v->target[i].right;
	return least == UINT64_MAX ? 0 : least;
}

uint64_t
verify_differing(struct job *job)
{
	struct verify *v = job->verify;
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < v->targets; i++)
		sum += map_totals(&v->target[i].differ).bad;
	return sum;
}

/* Whether everything on a target was checked, as far as it is alike. */
static bool
verify_proven(struct job *job, unsigned target)
{
	struct verify *v = job->verify;
	struct checked *of = &v->target[target];

	return v->done && tee_dropped(job->p->dst, target) == NULL &&
	    (map_totals(&of->differ).bad > 0 || of->right + v->masked ==
	    round_up(map_totals(&job->map).end, job->p->pad));
}

void
verify_results(struct job *job, struct result *target)
{
	struct verify *v = job->verify;
	unsigned i;

	for (i = 0; i < v->targets; i++) {
		target[i].unread = v->target[i].unread;
		target[i].proven = verify_proven(job, i);
		map_take(&target[i].differ, &v->target[i].differ);
	}
}

/* ----------------------------------------------------------- after the copy */

static void
verify_pass(struct job *job, const struct task *task)
{
	job->verify->next = 0;
	job->verify->read = 0;
	workers_run(job, task);
}

/* Whether the copy went far enough for a check to make sense. */
static bool
verify_worthwhile(struct job *job)
{
	struct map_totals t = map_totals(&job->map);

	return !job->stop && job->flush.status == 0 &&
	    t.untried + t.claimed == 0;
}

static void
verify_flush(struct job *job)
{
	job->phase = PHASE_FLUSHING;
	if (job_flush(job, &job->flush) != 0)
		job->flush.status = STATUS_NOT_FLUSHED;
}

void
verify_run(struct job *job)
{
	static const struct task checking = { .phase = PHASE_VERIFYING,
		.step = verify_check_next };
	static const struct task repairing = { .phase = PHASE_REPAIRING,
		.step = verify_mend_next };
	struct verify *v = job->verify;
	int64_t left = job->p->dst->is.zoned ? 0 : job->p->opts->mends;
	uint64_t end = round_up(map_totals(&job->map).end, job->p->pad);
	struct fault f;
	int err;

	if (!verify_worthwhile(job))
		return;
	err = digest_table_end(&v->digests, end);
	if (err != 0) {
		fault_errno(&f, err, "the digests of the copy");
		job_fail(job, &f);
		return;
	}
	verify_pass(job, &checking);
	while (v->differing > 0 && left-- > 0 && verify_repeatable(job->p) &&
	    !job->stop) {
		verify_pass(job, &repairing);
		verify_flush(job); /* even if stopped: data was rewritten */
		if (job->stop || job->flush.status != 0)
			return;
		verify_pass(job, &checking);
	}
	v->done = !job->stop;
}

/* ------------------------------------------------------ during the copy */

/* s: whether a worker may check, and finds something to check. */
static bool
may_check(const struct job *job, const struct verify *v)
{
	unsigned usual = job->p->workers / 3 > 0 ? job->p->workers / 3 : 1;
	bool late = (v->low - v->begun) * job->p->claim > LAG;

	return v->begun < v->ready && (late || v->checking < usual);
}

/* Bytes per flush, and by how much the check is behind at the end. */
static uint64_t
verify_lot(const struct plan *p)
{
	uint64_t n = p->bounded ? p->length / LOTS : LOT;

	return n < LOT_LEAST ? LOT_LEAST : n < LOT ? n : LOT;
}

/* s: whether it is time to flush. */
static bool
may_flush(const struct job *job, const struct verify *v)
{
	return !v->flushing && v->low > v->ready &&
	    ((v->low - v->ready) * job->p->claim >= verify_lot(job->p) ||
	    clock_seconds() - v->flushed >= beat);
}

/*
 * s: advance over chunks written meanwhile, except one that is still growing.
 */
static void
raise_low(struct job *job, struct verify *v)
{
	uint64_t border = UINT64_MAX;
	struct check c;
	struct seg s;

	if (!digest_table_at(&v->digests, v->low, &c))
		return;
	if (map_next(&job->map, c.off, CLAIMED, &s))
		border = s.off;
	if (map_next(&job->map, c.off, UNTRIED, &s) && s.off < border)
		border = s.off;
	while (digest_table_at(&v->digests, v->low, &c) && c.whole &&
	    c.off + c.len <= border)
		v->low++;
}

static bool
flush_behind(struct job *job, size_t upto)
{
	struct verify *v = job->verify;
	struct fault f;
	bool ok = job_flush(job, &f) == 0;

	pthread_mutex_lock(&v->lock);
	v->flushing = false;
	v->flushed = clock_seconds();
	if (ok)
		v->ready = upto;
	pthread_mutex_unlock(&v->lock);
	if (!ok) {
		f.status = STATUS_NOT_FLUSHED;
		job->doubt = true;
		job_fail(job, &f);
	}
	return ok;
}

static bool
check_behind(struct worker *w, size_t i)
{
	struct verify *v = w->job->verify;
	struct check c;
	bool more = digest_table_at(&v->digests, i, &c) &&
	    verify_check(w, i, &c);

	pthread_mutex_lock(&v->lock);
	v->checking--;
	pthread_mutex_unlock(&v->lock);
	return more;
}

static bool
work_behind(struct worker *w)
{
	struct job *job = w->job;
	struct verify *v = job->verify;
	size_t i = 0;
	enum { COPY, CHECK, FLUSH } todo = COPY;

	pthread_mutex_lock(&v->lock);
	raise_low(job, v);
	if (may_check(job, v)) {
		todo = CHECK;
		i = v->begun++;
		v->checking++;
	} else if (may_flush(job, v)) {
		todo = FLUSH;
		i = v->low;
		v->flushing = true;
	}
	pthread_mutex_unlock(&v->lock);
	if (job->stop || todo == COPY)
		return piece_copy(w);
	return todo == CHECK ? check_behind(w, i) : flush_behind(job, i);
}

const struct task verify_streaming = { .phase = PHASE_COPYING,
	.step = work_behind };
