/*
 * Rescue.  What is unread is read in the order that gaps.c says, by workers
 * that take a piece each, until nothing is left but blocks that cannot be read:
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
 *
 * A piece is taken from the gaps (gaps.c), read, given back to them with what
 * came of it, and only then written.
 *
 * An error costs a disk as much as hundreds of good reads, several workers
 * would meet the same bad area together, and what one has met decides what the
 * next reads.  So one worker reads at a time (exclusive.c) while the others
 * write; only where errors are rare, and none was met for a while, several read
 * on in large pieces.  A worker that is stuck in a slow read is left behind,
 * and so is its area.  If the disk does not rotate, another worker continues
 * elsewhere as soon as a read seems to fail.
 */
#include "rescue/rescue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/status.h"
#include "copy/transfer.h"
#include "copy/worker.h"
#include "disk/disk.h"
#include "part/used.h"
#include "rescue/liveness.h"
#include "rescue/mapsaver.h"

/* --- where it stands, and whether it has taken long enough --------------- */

static const struct pass pass_reading = {
	"Copying non-tried blocks... Pass 1 (forwards)", UNTRIED, '?', 1, false
};

/* Only what promises next to nothing is left. */
static const struct pass pass_sweeping = {
	"Copying non-tried blocks... Pass 4 (forwards)", UNTRIED, '?', 4, false
};

static void
pass_enter(struct rescue *r, const struct pass *pass)
{
	r->pass = pass;
	r->entered = true;
}

/*
 * Look for a pattern in what could not be read, once: deferred parts would
 * break it.
 */
static void
pass_look(struct job *job)
{
	struct rescue *r = job->rescue;

	if ((r->order == ORDER_NONE || r->order == ORDER_REST) &&
	    !atomic_flag_test_and_set(&r->looked) &&
	    pattern_find(&job->map, &r->pattern))
		r->patterned = true;
}

/*
 * maxerrors=: stop the run if there are too many bad ranges.  Returns whether
 * that is so.
 */
static bool
pass_too_many(struct job *job)
{
	const struct opts *o = job->p->opts;
	struct fault f;

	if (o->maxerrors < 0 || map_totals(&job->map).bad_ranges <=
	    (uint64_t)o->maxerrors)
		return false;
	fault_set(&f, STATUS_UNREADABLE, "given up: more than maxerrors=%lld "
	    "bad ranges", (long long)o->maxerrors);
	job_fail(job, &f);
	return true;
}

/* Whether maxtime= has passed, plus "more" seconds. */
static bool
pass_too_long(const struct job *job, double more)
{
	int64_t most = job->p->opts->maxtime;

	return most >= 0 &&
	    clock_seconds() - job->rescue->start > (double)most + more;
}

/* maxtime= has passed: stop the run, unless it was stopped before. */
static void
pass_stop_late(struct job *job)
{
	int not_yet = NOT_YET;

	if (!atomic_compare_exchange_strong(&job->rescue->end, &not_yet, LATE))
		return;
	job->rescue->late = true;
	job_stop(job);
}

/* A retry has taken parts of bad ranges, so more are counted. */
static bool
pass_given_up(struct job *job)
{
	bool late = pass_too_long(job, 0);

	if (late)
		pass_stop_late(job);
	return late || (job->rescue->pass->from != BAD && pass_too_many(job));
}

enum {
	CALM = 256 << 10,	/* bytes of a piece where errors are rare */
	FILL = 64 << 10,	/* bytes that are filled at a time */
};

static const double slow_read = 1.0;	/* s: leave an area as slow as this */
static const double starts_up = 15;	/* s: what a disk may take for that */
static const double hint_least = .01;	/* s */
static const double usual_times = 3;	/* as long as good reads take */
static const double wary_for = 600;	/* multiple of the time that an error
					 * took */

struct hold {			/* what a worker has */
	struct seg	 seg;	/* the piece, with its status */
	uint64_t	 off;	/* where its buffer begins */
	size_t		 have;	/* bytes in it that are good */
	uint64_t	 ticket;	/* for exclusive.c, or 0 */
	bool		 passed;	/* another worker has passed it */
};

static unsigned
rescue_who(const struct worker *w)
{
	return (unsigned)(w - w->job->worker);
}

/* --- the turn ------------------------------------------------------------ */

/*
 * Seconds after which a stuck reader is left behind: longer than errors take,
 * and than a disk takes to start up.
 */
