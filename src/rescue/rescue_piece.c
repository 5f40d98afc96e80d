/*
 * One piece of a rescue: claimed as the pass wants it (hold.c), read, written
 * and settled; or tried block by block (blocks.c).
 *
 * An error costs a disk as much as hundreds of good reads, and several workers
 * would meet the same bad area together.  So in a pass that skips, one worker
 * reads at a time (exclusive.c), a small piece, while the others write.  The
 * first pass does this for a while after an error, and where errors are
 * frequent (caution.c).  A worker that is stuck in a slow read is left behind,
 * and so is its area.  If the disk does not rotate, another worker continues
 * elsewhere as soon as a read seems to fail.  If seeks are slow, only one
 * worker reads block by block.
 */
#include "rescue/rescue.h"

#include <string.h>

#include "block.h"
#include "blocks.h"
#include "caution.h"
#include "copy/transfer.h"
#include "edges.h"
#include "hold.h"
#include "pass.h"
#include "source.h"

/*
 * Data before the block that the disk calls bad is probably good.  Reading it
 * here saves the trim pass one read for each of its blocks.
 */
static struct io
read_before(struct worker *w, const struct seg *seg, size_t at, struct io io)
{
	uint64_t bad = transfer_hint(&io), start = seg->off + at;
	struct io again;

	bad -= lane_place(&w->src, bad) % w->job->p->block;
	if (transfer_hint(&io) == NOWHERE || bad <= start + io.done ||
	    bad >= start + io.len)
		return io;
	again = source_read(w, seg->off, at, (size_t)(bad - start),
	    CAREFULLY);
	if (again.done > io.done)
		io.done = again.done;
	return io;
}

/* The first pass has read a piece without errors. */
static void
come_through(struct worker *w, uint64_t ticket, const struct seg *seg)
{
	struct job *job = w->job;
	struct course *c = &job->rescue->course;
	struct bad_run run;

	if (pass_is_first(job->rescue->pass) &&
	    course_good(c, caution_way(job, seg), &run))
		edges_find(w, ticket, &run);
}

/*
 * Draw conclusions about the area from a read; another worker may have moved on
 * already.
 */
static void
note_area(struct worker *w, const struct hold *h, const struct seg *seg,
    double seconds)
{
	struct job *job = w->job;
	struct rescue *r = job->rescue;

	if (!h->calm && !h->passed)
		caution_skip(job, seg, seconds);
	else if (!h->calm)
		caution_after(r, seconds);
	else if (h->passed && r->pass->skip == COURSE)
		course_forgive(&r->course);
	else if (!h->passed) {
		come_through(w, h->ticket, seg);
		map_go_on(&job->map);
	}
}

/*
 * Read the piece from "at" on, and draw conclusions about the area.  Returns
 * whether all went well.
 */
static bool
read_rest(struct worker *w, struct hold *h, size_t at, struct io *io)
{
	struct job *job = w->job;
	const struct seg seg = { h->seg.off + at, h->seg.len - at, CLAIMED };
	struct rescue *r = job->rescue;
	double seconds;

	flight_begin(&r->flight, w);
	*io = source_read(w, h->seg.off, at, (size_t)seg.len, NORMALLY);
	seconds = flight_end(&r->flight, w);
	h->passed = exclusive_passed(&r->exclusive, h->ticket);
	if (h->ticket == 0)
		exclusive_answered(&r->exclusive);
	r->begun = true;
	if (errno_is_medium(io->err)) {
		r->longest = seconds > r->longest ? seconds : r->longest;
		exclusive_failed(&r->exclusive, h->ticket, r->longest);
		*io = read_before(w, &h->seg, at, *io);
	}
	h->calm = !errno_is_medium(io->err) &&
	    !caution_slow(job, io->done, seconds);
	if (!h->calm || io->err == 0)
		note_area(w, h, &seg, seconds);
	h->calm = h->calm && io->done == io->len;
	return h->calm;
}

/*
 * Passing the turn takes as long as reading a small piece.  So the worker that
 * has it continues with what follows while its buffer has room.
 */
static bool
keep_turn(struct job *job, struct hold *h)
{
	struct seg *seg = &h->seg;
	uint64_t end = seg->off + job->p->chunk, run = caution_run(job);
	struct seg next;

	if (h->ticket == 0 || h->passed || job->stop || !caution_alone(job) ||
	    pass_by_size(job->rescue->pass) ||
	    rate_due(&job->rate, caution_piece(job)) > 0 ||
	    map_claim_on(&job->map, seg, run < end ? run : end, &next) <= 0)
		return false;
	exclusive_reads(&job->rescue->exclusive, h->ticket, &next);
	seg->len += next.len;
	return true;
}

