/*
 * One piece of a rescue: claimed as the pass wants it, read, written and
 * settled; or tried block by block (blocks.c).
 *
 * An error costs a disk as much as hundreds of good reads, and several workers
 * would meet the same bad area together.  So in a pass that skips, one worker
 * reads at a time (exclusive.c), a small piece, while the others write.  The
 * first pass does this for a while after an error, and where errors are
 * frequent.  A worker that is stuck in a slow read is left behind, and so is
 * its area.  If the disk does not rotate, another worker goes on elsewhere as
 * soon as a read seems to fail.  If seeks are slow, only one worker reads block
 * by block.
 */
#include "rescue/rescue.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "block.h"
#include "blocks.h"
#include "copy/piece.h"
#include "copy/transfer.h"
#include "edges.h"
#include "pass.h"
#include "source.h"

enum {
	CLUSTER = 64 << 10,	/* bytes of a piece between known errors */
	WARY = 256 << 10,	/* bytes of a piece where errors are rare */
	MARK = 1 << 20,		/* bytes that are trimmed as one range */
	SMALL_PART = 1000,	/* 1/SMALL_PART of the disk */
};

struct hold {			/* a claimed piece */
	struct seg	 seg;
	struct gap	 gap;		/* the gap it belongs to, if any */
	uint64_t	 ticket;	/* for exclusive.c, or 0 */
	bool		 calm;		/* all was read, and not slowly */
	bool		 passed;	/* another worker has gone on behind
					 * it */
};

static const double slow_read = 1.0;	/* s: leave an area as slow as this */
static const double hint_least = .01;	/* seconds */
static const double wary_for = 20;	/* multiple of the time that an error
					 * took */

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many bytes the first pass has covered. */
static uint64_t
gone_over(struct job *job)
{
	uint64_t at = map_cursor(&job->map);

	return pass_backwards(job, job->rescue->pass) ? job->p->length - at :
	    at;
}

/* The distance of a piece from where the pass began, in bytes. */
static uint64_t
way_to(const struct job *job, const struct seg *seg)
{
	return pass_backwards(job, job->rescue->pass) ?
	    job->p->length - seg->off - seg->len : seg->off;
}

/* Where the first pass expects the next bad run; UINT64_MAX: nowhere. */
static uint64_t
next_run(struct job *job)
{
	struct rescue *r = job->rescue;

	return !pass_is_first(r->pass) || pass_backwards(job, r->pass) ?
	    UINT64_MAX : course_foretells(&r->course, map_cursor(&job->map));
}

/* Whether all workers together could read as far as that. */
static bool
near_run(struct job *job)
{
	uint64_t run = next_run(job);

	return run != UINT64_MAX && run - map_cursor(&job->map) <=
	    (uint64_t)job->p->chunk * job->p->workers;
}

/* Whether workers should read one at a time. */
static bool
wary(struct job *job)
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

/* The bytes to claim. */
static size_t
piece_size(struct job *job)
{
	struct rescue *r = job->rescue;
	size_t n = job->p->chunk, part = part_most(job);

	if (job->p->opts->bpt < 0 && part < n && part % job->p->block == 0)
		n = part;
	if (pass_is_first(r->pass))
		n = course_piece(&r->course, gone_over(job), n);
	else
		n = least(n, CLUSTER);
	return rate_piece(&job->rate, job->p, n);
}

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
	again = source_read(w, seg->off, at, (size_t)(bad - start), true);
	if (again.done > io.done)
		io.done = again.done;
	return io;
}

/* A read that takes so long is in a bad area. */
static bool
slow(const struct job *job, uint64_t bytes, double seconds)
{
	return seconds > slow_read ||
	    (double)bytes < (double)job->p->opts->minrate * seconds;
}

/* Skip as much after a piece as course.c says. */
static void
jump(struct job *job, const struct seg *seg)
{
	uint64_t n = course_bad(&job->rescue->course, way_to(job, seg),
	    seg->len);

	if (n > 0 && !pass_backwards(job, job->rescue->pass))
		map_skip_to(&job->map, seg->off + seg->len + n);
	else if (n > 0)
		map_skip_to(&job->map, seg->off > n ? seg->off - n : 0);
}

/* An error has taken this long, and others may be near. */
static void
be_wary(struct rescue *r, double seconds)
{
	double until = clock_seconds() + seconds * wary_for;

	if (until > r->wary_until)
		r->wary_until = until;
}

