/*
 * One piece of a rescue: claimed as the pass wants it, read, written, settled;
 * or tried block by block (blocks.c).
 *
 * An error costs a disk as much as hundreds of good reads, and workers side by
 * side would meet the same bad area together.  So a pass that leaves something
 * out reads one piece at a time (exclusive.c), a small one, and the others
 * write meanwhile; the first does so for a while after an error, and where
 * errors are many.  A worker that is stuck in a slow read is left behind, and
 * so is the area.  Where a disk does not rotate another goes on elsewhere as
 * soon as a read seems to fail; where a jump is dear, one worker reads what is
 * read block by block.
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
	MARK = 1 << 20,		/* bytes that are trimmed as a whole */
	SMALL_PART = 1000,	/* of the disk: one of so many */
};

struct hold {			/* what a worker has in hand */
	struct seg	 seg;
	struct gap	 gap;		/* that it is part of, in some passes */
	uint64_t	 ticket;	/* of exclusive.c, or 0 */
	bool		 calm;		/* all was read, and fast enough */
	bool		 passed;	/* another has gone on behind it */
};

static const double slow_read = 1.0;	/* seconds; worth leaving the area */
static const double hint_least = .01;	/* seconds */
static const double wary_for = 20;	/* times as long as an error took */

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How far the first pass has come, bytes. */
static uint64_t
gone_over(struct job *job)
{
	uint64_t at = map_cursor(&job->map);

	return pass_backwards(job, job->rescue->pass) ? job->p->length - at :
	    at;
}

/* Bytes from where the pass began to a piece. */
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

/* Whether what all workers could read at once reaches it. */
static bool
near_run(struct job *job)
{
	uint64_t run = next_run(job);

	return run != UINT64_MAX && run - map_cursor(&job->map) <=
	    (uint64_t)job->p->chunk * job->p->workers;
}

/* Whether a worker is to read alone. */
static bool
wary(struct job *job)
{
	struct rescue *r = job->rescue;
	const struct pass *pass = r->pass;

	if (pass->how != COPY || pass->skip == NO_SKIP || job->p->workers == 1)
		return false;
	if (job->p->opts->minrate > 0)	/* side by side all are slow */
		return true;
	return !pass_is_first(pass) || clock_seconds() < r->wary_until ||
	    course_piece(&r->course, gone_over(job), WARY) < WARY ||
	    near_run(job);
}

/* What may fail at once: a small part of the disk, a power of two; bytes. */
static size_t
part_most(const struct job *job)
{
	size_t n = WARY;

	while (n < MARK && n * 2 <= job->p->length / SMALL_PART)
		n *= 2;
	return n;
}

/* The bytes of a claim. */
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
 * The part of a read before the block that the disk calls bad is likely good:
 * one more read spares the trim pass as many as there are blocks in it.
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

/* A worker, or a disk, that takes so long for a piece is in a bad area. */
static bool
slow(const struct job *job, uint64_t bytes, double seconds)
{
	return seconds > slow_read ||
	    (double)bytes < (double)job->p->opts->minrate * seconds;
}

/* Leave out as much behind a piece as the disk has taught. */
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

/* An error took so long, and others may not be far. */
static void
be_wary(struct rescue *r, double seconds)
{
	double until = clock_seconds() + seconds * wary_for;

	if (until > r->wary_until)
		r->wary_until = until;
}

/* Leave out what lies behind a piece, and go on with care. */
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

/* The first pass has come through a piece. */
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

/* What a read says of the area, from which another may have gone on. */
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
 * Read what a worker holds from "at" on, and note what it says of the area: all
 * well?
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
	if (errno_is_medium(io->err) && seconds > r->longest)
		r->longest = seconds;
	if (errno_is_medium(io->err))
		*io = read_before(w, &h->seg, at, *io);
	h->calm = !errno_is_medium(io->err) && !slow(job, io->done, seconds);
	if (!h->calm || io->err == 0)
		note_area(w, h, &seg, seconds);
	h->calm = h->calm && io->done == io->len;
	return h->calm;
}