/*
 * Read a piece, and with a ticket as much more as can be claimed after it.
 * Returns the result as one read.
 */
static struct io
read_area(struct worker *w, struct hold *h)
{
	struct io io = { .done = 0 };
	size_t at = 0;

	while (read_rest(w, h, at, &io) && keep_turn(w->job, h))
		at += io.done;
	exclusive_leave(&w->job->rescue->exclusive, h->ticket);
	io.off -= at;
	io.len += at;
	io.done += at;
	return io;
}

/*
 * A piece that failed is to be trimmed as one range.  Only a piece read before
 * there were any errors is longer; that is read again in smaller pieces.
 */
static bool
copy_piece(struct worker *w, struct hold *h)
{
	struct job *job = w->job;
	struct io io = read_area(w, h);
	const struct seg *seg = &h->seg;
	uint64_t end = lane_place(&w->src, io.off + io.done), at;
	size_t len = (size_t)seg->len, good;

	if (io.err == 0 && io.done == len)
		return source_keep(w, seg->off, len);
	if (!errno_is_medium(io.err)) {
		source_fail(w, &io);
		return false;
	}
	good = io.done - (size_t)(end % job->p->block);
	good = good > io.done ? 0 : good;	/* starts within a block */
	if (!source_keep(w, seg->off, good))
		return false;
	len -= good;
	if (len > caution_mark(job))
		return true;
	at = seg->off + good;
	return transfer_settle(w, at, len, block_at(job->rescue, at, at +
	    len) == len ? BAD : UNTRIMMED);
}

/*
 * Write fill= over a piece; the phase of the text depends on the position only.
 */
static bool
fill_piece(struct worker *w, const struct seg *seg)
{
	const char *text = w->job->p->opts->fill;
	size_t len = (size_t)seg->len, n = strlen(text), i;

	if (strcmp(text, "zero") == 0)
		memset(w->buf, 0, len);
	else
		for (i = 0; i < len; i++)
			w->buf[i] = (unsigned char)text[(seg->off + i) % n];
	return transfer_write_end(w, seg->off, len);
}

/*
 * Between bad blocks and untried data that was given up, good blocks are rare:
 * leave them for the end.
 */
static bool
rescue_put_off(struct job *job, const struct seg *seg)
{
	const struct pass *pass = job->rescue->pass;

	return pass->from == UNSCRAPED && pass->how != COPY &&
	    (!pass->last || (job->p->opts->rescue & RESCUE_NOSWEEP) != 0) &&
	    ((seg->off > 0 && map_at(&job->map, seg->off - 1) == UNTRIED) ||
	    map_at(&job->map, seg->off + seg->len) == UNTRIED);
}

static bool
run_piece(struct worker *w, struct hold *h)
{
	const struct pass *pass = w->job->rescue->pass;

	if (rescue_put_off(w->job, &h->seg))
		return true;
	switch (pass->how) {
	case COPY:
		return copy_piece(w, h);
	case TRIM:
		return blocks_trim(w, &h->seg);
	case SKIM:
		return blocks_skim(w, &h->seg);
	case SCRAPE:
		return blocks_scrape(w, &h->seg);
	case FILL:
		return fill_piece(w, &h->seg);
	}
	return false;
}

/* If seeks are slow, only one worker reads block by block. */
static bool
rescue_alone_needed(const struct worker *w)
{
	const struct rescue *r = w->job->rescue;

	return w == &w->job->worker[0] || !r->rotates ||
	    !pass_by_block(r->pass);
}

bool
rescue_piece(struct worker *w)
{
	struct job *job = w->job;
	const struct pass *pass = job->rescue->pass;
	struct hold h = { .ticket = 0 };
	struct seg left;
	bool more = false;

	if (!rescue_alone_needed(w) || job->stop || pass_given_up(job) ||
	    hold_claim(w, &h) <= 0)
		return false;
	if (hold_pay(job, &h))
		more = run_piece(w, &h);
	/* The part that was not reached keeps its status, for the next run. */
	if (job->stop && map_next(&job->map, h.seg.off, CLAIMED, &left) &&
	    left.off < h.seg.off + h.seg.len) {
		left.status = pass->from;
		map_back(&job->map, &left);
	}
	return transfer_settle(w, h.seg.off, h.seg.len, pass->from) && more &&
	    hold_give_back(job, &h);
}