/* Skip what lies behind a piece, and be careful for a while. */
static void
skip_area(struct job *job, const struct seg *seg, double seconds)
{
	struct rescue *r = job->rescue;
	uint64_t most = job->p->length / 100;

	be_wary(r, seconds);
	if (r->pass->skip == COURSE)
		jump(job, seg);
	else if (r->pass->skip == GAP)
		map_leave(&job->map, seg);
	else if (r->pass->skip == AHEAD)
		map_skip(&job->map, seg, CLUSTER, most > CLUSTER ? most :
		    CLUSTER);
}

/* The first pass has read a piece well. */
static void
come_through(struct worker *w, uint64_t ticket, const struct seg *seg)
{
	struct job *job = w->job;
	struct course *c = &job->rescue->course;
	struct bad_run run;

	if (pass_is_first(job->rescue->pass) &&
	    course_good(c, way_to(job, seg), &run))
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
		skip_area(job, seg, seconds);
	else if (!h->calm)
		be_wary(r, seconds);
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
	*io = source_read(w, h->seg.off, at, (size_t)seg.len, false);
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
	h->calm = !errno_is_medium(io->err) && !slow(job, io->done, seconds);
	if (!h->calm || io->err == 0)
		note_area(w, h, &seg, seconds);
	h->calm = h->calm && io->done == io->len;
	return h->calm;
}

/*
 * Passing the turn takes as long as reading a small piece.  So the worker that
 * has it goes on with what follows while its buffer has room.
 */
static bool
keep_turn(struct job *job, struct hold *h)
{
	struct seg *seg = &h->seg;
	uint64_t end = seg->off + job->p->chunk, run = next_run(job);
	struct seg next;

	if (h->ticket == 0 || h->passed || job->stop || !wary(job) ||
	    pass_by_size(job->rescue->pass) ||
	    rate_due(&job->rate, piece_size(job)) > 0 ||
	    map_claim_on(&job->map, seg, run < end ? run : end, &next) <= 0)
		return false;
	exclusive_reads(&job->rescue->exclusive, h->ticket, &next);
	seg->len += next.len;
	return true;
}

/*
 * Read a piece, and with a ticket as much more as can be claimed behind it.
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

/* Bytes that are trimmed as one range. */
static size_t
mark_most(const struct job *job)
{
	return pass_is_first(job->rescue->pass) ? part_most(job) : WARY;
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
	if (len > mark_most(job))
		return true;
	at = seg->off + good;
	return transfer_settle(w, at, len, block_at(job->rescue, at, at +
	    len) == len ? BAD : UNTRIMMED);
}

