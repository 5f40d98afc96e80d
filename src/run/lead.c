/*
 * The lead: the first worker's thread.  It prepares the target, has the workers
 * do the steps of the work (a copy, a rescue, a comparison, a check of the
 * source), and flushes.
 */
#include "conduct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>

#include "base/number.h"
#include "base/status.h"
#include "copy/elsewhere.h"
#include "copy/piece.h"
#include "copy/sparse.h"
#include "copy/trust.h"
#include "copy/worker.h"
#include "end/lane.h"
#include "open/tee.h"
#include "part/clone_table.h"
#include "part/used.h"
#include "rescue/mapsaver.h"
#include "rescue/rescue.h"
#include "verify/verify.h"
#include "view/view.h"

/*
 * --- rest= ------------------------------------------------------------------
 *
 * What lies behind the copy is cleared, so that no old signature or table is
 * found there.  It is no part of the copy: neither counted nor verified.
 */

enum {
	REST_STEP = 64 << 20,	/* bytes zeroed at a time: how long a signal
				 * has to wait */
	REST_WRITE = 1 << 20,	/* bytes written where nothing can be zeroed */
};

/* Zero some of it, or write zeros from buf.  Returns false with *f. */
static bool
rest_clear_some(struct lane *lane, uint64_t off, uint64_t *len, bool *writes,
    unsigned char *buf, struct fault *f)
{
	struct io io = { .op = *writes ? OP_WRITE : OP_ZERO, .buf = buf,
		.off = off };

	io.len = (size_t)MIN(*len, *writes ? REST_WRITE : REST_STEP);
	lane_transfer(lane, &io);
	if (io.err == EOPNOTSUPP && !*writes) {
		*writes = true;
		io.done = 0;
	} else if (io.err != 0 || io.done == 0) {
		lane_describe(f, lane, &io, "clearing the rest");
		return false;
	}
	*len = io.done;
	return true;
}

/* Clear that of one target.  Returns false with *f. */
static bool
rest_clear_target(struct job *job, const struct plan *p, struct fault *f)
{
	uint64_t end = (uint64_t)p->dst->geo.size, len;
	uint64_t off = end - plan_rest(p);
	unsigned char *buf = page_alloc(REST_WRITE);
	bool writes = false, ok;
	struct lane lane;
	int err;

	if (buf == NULL) {
		fault_errno(f, ENOMEM, "clearing the rest");
		return false;
	}
	memset(buf, 0, REST_WRITE);
	err = lane_attach(&lane, p->dst, 0, job->halt);
	ok = err == 0;
	if (!ok)
		lane_unattached(f, &lane, err);
	for (; ok && off < end && !job->stop; off += len) {
		len = end - off;
		ok = rest_clear_some(&lane, off, &len, &writes, buf, f);
		job->rest += ok ? len : 0;
	}
	if (err == 0)
		err = lane_detach(&lane);	/* the flush may not tell */
	if (ok && err != 0)
		fault_errno(f, err, "%s: clearing the rest", p->dst->name);
	free(buf);
	return err == 0 && ok;
}

/*
 * Zero the rest of each target; with rest=trim a device frees the blocks, too.
 * For the lead, once everything is copied, and before the flush.
 */
static void
rest_clear(struct job *job)
{
	const struct plan *p = job->p, *one;
	struct map_totals t = map_totals(&job->map);
	struct fault f;
	unsigned i;

	if (p->opts->rest == 0 || job->stop ||
	    t.untried + t.failed + t.claimed > 0)
		return;
	job->phase = PHASE_CLEARING;
	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		job->rest_whole += plan_rest(one);
	for (i = 0; (one = plan_each(p, i)) != NULL && !job->stop; i++)
		if (!tee_dropped(p->dst, i) && !rest_clear_target(job, one, &f))
			job_fail(job, &f);
}

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
	map_pass(&job->map, STALE);
	workers_run(job, &clearing);
	map_pass(&job->map, UNTRIED);
}