static double
rescue_patience(const struct rescue *r)
{
	return r->begun ? MAX(slow_read, 2 * r->longest) : starts_up;
}

/*
 * If the disk can read elsewhere meanwhile: as soon as a read takes so long
 * that it will probably fail.  Where errors are as quick as good reads that
 * cannot be told.
 */
static double
rescue_hint(const struct rescue *r)
{
	double least = MAX(hint_least, usual_times * r->usual);

	if (!r->begun)
		return starts_up;
	return MAX(r->longest > 0 ? r->longest / 4 : slow_read, least);
}

/* A good read took so long: the last ones count most, or the quick ones. */
static void
rescue_usual(struct rescue *r, double seconds)
{
	double usual = r->usual, quick = r->quick;

	r->usual = usual > 0 ? usual + (seconds - usual) / 8 : seconds;
	r->quick = quick > 0 ? MIN(seconds, quick + (seconds - quick) / 64) :
	    seconds;
}

/* Be careful for a while after an error that took so long. */
static void
rescue_beware(struct rescue *r, double seconds)
{
	double until = clock_seconds() + seconds * wary_for;

	if (until > r->wary_until)
		r->wary_until = until;
}

/* Whether several may read at once; with minrate= all of them would be slow. */
static bool
rescue_calm(struct job *job)
{
	struct rescue *r = job->rescue;

	return r->begun && job->p->opts->minrate <= 0 &&
	    clock_seconds() >= r->wary_until && gaps_piece(&r->gaps) >=
	    MIN(CALM, job->p->chunk);
}

/* Wait for the turn to read alone. */
static void
turn_enter(struct job *job, struct hold *h)
{
	struct rescue *r = job->rescue;
	struct seg stuck;

	h->ticket = exclusive_enter(&r->exclusive, rescue_hint(r),
	    rescue_patience(r), &stuck);
	if (stuck.len == 0)
		return;
	rescue_beware(r, r->exclusive.most > 1 ? rescue_hint(r) : slow_read);
	if (gaps_leave(&r->gaps, stuck.off) != 0)
		transfer_fail_map(job);
}

/* The worker has this piece: others see it in the map. */
static void
piece_taken(struct job *job, struct hold *h)
{
	struct rescue *r = job->rescue;

	r->at = h->seg.off;
	exclusive_reads(&r->exclusive, h->ticket, &h->seg);
	if (h->seg.status == r->pass->from && map_change(&job->map, h->seg.off,
	    h->seg.len, h->seg.status, CLAIMED) != 0)
		transfer_fail_map(job);
	if (r->pass == &pass_reading && gaps_given_up(&r->gaps)) {
		pass_look(job);
		pass_enter(r, &pass_sweeping);
		job->phase = PHASE_SCRAPING;
	}
}

/* Tell the reader, if it waits for something, that the map has changed. */
static void
rescue_tell(struct rescue *r)
{
	if (r->reader >= 0 && (r->gaps.asks > 0 || r->asked_all))
		eventfd_write(r->reader, 1);
}

/*
 * With nothing to read: have confirmed what a reader waits for.  Returns false
 * if it is junk.
 */
static bool
piece_confirm(struct worker *w)
{
	struct io io = { .op = OP_READ };

	if (junk_settle(w, &io)) {
		rescue_tell(w->job->rescue);
		return true;
	}
	liveness_gone(w->job);
	transfer_fail_read(w, &io);
	return false;
}

/*
 * Take the next piece, alone unless all is calm; false if there is none, or
 * *again: none yet.
 */
static bool
piece_take(struct worker *w, struct hold *h, bool *again)
{
	struct job *job = w->job;
	struct rescue *r = job->rescue;
	size_t most = rate_piece(&job->rate, job->p, job->p->chunk);
	enum gaps_next next = GAPS_NONE;

	if (rescue_calm(job))
		next = gaps_take(&r->gaps, rescue_who(w), true, most, &h->seg);
	if (next != GAPS_ONE && next != GAPS_WAIT) {	/* or somebody has all
							 * that is left */
		turn_enter(job, h);
		if (!job->stop)		/* the wait may have been long */
			next = gaps_take(&r->gaps, rescue_who(w),
			    rescue_calm(job), most, &h->seg);
		if (next == GAPS_ALONE)
			next = gaps_take(&r->gaps, rescue_who(w), false, most,
			    &h->seg);
	}
	if (next == GAPS_NO_MEMORY)
		transfer_fail_map(job);
	h->off = h->seg.off;
	if (next == GAPS_ONE && rate_wait(&job->rate, h->seg.len, job->halt)) {
		piece_taken(job, h);
		return true;
	}
	exclusive_leave(&r->exclusive, h->ticket);
	*again = next == GAPS_WAIT && piece_confirm(w);
	if (*again)
		gaps_rest(&r->gaps);
	return false;
}

