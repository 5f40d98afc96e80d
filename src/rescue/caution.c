/*
 * What errors have taught: a pass that skips reads little at a time, and with
 * one worker only; the first pass does so for a while after an error, where
 * errors are frequent, and where one is expected.
 */
#include "caution.h"

#include <sys/param.h>

#include "base/clock.h"
#include "pass.h"

enum {
	CLUSTER = 64 << 10,	/* bytes of a piece between known errors */
	WARY = 256 << 10,	/* bytes of a piece where errors are rare */
	MARK = 1 << 20,		/* bytes that are trimmed as one range */
	SMALL_PART = 1000,	/* 1/SMALL_PART of the disk */
	SEEK = 4,		/* pieces read at a time for each seek */
};

static const double slow_read = 1.0;	/* s: leave an area as slow as this */
static const double hint_least = .01;	/* seconds */
static const double wary_for = 60;	/* multiple of the time that an error
					 * took */

/* How many bytes the first pass has covered. */
static uint64_t
gone_over(struct job *job)
{
	uint64_t at = map_cursor(&job->map);

	return pass_backwards(job, job->rescue->pass) ? job->p->length - at :
	    at;
}

uint64_t
caution_way(const struct job *job, const struct seg *seg)
{
	return pass_backwards(job, job->rescue->pass) ?
	    job->p->length - seg->off - seg->len : seg->off;
}

uint64_t
caution_run(struct job *job)
{
	struct rescue *r = job->rescue;

	return !pass_is_first(r->pass) || pass_backwards(job, r->pass) ?
	    UINT64_MAX : course_foretells(&r->course, map_cursor(&job->map));
}

/* Whether all workers together could read as far as that. */
static bool
near_run(struct job *job)
{
	uint64_t run = caution_run(job);

	return run != UINT64_MAX && run - map_cursor(&job->map) <=
	    (uint64_t)job->p->chunk * job->p->workers;
}

bool
caution_alone(struct job *job)
{
	struct rescue *r = job->rescue;
	const struct pass *pass = r->pass;

	if (pass->how != COPY || pass->skip == NO_SKIP || job->p->workers == 1)
		return false;
	if (job->p->opts->minrate > 0)	/* in parallel all would be slow */
		return true;
	return !pass_is_first(pass) || !r->begun ||
	    clock_seconds() < r->wary_until ||
	    course_piece(&r->course, gone_over(job), WARY) < WARY ||
	    near_run(job);
}

/*
 * How much may be lost by one failed read: a small part of the disk, a power of
 * two, in bytes.
 */
static size_t
part_most(const struct job *job)
{
	size_t n = WARY;

	while (n < MARK && n * 2 <= job->p->length / SMALL_PART)
		n *= 2;
	return n;
}

size_t
caution_piece(struct job *job)
{
	struct rescue *r = job->rescue;
	size_t n = job->p->chunk, part = part_most(job);

	if (job->p->opts->bpt < 0 && part < n && part % job->p->block == 0)
		n = part;
	if (pass_is_first(r->pass))
		n = course_piece(&r->course, gone_over(job), n);
	else
		n = MIN(n, CLUSTER);
	return rate_piece(&job->rate, job->p, n);
}

/* Skip as much after a piece as course.c says. */
static void
caution_jump(struct job *job, const struct seg *seg)
{
	uint64_t n = course_bad(&job->rescue->course, caution_way(job, seg),
	    seg->len);

	if (n == 0)
		return;
	if (!pass_backwards(job, job->rescue->pass))
		map_skip_to(&job->map, seg->off + seg->len + n);
	else
		map_skip_to(&job->map, seg->off - MIN(seg->off, n));
}

void
caution_after(struct rescue *r, double seconds)
{
	double until = clock_seconds() + seconds * wary_for;

	if (until > r->wary_until)
		r->wary_until = until;
}

void
caution_skip(struct job *job, const struct seg *seg, double seconds)
{
	struct rescue *r = job->rescue;
	uint64_t most = job->p->length / 100;

	caution_after(r, seconds);
	if (r->pass->skip == COURSE)
		caution_jump(job, seg);
	else if (r->pass->skip == GAP)
		map_leave(&job->map, seg);
	else if (r->pass->skip == AHEAD)
		map_skip(&job->map, seg, CLUSTER, most > CLUSTER ? most :
		    CLUSTER);
}

double
caution_patience(const struct rescue *r)
{
	return slow_read > 2 * r->longest ? slow_read : 2 * r->longest;
}

double
caution_hint(const struct rescue *r)
{
	double s = r->longest > 0 ? r->longest / 4 : slow_read;

	return s > hint_least ? s : hint_least;
}

bool
caution_slow(const struct job *job, uint64_t bytes, double seconds)
{
	return seconds > slow_read ||
	    (double)bytes < (double)job->p->opts->minrate * seconds;
}

size_t
caution_mark(const struct job *job)
{
	return pass_is_first(job->rescue->pass) ? part_most(job) : WARY;
}

size_t
caution_of_gap(struct job *job)
{
	size_t n = course_piece(&job->rescue->course, job->p->length,
	    MIN(WARY, job->p->chunk));

	return job->rescue->rotates ? MIN(n * SEEK, job->p->chunk) : n;
}

void
caution_left(struct job *job, const struct seg *stuck)
{
	caution_skip(job, stuck, job->rescue->seats > 1 ?
	    caution_hint(job->rescue) : slow_read);
}