/*
 * To hand the turn over takes as long as to read a small piece.  So who has it
 * goes on with what follows while the buffer has room.
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
 * Read a piece, and with the turn (ticket) as much more as is claimed to it.
 * Returns all of it as if it had been one read.
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

/* Bytes that are trimmed as a whole. */
static size_t
mark_most(const struct job *job)
{
	return pass_is_first(job->rescue->pass) ? part_most(job) : WARY;
}

/*
 * A piece that failed is to be trimmed as a whole.  Only one that was read when
 * nothing was wrong yet is longer, and goes back to be read in smaller ones.
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
	good = good > io.done ? 0 : good;	/* begins within a block */
	if (!source_keep(w, seg->off, good))
		return false;
	len -= good;
	if (len > mark_most(job))
		return true;
	at = seg->off + good;
	return transfer_settle(w, at, len, block_at(job->rescue, at, at +
	    len) == len ? BAD : UNTRIMMED);
}

/* Whether the pass goes by the block, and pays for each. */
static bool
by_block(const struct pass *pass)
{
	return pass->how == TRIM || pass->how == SKIM || pass->how == SCRAPE;
}

/* Write fill= over a piece; where the text begins depends on the place only. */
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

/* Seconds after which who reads is left behind: longer than errors take. */
static double
patience(const struct rescue *r)
{
	return slow_read > 2 * r->longest ? slow_read : 2 * r->longest;
}

/*
 * The same where the disk can read elsewhere meanwhile: once a read takes for
 * long what seems to become an error like the others.
 */
static double
hint(const struct rescue *r)
{
	double s = r->longest > 0 ? r->longest / 4 : slow_read;

	return s > hint_least ? s : hint_least;
}

/* Pay for what is to be read, and wait to be the only one who reads. */
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

/* The bytes that are read of a gap at once: much where a jump is dear. */
static size_t
most_of_gap(struct job *job)
{
	size_t chunk = job->p->chunk;

	return job->rescue->rotates ? chunk : course_piece(
	    &job->rescue->course, job->p->length, least(WARY, chunk));
}

/*
 * A piece of a gap.  Where the midst of each that has no good end is tried,
 * that is a block: if it is bad, it is no error that would not be met later.
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
 * The next piece of what has not been jumped over: up to where a bad run is
 * expected, and of that the first block.  Returns as map_claim.
 */
static int
claim_ahead(struct job *job, struct seg *seg)
{
	uint64_t run = next_run(job);

	if (run == map_cursor(&job->map))
		run += block_at(job->rescue, run, job->p->length);
	return map_claim_to(&job->map, run, false, seg);
}

/* The next piece of the pass; returns as map_claim. */
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

/* Claim a piece, alone if that is wise; returns as map_claim. */
static int
claim(struct worker *w, struct hold *h)
{
	struct job *job = w->job;
	struct rescue *r = job->rescue;
	struct fault f;
	int claimed;

	if (wary(job) && !enter(job, &h->ticket))
		return 0;
	if (job->stop) {		/* waiting, time has passed */
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

/* Pay for a piece, unless that is done, or is done block by block. */
static bool
pay(struct job *job, const struct hold *h)
{
	return h->ticket != 0 || by_block(job->rescue->pass) ||
	    rate_wait(&job->rate, h->seg.len, job->halt);
}

/*
 * Between what is bad and what was given up, untried, good blocks are seldom:
 * they come last.
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

/* What is left of the gap that a piece was part of. */
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

/* Where a jump is dear, what is read block by block is read in one place. */
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
	/* What was not come to is as it was, and the next run's. */
	if (job->stop && map_next(&job->map, h.seg.off, CLAIMED, &left) &&
	    left.off < h.seg.off + h.seg.len) {
		left.status = pass->from;
		map_back(&job->map, &left);
	}
	return transfer_settle(w, h.seg.off, h.seg.len, pass->from) && more &&
	    give_back(job, &h);
}