/*
 * Passing the turn takes as long as reading a small piece.  So the worker that
 * has it continues with what follows while its buffer has room.
 */
static bool
piece_take_on(struct worker *w, struct hold *h)
{
	struct job *job = w->job;
	struct rescue *r = job->rescue;
	size_t room = job->p->chunk - h->have;

	if (h->ticket == 0 || h->passed || job->stop || room < r->unit ||
	    pass_given_up(job) || job->rate.bytes > 0 || job->rate.paused ||
	    !gaps_take_on(&r->gaps, rescue_who(w), false, room, &h->seg))
		return false;
	piece_taken(job, h);
	return true;
}

/* --- reading ------------------------------------------------------------- */

/*
 * Read a part of the piece, behind what is in the buffer.  The source may have
 * disappeared, which its medium errors do not show.
 */
static struct io
piece_read(struct worker *w, const struct hold *h, size_t len, enum care care)
{
	size_t mark = liveness_mark(w);
	struct io io = transfer_read(w, h->off, h->have, len, care);

	liveness_feel(w, &io, h->seg.off, h->seg.status, mark);
	return io;
}

/*
 * Data before the block that the disk calls bad is probably good.  Reading it
 * here saves one read for each of its blocks.
 */
static struct io
piece_read_before(struct worker *w, const struct hold *h, struct io io)
{
	uint64_t bad = transfer_hint(&io), start = h->seg.off;
	struct io again;

	bad -= lane_place(&w->src, bad) % w->job->p->block;
	if (transfer_hint(&io) == NOWHERE || bad <= start + io.done ||
	    bad >= start + io.len)
		return io;
	again = piece_read(w, h, (size_t)(bad - start), CAREFULLY);
	if (again.done > io.done)
		io.done = again.done;
	return io;
}

/* Whether a read that takes so long is in a bad area. */
static bool
piece_slow(const struct job *job, uint64_t bytes, double seconds)
{
	return seconds > slow_read ||
	    (double)bytes < (double)job->p->opts->minrate * seconds;
}

/* Tell the gaps what came of the piece. */
static void
piece_give(struct worker *w, struct hold *h, const struct io *io,
    double seconds)
{
	struct job *job = w->job;
	enum gaps_answer answer = READ_WELL;
	uint64_t end = lane_place(&w->src, h->seg.off + io->done);
	size_t good = io->done, part = (size_t)(end % job->p->block);

	if (errno_is_medium(io->err)) {
		answer = READ_FAILED;
		good = part > good ? 0 : good - part;	/* whole blocks */
	} else if (piece_slow(job, io->done, seconds)) {
		answer = READ_SLOWLY;
	}
	if (answer != READ_WELL)
		rescue_beware(job->rescue, seconds);
	h->have += good;
	if (gaps_give(&job->rescue->gaps, rescue_who(w), good, answer) != 0)
		transfer_fail_map(job);
}

/* Read the piece.  Returns whether to go on behind it. */
static bool
piece_read_all(struct worker *w, struct hold *h, struct io *io)
{
	struct job *job = w->job;
	struct rescue *r = job->rescue;
	bool first = !r->begun;
	double seconds;

	exclusive_begins(&r->exclusive, w);
	*io = piece_read(w, h, (size_t)h->seg.len, h->seg.status == UNTRIED ?
	    NORMALLY : CAREFULLY);
	seconds = exclusive_ends(&r->exclusive, w);
	h->passed = exclusive_passed(&r->exclusive, h->ticket);
	r->begun = true;
	if (errno_is_medium(io->err)) {
		r->longest = MAX(seconds, r->longest);
		gaps_error(&r->gaps, seconds, r->quick, r->rotates);
		exclusive_failed(&r->exclusive, h->ticket, r->longest);
		*io = piece_read_before(w, h, *io);
	} else if (io->err != 0 || io->done < io->len) {
		return false;
	} else if (first) {
		seconds = 0;		/* the disk may have had to start up */
	} else {
		rescue_usual(r, seconds);
	}
	piece_give(w, h, io, seconds);
	return io->err == 0;
}

