/*
 * Rescue.  The map is worked through in passes.  Each takes the ranges with one
 * status and gives them another; passes that yield most data per error come
 * first:
 *
 *	copy	?  ->  +, or * for the rest of a failed read; after one, a part
 *		       is skipped (course.c)
 *	gaps	?  ->  the same for what was skipped, largest gap first, from
 *		       good data to the first error; then in the middle of
 *		       gaps between errors (gaps.c)
 *	trim	*  ->  single blocks, from ends next to good data to the first
 *		       bad one (-), and / for what lies between
 *	midst	/  ->  + or - for a block in the middle of a large range, and +
 *		       or * for what lies next to a good one
 *	skim	/  ->  block by block, + or -, skipping ahead after errors
 *	midst	?  ->  the same as for /
 *	scrape	/  ->  block by block, all of it
 *	sweep	?  ->  what is left, probably dead; then trimmed and scraped
 *	retry	-  ->  block by block, in alternating directions
 *	fill	what is left is overwritten as fill= says; its status stays
 *
 * A block here is what fails as a whole: a physical block of the disk.
 *
 * rescue_piece.c does the work on a piece; mapsaver.c saves the map meanwhile.
 */
#include "rescue/rescue.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/status.h"
#include "copy/transfer.h"
#include "copy/worker.h"
#include "disk/disk.h"
#include "part/used.h"
#include "pass.h"
#include "rescue/liveness.h"
#include "rescue/mapsaver.h"

/*
 * Each row: what ddrescue calls it; the status that it takes; what it does with
 * a piece; whether it goes backwards; what it skips; phase and number in the
 * map's file; whether it leaves nothing for later passes.
 */
static const struct pass passes[] = {
	{ "Copying non-tried blocks... Pass 1 (forwards)", UNTRIED, COPY,
	    false, COURSE, '?', 1, false },
	{ "Copying non-tried blocks... Pass 2 (backwards)", UNTRIED, COPY,
	    true, ENDS, '?', 2, false },
	{ "Copying non-tried blocks... Pass 3 (forwards)", UNTRIED, COPY,
	    false, INNER, '?', 3, false },
	{ "Trimming failed blocks... (forwards)", UNTRIMMED, TRIM, false,
	    NO_SKIP, '*', 1, false },
	{ "Scraping failed blocks... (forwards)", UNSCRAPED, COPY, false,
	    MIDST, '/', 1, false },
	{ "Trimming failed blocks... (forwards)", UNTRIMMED, TRIM, false,
	    NO_SKIP, '*', 1, false },
	{ "Scraping failed blocks... (forwards)", UNSCRAPED, SKIM, false,
	    AHEAD, '/', 1, false },
	{ "Scraping failed blocks... (backwards)", UNSCRAPED, SKIM, true,
	    GAP, '/', 1, false },
	{ "Copying non-tried blocks... Pass 3 (forwards)", UNTRIED, COPY,
	    false, MIDST, '?', 3, false },
	{ "Trimming failed blocks... (forwards)", UNTRIMMED, TRIM, false,
	    NO_SKIP, '*', 1, false },
	{ "Scraping failed blocks... (forwards)", UNSCRAPED, SCRAPE, false,
	    NO_SKIP, '/', 1, false },
	{ "Copying non-tried blocks... Pass 4 (forwards)", UNTRIED, COPY,
	    false, AHEAD, '?', 4, true },
	{ "Copying non-tried blocks... Pass 5 (forwards)", UNTRIED, COPY,
	    false, NO_SKIP, '?', 5, true },
	{ "Trimming failed blocks... (forwards)", UNTRIMMED, TRIM, false,
	    NO_SKIP, '*', 1, true },
	{ "Scraping failed blocks... (forwards)", UNSCRAPED, SKIM, false,
	    AHEAD, '/', 1, true },
	{ "Scraping failed blocks... (backwards)", UNSCRAPED, SKIM, true,
	    GAP, '/', 1, true },
	{ "Scraping failed blocks... (forwards)", UNSCRAPED, SCRAPE, false,
	    NO_SKIP, '/', 1, true },
};

static const struct pass retries[] = {
	{ "Retrying bad sectors... (forwards)", BAD, SCRAPE, false, NO_SKIP,
	    '-', 1, true },
	{ "Retrying bad sectors... (backwards)", BAD, SCRAPE, true, NO_SKIP,
	    '-', 2, true },
};

