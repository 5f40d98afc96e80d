/*
 * Rescue.  What is unread is read in the order that gaps.c says, by workers
 * that take a piece each (rescue_piece.c), until nothing is left but blocks
 * that cannot be read:
 *
 *	?	untried
 *	*	a read that failed; its ends are still to be found
 *	/	what lies between its bad ends
 *	-	a bad block
 *	+	finished
 *
 * With used= that is done for one class after another.  Then retries= reads the
 * bad blocks again, in alternating directions, and what is left is overwritten
 * as fill= says; its status stays.
 *
 * A block here is what fails as a whole: a physical block of the disk.
 *
 * mapsaver.c saves the map meanwhile.
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

static const struct pass retries[] = {
	{ "Retrying bad sectors... (forwards)", BAD, '-', 1, false },
	{ "Retrying bad sectors... (backwards)", BAD, '-', 2, true },
};

static const struct pass fills[] = {
	{ "Filling what was not read", UNTRIED, 'F', 1, false },
	{ "Filling what was not read", UNTRIMMED, 'F', 1, false },
	{ "Filling what was not read", UNSCRAPED, 'F', 1, false },
	{ "Filling what was not read", BAD, 'F', 1, false },
};

static const struct pass over = { "Finished", FINISHED, '+', 1, false };

enum {
	FIRST_LEAST = 256 << 10,	/* bytes of a piece before an error, */
	FIRST_MOST = 1 << 20,	/* a power of two, */
	FIRST_PART = 1000,	/* 1/FIRST_PART of the disk */
};

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/*
 * How much may be lost by the first failed read: a small part of the disk, a
 * power of two, in bytes; as bpt= says, if it does.
 */
static size_t
first_piece(const struct plan *p)
{
	size_t n = FIRST_LEAST;

	while (n < FIRST_MOST && n * 2 <= p->length / FIRST_PART)
		n *= 2;
	return p->opts->bpt < 0 && n % p->block == 0 ? n : p->chunk;
}

/*
 * A disk with physical blocks of 4096 bytes and logical ones of 512 loses eight
 * of these together, and tries equally long for each.
 */
static void
know_disk(struct rescue *r, struct job *job)
{
	const struct plan *p = job->p;
	struct disk d;
	bool known = endpoint_disk(p->src, &d);
	uint32_t n = known ? d.physical : 0;

	r->unit = p->block;
	if (n > p->block && n % p->block == 0 && p->chunk % n == 0)
		r->unit = n;
	r->rotates = known && d.rotates;
	gaps_begin(&r->gaps, &job->map, r->unit, ((known ? d.start : 0) +
	    p->src_off) % r->unit, first_piece(p));
	exclusive_init(&r->exclusive, known && !d.rotates ? SEATS : 1);
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
	r->mapsaver.lock = r->mapsaver.dir = r->reader = -1;
	r->pass = &pass_reading;
	atomic_flag_clear(&r->looked);
	r->start = clock_seconds() - job->before.seconds;
	know_disk(r, job);
	liveness_begin(&r->liveness);
	flight_init(&r->flight);
	if (mapsaver_begin(&r->mapsaver, job, f) != 0)
		return -1;
	note_place(r);
	return begin_order(r, job) == 0 ? 0 :
	    fault_errno(f, ENOMEM, "%s", job->p->opts->map);
}

void
rescue_free(struct rescue *r)
{
	if (r == NULL)
		return;
	gaps_end(&r->gaps);
	liveness_end(&r->liveness);
	flight_destroy(&r->flight);
	exclusive_destroy(&r->exclusive);
	mapsaver_free(&r->mapsaver);
	free(r);
}