/* Write what was read, and mark it finished; false ends the worker. */
static bool
piece_keep(struct worker *w, const struct hold *h)
{
	if (h->have == 0)
		return true;
	if (!transfer_write_end(w, h->off, h->have))
		return false;
	w->job->read += h->have;
	if (map_set(&w->job->map, h->off, h->have, FINISHED) == 0)
		return true;
	transfer_fail_map(w->job);
	return false;
}

static bool
piece_rescue(struct worker *w)
{
	struct hold h = { .ticket = 0 };
	struct io io = { .op = OP_READ };
	bool again, kept;

	if (!piece_take(w, &h, &again))
		return again;
	while (piece_read_all(w, &h, &io) && piece_take_on(w, &h))
		;
	exclusive_leave(&w->job->rescue->exclusive, h.ticket);
	kept = piece_keep(w, &h);
	rescue_tell(w->job->rescue);
	if (!kept)
		return false;
	if (errno_is_medium(io.err) || (io.err == 0 && io.done == io.len))
		return true;
	if (io.err != 0)		/* gone, or it ends too early */
		transfer_fail_read(w, &io);
	else
		transfer_fail_short(w, io.off + io.done);
	return false;
}

/* --- filling ------------------------------------------------------------- */

/*
 * Write fill= over a piece; the phase of the text depends on the position only.
 */
static bool
piece_fill(struct worker *w)
{
	struct job *job = w->job;
	const char *text = job->p->opts->fill;
	size_t n = strlen(text), i;
	struct seg seg;
	int claimed;

	map_pieces(&job->map, rate_piece(&job->rate, job->p, MIN(FILL,
	    job->p->chunk)));
	claimed = map_claim(&job->map, &seg);
	if (claimed < 0)
		transfer_fail_map(job);
	if (claimed <= 0)
		return false;
	if (strcmp(text, "zero") == 0)
		memset(w->buf, 0, (size_t)seg.len);
	else
		for (i = 0; i < seg.len; i++)
			w->buf[i] = (unsigned char)text[(seg.off + i) % n];
	return rate_wait(&job->rate, seg.len, job->halt) &&
	    transfer_write_end(w, seg.off, (size_t)seg.len) &&
	    transfer_settle(w, seg.off, seg.len, job->rescue->pass->from);
}

/* Read, or fill, one piece; false when there is none left. */
static bool
rescue_piece(struct worker *w)
{
	struct job *job = w->job;

	if (job->stop || pass_given_up(job))
		return false;
	w->src.again = (unsigned)job->rescue->retry;
	return job->phase == PHASE_FILLING ? piece_fill(w) : piece_rescue(w);
}

/* --- all of it ----------------------------------------------------------- */

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
	gaps_begin(&r->gaps, &job->map, r->unit, (known ? d.start : 0) +
	    p->src_off, first_piece(p));
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
	return used_order(job->p, &job->map, job->p->used);
}

int
rescue_begin(struct job *job, struct fault *f)
{
	struct rescue *r = calloc(1, sizeof(*r));
	const struct mapfile *m;

	if (r == NULL)
		return fault_errno(f, ENOMEM, "%s", job->p->opts->map);
	job->rescue = r;
	r->reader = -1;
	r->pass = &pass_reading;
	atomic_flag_clear(&r->looked);
	r->start = clock_seconds() - job->before.seconds;
	know_disk(r, job);
	liveness_begin(&r->liveness);
	if (mapsaver_begin(&r->mapsaver, job, f) != 0)
		return -1;
	m = &r->mapsaver.file;
	if (!r->mapsaver.made)		/* until a pass begins */
		r->loaded = (struct place){ m->pos, m->phase, m->pass };
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
	liveness_last(&job->worker[0]);
	r->asked_all = true;
	rescue_tell(r);
	for (i = 0; job->p->opts->fill != NULL && i < COUNT(fills); i++)
		run_pass(job, &fills[i], PHASE_FILLING);
	come_to_end(job);
	turn_back(job);
	if (!job->gone && !r->liveness.lost && (job->p->opts->rescue &
	    RESCUE_NOTRIM) == 0)
		mark_trimmed(job);
}
