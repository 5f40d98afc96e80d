/*
 * One piece of a rescue: taken from the gaps (gaps.c), read, given back to them
 * with what came of it, and only then written.
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

#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>

#include "base/clock.h"
#include "copy/transfer.h"
#include "pass.h"

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

/* --- the turn ------------------------------------------------------------- */

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

/* A good read took so long: the last ones count most. */
static void
rescue_usual(struct rescue *r, double seconds)
{
	double usual = r->usual;

	r->usual = usual > 0 ? usual + (seconds - usual) / 8 : seconds;
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

void
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

/* --- reading -------------------------------------------------------------- */

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

	flight_begin(&r->flight, w);
	*io = piece_read(w, h, (size_t)h->seg.len, h->seg.status == UNTRIED ?
	    NORMALLY : CAREFULLY);
	seconds = flight_end(&r->flight, w);
	h->passed = exclusive_passed(&r->exclusive, h->ticket);
	if (h->ticket == 0)
		exclusive_answered(&r->exclusive);
	r->begun = true;
	if (errno_is_medium(io->err)) {
		r->longest = MAX(seconds, r->longest);
		if (r->rotates)
			gaps_error(&r->gaps, r->longest);
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

/* The source is gone, or ends too early. */
static void
piece_fail(struct worker *w, const struct io *io)
{
	if (io->err != 0)
		transfer_fail_read(w, io);
	else
		transfer_fail_short(w, io->off + io->done);
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
	piece_fail(w, &io);
	return false;
}

/* --- filling -------------------------------------------------------------- */

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

bool
rescue_piece(struct worker *w)
{
	struct job *job = w->job;

	if (job->stop || pass_given_up(job))
		return false;
	return job->phase == PHASE_FILLING ? piece_fill(w) : piece_rescue(w);
}