static const struct pass fills[] = {
	{ "Filling what was not read", UNTRIED, FILL, false, NO_SKIP,
	    'F', 1, true },
	{ "Filling what was not read", UNTRIMMED, FILL, false, NO_SKIP,
	    'F', 1, true },
	{ "Filling what was not read", UNSCRAPED, FILL, false, NO_SKIP,
	    'F', 1, true },
	{ "Filling what was not read", BAD, FILL, false, NO_SKIP,
	    'F', 1, true },
};

static const struct pass over = { "Finished", FINISHED, COPY, false, NO_SKIP,
	'+', 1, true };

enum { AREA = 256 << 10 };	/* bytes; errors closer together are one area */

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/*
 * A disk with physical blocks of 4096 bytes and logical ones of 512 loses eight
 * of these together, and tries equally long for each.
 */
static void
know_disk(struct rescue *r, const struct plan *p)
{
	struct disk d;
	bool known = endpoint_disk(p->src, &d);
	uint32_t n = known ? d.physical : 0;

	r->unit = p->block;
	if (n > p->block && n % p->block == 0 && p->chunk % n == 0)
		r->unit = n;
	r->unit_off = ((known ? d.start : 0) + p->src_off) % r->unit;
	r->rotates = known && d.rotates;
	r->seats = known && !d.rotates ? SEATS : 1;
}

/* used=: begin with the first class. */
static int
begin_order(struct rescue *r, struct job *job)
{
	unsigned word = job->p->opts->used;

	if ((word & (USED_FIRST | USED_META)) == 0)
		return 0;
	r->order = (word & USED_META) != 0 ? ORDER_META : ORDER_USED;
	return used_order(job->p, &job->map);
}

/*
 * Count what failed in earlier runs as areas; ranges that one piece of the
 * first pass would cover count as one.
 */
static int
resume_course(struct rescue *r, struct map *map)
{
	struct seg *seg;
	size_t n = map_copy(map, &seg), i;
	uint64_t areas = 0, beyond = 0;

	if (seg == NULL)
		return ENOMEM;
	for (i = 0; i < n; i++)
		if ((seg[i].status == BAD || seg[i].status == UNTRIMMED ||
		    seg[i].status == UNSCRAPED) && seg[i].off >= beyond) {
			areas++;
			beyond = seg[i].off + seg[i].len + AREA;
		}
	free(seg);
	course_resume(&r->course, areas);
	return 0;
}

/* Until a pass begins it is where the map says; a new map says nothing. */
static void
note_place(struct rescue *r)
{
	const struct mapfile *m = &r->mapsaver.file;

	if (!r->mapsaver.made)
		r->loaded = (struct place){ m->pos, m->phase, m->pass };
}

int
rescue_begin(struct job *job, struct fault *f)
{
	struct rescue *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	job->rescue = r;
	r->mapsaver.quit = r->mapsaver.told = -1;
	r->mapsaver.lock = r->mapsaver.dir = -1;
	r->pass = &passes[0];
	course_begin(&r->course, job->p->length);
	r->start = clock_seconds() - job->before.seconds;
	know_disk(r, job->p);
	gaps_begin(&r->gaps, r->rotates ? 2 : 4);	/* slow seeks */
	liveness_begin(&r->liveness);
	flight_init(&r->flight);
	exclusive_init(&r->exclusive, r->seats);
	if (mapsaver_begin(&r->mapsaver, job, f) != 0)
		return -1;
	note_place(r);
	return resume_course(r, &job->map) == 0 &&
	    begin_order(r, job) == 0 ? 0 :
	    fault_errno(f, ENOMEM, "%s", job->p->opts->map);
}

void
rescue_free(struct rescue *r)
{
	if (r == NULL)
		return;
	gaps_end(&r->gaps);
	course_end(&r->course);
	liveness_end(&r->liveness);
	flight_destroy(&r->flight);
	exclusive_destroy(&r->exclusive);
	mapsaver_free(&r->mapsaver);
	free(r);
}

/*
 * Whether the loaded map was past this pass already.  Untried ranges in a map
 * that was being trimmed or scraped belong to the last passes.
 */
static bool
behind_us(const struct mapfile *m, const struct pass *pass)
{
	if (pass->phase != '?')
		return false;
	return m->phase == '?' ? pass->number < m->pass :
	    !pass->last && pass->skip != MIDST &&
	    (m->phase == '*' || m->phase == '/');
}