static void
step_copy(struct job *job)
{
	static const struct task copying = { .phase = PHASE_COPYING,
		.step = piece_copy, .ring = true };
	const struct plan *p = job->p;
	bool stream = p->verify == VERIFY_STREAM && p->targets == 1;

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

	if (trust_map(job->p, &job->map, mapsaver_stood(&job->rescue->mapsaver,
	    job->p), &job->stop, &a, f) != 0)
		return false;
	t = map_totals(&job->map);
	job->junk.errors = t.bad + t.failed > 0;
	junk_know(&job->junk, a.at, a.n, &a.last);
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

/* --- the lead ------------------------------------------------------------ */

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

/*
 * The least length of the target in bytes; 0 unless everything was written.
 * What is left out is not padded.
 */
static uint64_t
written_end(struct job *job)
{
	const struct plan *p = job->p;
	struct map_totals t = map_totals(&job->map);

	if (t.untried + t.claimed > 0 || t.end == 0)
		return 0;
	return p->dst_off + (map_at(&job->map, t.end - 1) == OUTSIDE ? t.end :
	    round_up(t.end, p->pad));
}

/*
 * Set the length of a target that ends in a hole, or in what a rescue could not
 * read.
 */
static void
lead_extend_target(struct job *job)
{
	const struct plan *p = job->p;
	struct map_totals t = map_totals(&job->map);
	uint64_t length = written_end(job);
	bool packs = p->dst->encoded != NULL && t.untried + t.claimed == 0;
	struct fault f;
	int err;

	if (!packs && (length == 0 || !(p->store == STORE_SPARSE || p->holes ||
	    p->used != NULL || steps_of(p)->gaps)))
		return;
	err = endpoint_extend(p->dst, length);
	if (err == 0)
		return;
	fault_errno(&f, err, packs ? "%s: writing the table behind %llu bytes" :
	    "%s: making it %llu bytes long", p->dst->name,
	    (unsigned long long)length);
	job_fail(job, &f);
}

/*
 * Whether everything was copied without a failed read, so a check is worth it.
 */
static bool
lead_all_copied(struct job *job)
{
	struct map_totals t = map_totals(&job->map);

	return t.untried + t.failed + t.bad == 0;
}

/* Check that both ends are still the same. */
static void
lead_check_ends(struct job *job)
{
	const struct endpoint *dst = job->p->dst;
	const struct steps *steps = steps_of(job->p);
	struct map_totals t = map_totals(&job->map);
	uint64_t end = steps->writes ? written_end(job) :
	    dst->is.device ? job->p->dst_off + t.end : 0;
	struct fault f;

	if (job_source_kept(job, &f) != 0 || (lead_all_copied(job) &&
	    used_kept(job->p, &f) != 0))
		job_fail(job, &f);
	/* it was read again */
	if (job->p->used != NULL && lead_all_copied(job))
		endpoint_drop_cache(job->p->src, job->p->src_off, t.end);
	if (end > 0 && endpoint_check_kept(dst, job->p->dst_off, end,
	    job_holes(job, t.end, t.finished), &f) != 0)
		job_fail(job, &f);
}

/* Flush the data written. */
static void
lead_flush(struct job *job)
{
	const struct plan *p = job->p;
	uint64_t end = map_totals(&job->map).end;
	struct seg left = { .off = end };

	job->phase = PHASE_FLUSHING;
	lead_extend_target(job);
	steps_of(p)->flush(job);
	if (job->flush.status != 0)
		job->flush.status = STATUS_NOT_FLUSHED;
	map_next(&job->map, 0, UNTRIED, &left);
	endpoint_drop_cache(p->src, p->src_off, left.off);
	endpoint_drop_cache(p->dst, p->dst_off, left.off == end ?
	    round_up(end, p->pad) : left.off);
}

/*
 * Bytes of the target's range that are holes, or may become spared holes:
 * between the writes past its end.
 */
static uint64_t
lead_hole_bytes(const struct plan *p)
{
	uint64_t to = p->dst_off + p->length;
	uint64_t size = p->dst->geo.size > 0 ? (uint64_t)p->dst->geo.size : 0;
	uint64_t beyond = p->store == STORE_DIFFERING && size < to ?
	    to - size : 0;

	return endpoint_holes(p->dst, p->dst_off, to) + beyond;
}

static bool
lead_begin(struct job *job, const struct steps *steps)
{
	const struct plan *p = job->p;
	struct fault f = { .status = 0 };

	if (!steps->writes)
		return true;
	endpoint_look_below(p->src, p->src_off, p->src_off + p->length);
	if (p->dst->spec.keeps)
		job->hole_bytes = lead_hole_bytes(p);
	if ((steps->trust == NULL || steps->trust(job, &f)) &&
	    (p->targets > 1 ? tee_prepare : endpoint_prepare)(p->dst, p->perm,
	    p->truncate, &f) == 0)
		return true;
	if (f.status != 0)		/* else it was stopped */
		job_fail(job, &f);
	return false;
}

/* Write the table of each target that has all of the copy. */
static void
lead_write_tables(struct job *job)
{
	const struct plan *p = job->p, *one;
	struct map_totals t = map_totals(&job->map);
	struct fault f;
	unsigned i;

	if (p->opts->table == 0 || job->stop || job->flush.status != 0 ||
	    t.untried + t.failed + t.claimed > 0)
		return;
	job->phase = PHASE_FLUSHING;
	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		if (tee_dropped(p->dst, i) == NULL &&
		    (job->verify == NULL ||
		    map_totals(&job->verify->target[i].differ).bad == 0) &&
		    clone_table_write(one->table, one->dst,
		    p->verify != 0, &f) != 0)
			job_fail(job, &f);
}

/* Open job->back, if the plan wants it; the target must exist. */
static void
lead_reads_back(struct job *job)
{
	struct fault f;

	if (!job->p->reads_back)
		return;
	if (endpoint_readback(&job->back, job->p->dst, READ_BACK_MOST, &f) != 0)
		job_fail(job, &f);
	else
		job->reads_back = true;
}

/* The target may be empty by now, so whatever fails is told as of a copy. */
static void
lead_work(struct job *job, const struct steps *steps)
{
	bool packs = job->p->dst->encoded != NULL;

	if (!packs)
		lead_reads_back(job);
	endpoint_ahead(job->p->src, &job->map, job->p->src_off);
	viewer_begin(job);
	steps->run(job);
	endpoint_ahead(job->p->src, NULL, 0);
	rest_clear(job);
	if (steps->writes)
		lead_flush(job);
	/* what is packed can be unpacked once it is complete */
	if (packs && !job->stop)
		lead_reads_back(job);
	if (job->verify != NULL) {
		job_threads(job);
		verify_run(job);
	}
	lead_write_tables(job);
	lead_check_ends(job);
	viewer_end(job->p->view);
	if (job->p->view != NULL)
		job->rescue->reader = -1;
}

void *
lead_run(void *arg)
{
	struct job *job = arg;
	const struct steps *steps = steps_of(job->p);

	job->began = lead_begin(job, steps);
	if (job->began)
		lead_work(job, steps);
	eventfd_write(job->done, 1);
	return NULL;
}