/* Have all workers do what the pass says. */
static void
run_pass(struct job *job, const struct pass *pass, enum phase phase)
{
	const struct task task = { .phase = phase, .step = rescue_piece };
	struct rescue *r = job->rescue;
	const struct gaps_fill what = { .bad = pass->from == BAD,
		.backwards = pass->backwards != ((job->p->opts->rescue &
		    RESCUE_REVERSE) != 0),
		.given_up = pass == &pass_sweeping,
		.words = job->p->opts->rescue };

	if (job->stop || pass_too_many(job))
		return;
	pass_enter(r, pass);
	map_pass(&job->map, pass->from);
	if (phase != PHASE_FILLING && gaps_fill(&r->gaps, &what) != 0)
		transfer_fail_map(job);
	workers_run(job, &task);
	if (map_change(&job->map, 0, job->p->length, CLAIMED, pass->from) != 0)
		transfer_fail_map(job);
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
		run_pass(job, &retries[(first + i) % 2], PHASE_RETRYING);
	}
}

const struct pattern *
rescue_pattern(const struct rescue *r)
{
	return r != NULL && r->patterned ? &r->pattern : NULL;
}

/* The source is gone: the last errors are perhaps not the medium's. */
static void
turn_back(struct job *job)
{
	if (!job->gone && !job->rescue->liveness.lost)
		return;
	job->rescue->entered = false;
	liveness_forgive(job);
	junk_forgive(job);
}

/*
 * What failed, and is next to nothing good, has no ends to be found any more;
 * ddrescue would try to trim it.
 */
static void
mark_trimmed(struct job *job)
{
	struct seg *seg;
	size_t n = map_copy_put_off(&job->map, &seg), i;

	for (i = 0; i < n; i++)
		if (seg[i].status == UNTRIMMED && i > 0 && i + 1 < n &&
		    seg[i - 1].status != FINISHED &&
		    seg[i + 1].status != FINISHED && map_set(&job->map,
		    seg[i].off, seg[i].len, UNSCRAPED) != 0)
			transfer_fail_map(job);
	free(seg);
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

/* Being late does not matter if everything was done. */
static void
come_to_end(struct job *job)
{
	struct map_totals t = map_totals(&job->map);
	bool done = t.finished + t.outside == t.end;

	if (atomic_exchange(&job->rescue->end, OVER) == LATE &&
	    (!done || job->p->verify != 0))
		fail_late(job);
	if (done || !job->stop)
		pass_enter(job->rescue, &over);
	if (!job->stop && (job->p->opts->rescue & RESCUE_NOSWEEP) != 0 &&
	    t.untried > 0)
		pass_enter(job->rescue, &pass_sweeping);
}

/* Read the current class. */
static void
run_class(struct job *job)
{
	const struct mapfile *m = &job->rescue->mapsaver.file;
	bool swept = m->phase == '?' && m->pass >= pass_sweeping.number;

	run_pass(job, swept ? &pass_sweeping : &pass_reading, PHASE_COPYING);
	if (!job->stop)
		pass_look(job);
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

/* Read one class after another. */
static void
run_classes(struct job *job)
{
	struct rescue *r = job->rescue;

	do
		run_class(job);
	while (next_class(job));
	if (r->order == ORDER_NONE)
		return;
	rescue_turn(job, ASIDE, UNTRIED);
	rescue_turn(job, LATER, UNTRIED);
	rescue_turn(job, LAST, UNTRIED);
}

void
rescue_run(struct job *job)
{
	struct rescue *r = job->rescue;
	size_t i;

	run_classes(job);
	if ((job->p->opts->rescue & RESCUE_ONDEMAND) == 0)
		rescue_retry(job);
	r->asked_all = true;
	rescue_tell(r);
	liveness_last(&job->worker[0]);
	for (i = 0; job->p->opts->fill != NULL && i < COUNT(fills); i++)
		run_pass(job, &fills[i], PHASE_FILLING);
	come_to_end(job);
	turn_back(job);
	if (!job->gone && !r->liveness.lost && (job->p->opts->rescue &
	    RESCUE_NOTRIM) == 0)
		mark_trimmed(job);
}