/* Whether the pass reads what the others have given up. */
static bool
pass_sweeps(const struct pass *pass)
{
	return pass->how == COPY && pass->last;
}

static bool
rescue_wanted(const struct job *job, const struct pass *pass)
{
	unsigned words = job->p->opts->rescue;

	if (pass_sweeps(pass) && (words & RESCUE_NOSWEEP) != 0)
		return false;
	if (pass->how == TRIM && (words & RESCUE_NOTRIM) != 0)
		return false;
	if (pass->from == UNSCRAPED &&
	    (words & RESCUE_NOSCRAPE) != 0)
		return false;
	return !behind_us(&job->rescue->mapsaver.file, pass);
}

static enum phase
phase_of(const struct pass *pass)
{
	static const enum phase phases[] = {
		[COPY] = PHASE_COPYING,
		[TRIM] = PHASE_TRIMMING,
		[SKIM] = PHASE_SCRAPING,
		[SCRAPE] = PHASE_SCRAPING,
		[FILL] = PHASE_FILLING,
	};

	return pass->from == BAD && pass->how == SCRAPE ? PHASE_RETRYING :
	    phases[pass->how];
}

/* The pass in which the loaded map stopped continues from there, once. */
static void
rescue_go_on(struct job *job, const struct pass *pass)
{
	struct mapfile *m = &job->rescue->mapsaver.file;
	int number = pass_number(job, pass);

	if (m->phase != pass->phase || (m->phase != '?' && m->phase != '-'))
		return;
	if (m->phase == '-' ? m->pass % 2 == number % 2 : m->pass == number)
		if (m->pos > job->p->src_off)
			map_begin_at(&job->map, m->pos - job->p->src_off);
	m->pos = 0;
}

/* Which gaps without a good end the pass takes. */
static enum inner
inner_of(const struct pass *pass)
{
	return pass->skip == ENDS ? NO_INNER : pass->skip == MIDST ?
	    EACH_INNER : HOPEFUL_INNER;
}

static void
run_pass(struct job *job, const struct pass *pass)
{
	const struct task task = { .phase = phase_of(pass),
		.step = rescue_piece };
	struct seg any;

	if (job->stop || !map_next(&job->map, 0, pass->from, &any))
		return;
	if (pass->from == BAD && pass_too_many(job))
		return;
	pass_enter(job->rescue, pass);
	map_pass(&job->map, pass->from, pass_backwards(job, pass));
	if (!pass_by_size(pass))
		rescue_go_on(job, pass);
	else if (gaps_fill(&job->rescue->gaps, &job->map, pass->from,
	    inner_of(pass)) != 0)
		transfer_fail_map(job);
	workers_run(job, &task);
}

/*
 * Retries alternate from the direction of the last one; their count starts
 * again.
 */
static void
rescue_retry(struct job *job)
{
	struct rescue *r = job->rescue;
	int64_t i, first = r->mapsaver.file.phase == '-' &&
	    r->mapsaver.file.pass % 2 == 0 ? 1 : 0;

	for (i = 0; i < job->p->opts->retries && !job->stop; i++) {
		r->retry = (int)(first + i + 1);
		run_pass(job, &retries[(first + i) % 2]);
	}
}

/* Once the ends of bad areas are known, a dead head may become visible. */
static void
look_for_pattern(struct job *job)
{
	struct rescue *r = job->rescue;

	/* deferred parts would break the pattern */
	if (r->order != ORDER_NONE && r->order != ORDER_REST)
		return;
	if (!r->patterned && pattern_find(&job->map, &r->pattern))
		r->patterned = true;
}

const struct pattern *
rescue_pattern(const struct rescue *r)
{
	return r != NULL && r->patterned ? &r->pattern : NULL;
}

static void
run_passes(struct job *job)
{
	size_t i;

	for (i = 0; i < COUNT(passes); i++) {
		if (!rescue_wanted(job, &passes[i]))
			continue;
		run_pass(job, &passes[i]);
		if (passes[i].how == TRIM)
			look_for_pattern(job);
	}
}

/*
 * The source is gone: the next run continues in the pass, and at the place, of
 * the first error that is perhaps not the medium's.
 */
static void
turn_back(struct job *job)
{
	struct rescue *r = job->rescue;
	const struct pass *pass = r->liveness.pass;

	if (!job->gone && !r->liveness.lost)
		return;
	if (r->liveness.bads > r->liveness.proved &&
	    (pass != r->pass || r->retry != r->liveness.retry)) {
		pass_enter(r, pass);
		r->retry = r->liveness.retry;
		map_pass(&job->map, pass->from, pass_backwards(job, pass));
		map_begin_at(&job->map, pass_backwards(job, pass) ? 1 :
		    job->p->length - 1);
	}
	liveness_forgive(job);
	junk_forgive(job);
}

