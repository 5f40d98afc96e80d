/*
 * The kinds of work: a copy, a rescue, a comparison, a check of the source.
 */
#include "steps.h"

#include "base/status.h"
#include "copy/elsewhere.h"
#include "copy/piece.h"
#include "copy/sparse.h"
#include "copy/trust.h"
#include "copy/worker.h"
#include "part/used.h"
#include "rescue/mapsaver.h"
#include "rescue/rescue.h"
#include "verify/verify.h"

/* --- a copy, and a check, which is one to nowhere ------------------------- */

/* Zero what is left out, but may have old data. */
static void
step_clear(struct job *job)
{
	static const struct task clearing = { .phase = PHASE_COPYING,
		.step = sparse_clear };
	struct seg any;

	if (!map_next(&job->map, 0, STALE, &any))
		return;
	map_pass(&job->map, STALE, false);
	workers_run(job, &clearing);
	map_pass(&job->map, UNTRIED, false);
}

static void
step_copy(struct job *job)
{
	static const struct task copying = { .phase = PHASE_COPYING,
		.step = piece_copy, .ring = true };
	const struct plan *p = job->p;
	bool stream = p->opts->verify == VERIFY_STREAM && p->targets == 1;

	step_clear(job);
	if (p->reflink)
		reflink_run(job);
	workers_run(job, stream ? &verify_streaming : &copying);
	elsewhere_last(&job->worker[0]);
}

static void
step_flush(struct job *job)
{
	if (job->p->opts->sync != 0)
		job_flush(job, &job->flush);
}

/* --- a rescue ------------------------------------------------------------ */

/*
 * Check that what the map calls finished is there, as far as this can be seen.
 */
static bool
rescue_trust(struct job *job, struct fault *f)
{
	struct map_totals t;
	struct agreed a;
	size_t i;

	if (trust_map(job->p, &job->map, mapsaver_stood(&job->rescue->mapsaver,
	    job->p), &job->stop, &a, f) != 0)
		return false;
	t = map_totals(&job->map);
	job->junk.errors = t.bad + t.failed > 0;
	for (i = 0; i < a.n; i++)
		junk_know(&job->junk, &a.at[i]);
	return true;
}

static void
step_rescue(struct job *job)
{
	mapsaver_start(job);
	step_clear(job);
	rescue_run(job);
	mapsaver_stop(job);
}

/* Flush the data written, and then save the map. */
static void
rescue_flush(struct job *job)
{
	struct fault f;

	if (mapsaver_save(job, &f) == 0 && mapsaver_find(job, &f) == 0)
		return;
	if (f.status == STATUS_NOT_FLUSHED)
		job->flush = f;
	else
		job->unsaved = f;
}

/* The map has the state of the rescue, whichever run has done the work. */
static void
rescue_tally(struct job *job, const struct map_totals *map, struct tally *t)
{
	t->order = (enum order)job->rescue->order;
	t->whole = map->end - map->outside;
	t->passed = t->finished;
}

static void
rescue_left(struct job *job, struct outcome *out)
{
	const struct mapsaver *ms = &job->rescue->mapsaver;

	if (ms->settled)
		out->unsaved = ms->unsaved;
	else
		fault_set(&out->unsaved, STATUS_NOT_FLUSHED, "that takes too "
		    "long");
}

static void
rescue_end(struct job *job)
{
	if (job->rescue != NULL && !job->began)
		mapsaver_forget(&job->rescue->mapsaver, job->p);
	rescue_free(job->rescue);
}

/* --- a comparison -------------------------------------------------------- */

static void
compare_tally(struct job *job, const struct map_totals *map, struct tally *t)
{
	(void)map;
	t->passed = t->verified = job->compare->compared;
	t->differing = map_totals(&job->compare->differ).bad;
}

static void
compare_fill_in(struct job *job, struct outcome *out)
{
	out->longer = job->compare->longer;
	map_take(&out->target[0].differ, &job->compare->differ);
}

static void
compare_end(struct job *job)
{
	compare_free(job->compare);
}

/* ------------------------------------------------------------------------- */

const struct steps *
steps_of(const struct plan *p)
{
	static const struct steps all[] = {
		[WORK_COPY] = { .writes = true, .run = step_copy, .flush =
		    step_flush },
		[WORK_RESCUE] = { .writes = true, .gaps = true,
			.begin = rescue_begin, .trust = rescue_trust,
			.run = step_rescue, .flush = rescue_flush,
			.tally = rescue_tally, .fill_in_left = rescue_left,
			.free = rescue_end },
		[WORK_COMPARE] = { .begin = compare_begin, .run = compare_run,
			.tally = compare_tally, .fill_in = compare_fill_in,
			.free = compare_end },
		[WORK_CHECK] = { .writes = true, .run = step_copy, .flush =
		    step_flush },
	};

	return &all[p->work];
}