/* Whether the pass works block by block, and pays rate= for each block. */
static bool
by_block(const struct pass *pass)
{
	return pass->how == TRIM || pass->how == SKIM || pass->how == SCRAPE;
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
 * Seconds after which a stuck reader is left behind: longer than errors take.
 */
static double
patience(const struct rescue *r)
{
	return slow_read > 2 * r->longest ? slow_read : 2 * r->longest;
}

/*
 * The same if the disk can read elsewhere meanwhile: as soon as a read takes so
 * long that it will probably fail.
 */
static double
hint(const struct rescue *r)
{
	double s = r->longest > 0 ? r->longest / 4 : slow_read;

	return s > hint_least ? s : hint_least;
}

/* Pay for a read, and wait for the turn to read alone. */
static bool
enter(struct job *job, uint64_t *ticket)
{
	struct rescue *r = job->rescue;
	struct seg stuck;

	if (!rate_wait(&job->rate, piece_size(job), job->halt))
		return false;
	*ticket = exclusive_enter(&r->exclusive, hint(r), patience(r), &stuck);
	if (stuck.len > 0)
		skip_area(job, &stuck, r->seats > 1 ? hint(r) : slow_read);
	return true;
}

/* Claim a range that nobody else has. */
static int
claim_range(struct map *map, const struct seg *seg)
{
	return map_set(map, seg->off, seg->len, CLAIMED) != 0 ? -1 : 1;
}

/* The bytes of a gap to read at a time: many if seeks are slow. */
static size_t
most_of_gap(struct job *job)
{
	size_t chunk = job->p->chunk;

	return job->rescue->rotates ? chunk : course_piece(
	    &job->rescue->course, job->p->length, least(WARY, chunk));
}

/*
 * Take a piece of a gap.  Where the middle of every gap is tried, it is a
 * single block: if that is bad, it would have been met later anyway.
 */
static bool
take_of_gap(struct job *job, struct hold *h)
{
	struct rescue *r = job->rescue;
	size_t most = most_of_gap(job);
	const struct gap *g = &h->gap;

	if (!gaps_take(&r->gaps, least(most, piece_size(job)), most, &h->gap,
	    &h->seg))
		return false;
	if (r->pass->skip == MIDST && !g->front && !g->back) {
		h->seg.off = block_last(r, g->off, h->seg.off +
		    h->seg.len / 2 + 1);
		h->seg.len = block_at(r, h->seg.off, g->end);
	}
	return true;
}

/*
 * Claim the next piece that was not skipped, up to where a bad run is expected,
 * or the first block of that.  Returns as map_claim.
 */
static int
claim_ahead(struct job *job, struct seg *seg)
{
	uint64_t run = next_run(job);

	if (run == map_cursor(&job->map))
		run += block_at(job->rescue, run, job->p->length);
	return map_claim_to(&job->map, run, false, seg);
}

/* Claim the next piece of the pass.  Returns as map_claim. */
static int
claim_next(struct job *job, struct hold *h)
{
	struct rescue *r = job->rescue;
	const struct pass *pass = r->pass;

	if (pass->how == TRIM)
		return gaps_take_all(&r->gaps, &h->seg) ?
		    claim_range(&job->map, &h->seg) : 0;
	if (pass_by_size(pass))
		return take_of_gap(job, h) ? claim_range(&job->map, &h->seg) :
		    0;
	map_pieces(&job->map, piece_size(job));
	return pass->from == UNSCRAPED ? map_claim_all(&job->map, &h->seg) :
	    claim_ahead(job, &h->seg);
}

/* Claim a piece, for reading alone if necessary.  Returns as map_claim. */
static int
claim(struct worker *w, struct hold *h)
{
	struct job *job = w->job;
	struct rescue *r = job->rescue;
	struct fault f;
	int claimed;

	if (wary(job) && !enter(job, &h->ticket))
		return 0;
	if (job->stop) {		/* the wait may have been long */
		exclusive_leave(&r->exclusive, h->ticket);
		return 0;
	}
	claimed = claim_next(job, h);
	if (claimed < 0) {
		fault_errno(&f, ENOMEM, "the map of the copy");
		job_fail(job, &f);
	}
	if (claimed > 0)
		exclusive_reads(&r->exclusive, h->ticket, &h->seg);
	else
		exclusive_leave(&r->exclusive, h->ticket);
	return claimed;
}

/* Pay rate= for a piece, unless that was done, or is done block by block. */
static bool
pay(struct job *job, const struct hold *h)
{
	return h->ticket != 0 || by_block(job->rescue->pass) ||
	    rate_wait(&job->rate, h->seg.len, job->halt);
}

/*
 * Between bad blocks and untried data that was given up, good blocks are rare:
 * leave them for the end.
 */
static bool
put_off(struct job *job, const struct seg *seg)
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

	if (put_off(w->job, &h->seg))
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

/* Put back the rest of the gap that the piece belongs to. */
static bool
give_back(struct job *job, const struct hold *h)
{
	uint64_t end = h->seg.off + h->seg.len;
	struct seg left;
	struct fault f;
	bool tried;

	if (job->rescue->pass->how != COPY || !pass_by_size(job->rescue->pass))
		return true;
	tried = !map_next(&job->map, h->seg.off, UNTRIED, &left) ||
	    left.off >= end;
	if (gaps_give(&job->rescue->gaps, &h->gap, &h->seg, h->calm,
	    tried) == 0)
		return true;
	fault_errno(&f, ENOMEM, "the map of the copy");
	job_fail(job, &f);
	return false;
}

/* If seeks are slow, one worker does what is read block by block. */
static bool
needed(const struct worker *w)
{
	const struct rescue *r = w->job->rescue;

	return w == &w->job->worker[0] || !r->rotates || !by_block(r->pass);
}

bool
rescue_piece(struct worker *w)
{
	struct job *job = w->job;
	const struct pass *pass = job->rescue->pass;
	struct hold h = { .ticket = 0 };
	struct seg left;
	bool more = false;

	if (!needed(w) || job->stop || pass_given_up(job) || claim(w, &h) <= 0)
		return false;
	if (pay(job, &h))
		more = run_piece(w, &h);
	/* What was not reached keeps its status, for the next run. */
	if (job->stop && map_next(&job->map, h.seg.off, CLAIMED, &left) &&
	    left.off < h.seg.off + h.seg.len) {
		left.status = pass->from;
		map_back(&job->map, &left);
	}
	return transfer_settle(w, h.seg.off, h.seg.len, pass->from) && more &&
	    give_back(job, &h);
}