static void
fail_late(struct job *job)
{
	struct fault f;

	fault_set(&f, STATUS_UNREADABLE, "stopped after maxtime=%lld seconds",
	    (long long)job->p->opts->maxtime);
	job_fail(job, &f);
}

bool
rescue_overdue(struct job *job)
{
	struct rescue *r = job->rescue;

	if (r == NULL || !pass_too_long(job, 0))
		return false;
	pass_stop_late(job);
	if (!r->late || !pass_too_long(job, GRACE))
		return false;
	fail_late(job);
	return true;
}

/* Without the sweep, the next run continues there. */
static void
begin_sweep(struct job *job)
{
	const struct pass *pass = passes;

	while (!pass_sweeps(pass))
		pass++;
	pass_enter(job->rescue, pass);
	map_pass(&job->map, pass->from, pass_backwards(job, pass));
}

/* Being late does not matter if everything was done. */
static void
come_to_end(struct job *job)
{
	struct map_totals t = map_totals(&job->map);
	bool done = t.finished + t.outside == t.end;

	if (atomic_exchange(&job->rescue->end, OVER) == LATE &&
	    (!done || job->p->opts->verify != 0))
		fail_late(job);
	if (done || !job->stop)
		pass_enter(job->rescue, &over);
	if (!job->stop && (job->p->opts->rescue & RESCUE_NOSWEEP) != 0 &&
	    t.untried > 0)
		begin_sweep(job);
}

/* Run all passes over the current class. */
static void
run_class(struct job *job)
{
	struct rescue *r = job->rescue;
	struct seg any;

	run_passes(job);
	if (!job->stop && (job->p->opts->rescue & RESCUE_NOSWEEP) == 0 &&
	    map_next(&job->map, 0, UNTRIED, &any)) {
		r->mapsaver.file.phase = '+';	/* another class may lie before
						 * it */
		run_passes(job);
	}
}

/*
 * Give everything with the status "from" the status "to": defer it, or resume
 * it.
 */
static void
rescue_turn(struct job *job, enum seg_status from, enum seg_status to)
{
	if (map_change(&job->map, 0, job->p->length, from, to) != 0)
		transfer_fail_map(job);
}

/* Whether there is anything to do for some pass. */
static bool
any_left(struct job *job)
{
	static const enum seg_status left[] = { UNTRIED, UNTRIMMED,
		UNSCRAPED };
	struct seg any;
	size_t i;

	for (i = 0; i < COUNT(left); i++)
		if (map_next(&job->map, 0, left[i], &any))
			return true;
	return false;
}

/* Choose the next class with used=; false if there is none. */
static bool
next_class(struct job *job)
{
	struct rescue *r = job->rescue;
	int err = 0;

	if (job->stop || r->order == ORDER_NONE || r->order == ORDER_REST)
		return false;
	rescue_turn(job, UNTRIED, ASIDE);		/* left over by
						 * rescue=nosweep */
	r->order++;
	if (r->order == ORDER_DEEP)
		err = used_order_anew(job->p, &job->map);
	else if (r->order == ORDER_USED)
		rescue_turn(job, LATER, UNTRIED);
	else
		rescue_turn(job, LAST, UNTRIED);
	if (err != 0)
		transfer_fail_map(job);
	return true;
}

/* Run all passes for one class after another. */
static void
run_classes(struct job *job)
{
	struct rescue *r = job->rescue;
	bool any;

	do {
		any = any_left(job);
		run_class(job);
		if (any && r->order != ORDER_NONE)
			r->mapsaver.file.phase = '+';
	} while (next_class(job));
	if (r->order == ORDER_NONE)
		return;
	rescue_turn(job, ASIDE, UNTRIED);
	rescue_turn(job, LATER, UNTRIED);
	rescue_turn(job, LAST, UNTRIED);
}

void
rescue_run(struct job *job)
{
	size_t i;

	run_classes(job);
	rescue_retry(job);
	liveness_last(&job->worker[0]);
	for (i = 0; job->p->opts->fill != NULL && i < COUNT(fills); i++)
		run_pass(job, &fills[i]);
	come_to_end(job);
	turn_back(job);
}
