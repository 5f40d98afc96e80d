/*
 * One piece of a rescue: claimed as the pass wants it, read, written, settled;
 * or tried block by block.
 *
 * An error costs a disk as much as hundreds of good reads, and workers side by
 * side would meet the same bad area together.  So a pass that leaves something
 * out reads one piece at a time (the gate), a small one, and the others write
 * meanwhile; the first does so for a while after an error.  A worker that is
 * stuck in a slow read is left behind, and so is the area.
 */
#include "rescue/rescue.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/status.h"
#include "copy/piece.h"
#include "copy/transfer.h"
#include "pass.h"
#include "rescue/pulse.h"

enum {
	CLUSTER = 64 << 10,	/* bytes of a piece between known errors */
	WARY = 256 << 10,	/* bytes of a piece for a while after one */
	SKIP_LEAST = 256 << 10,	/* bytes left out behind a first error, */
	SKIP_MOST = 16 << 20,	/* and at most, in the first pass */
	SKIM_LEAST = 8,		/* blocks left out by skimming, the same */
};

static const double slow_read = 1.0;	/* seconds; worth leaving the area */
static const double wary_for = 20;	/* times as long as an error took */

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Whether a worker is to read alone. */
static bool
wary(const struct job *job)
{
	const struct rescue *r = job->rescue;
	const struct pass *pass = r->pass;

	if (pass->how != COPY || pass->skip == NO_SKIP || job->p->workers == 1)
		return false;
	if (job->p->opts->minrate > 0)	/* side by side all are slow */
		return true;
	return !pass_is_first(pass) || clock_seconds() < r->wary_until;
}

/*
 * The bytes of a piece for a while after an error: not much of a small disk is
 * to be lost from sight with it.
 */
static size_t
wary_size(const struct job *job)
{
	uint64_t part = job->p->length >> 12;

	part -= part % CLUSTER;
	part = part < CLUSTER ? CLUSTER : part < WARY ? part : WARY;
	return least(job->p->chunk, (size_t)part);
}

/* The bytes of a claim. */
static size_t
piece_size(const struct job *job)
{
	const struct rescue *r = job->rescue;
	size_t n = job->p->chunk;

	if (!pass_is_first(r->pass))
		n = least(n, CLUSTER);
	else if (clock_seconds() < r->wary_until)
		n = wary_size(job);
	return rate_piece(&job->rate, job->p, n);
}

/*
 * The bytes left out behind a first error.  In the first pass that is as much
 * as bad areas are large, more on a large disk.
 */
static uint64_t
first_skip(const struct job *job)
{
	uint64_t skip = job->p->length >> 12, most = job->p->length / 100;

	if (!pass_is_first(job->rescue->pass))
		return piece_size(job);
	skip = skip < SKIP_LEAST ? SKIP_LEAST : skip;
	skip = skip < SKIP_MOST ? skip : SKIP_MOST;
	skip = skip < most ? skip : most;
	return skip < wary_size(job) ? wary_size(job) : skip;
}

/* Read to the place "at" of the buffer what lies so far behind off. */
static struct io
read_source(struct worker *w, uint64_t off, size_t at, size_t len,
    bool careful)
{
	size_t mark = pulse_mark(w);
	struct io io = transfer_read(w, off, at, len, careful);

	pulse_feel(w, &io, off + at, w->job->rescue->pass->from, mark);
	return io;
}

/* A source that has gone, or ends before its end, stops the copy. */
static void
fail_read(struct worker *w, const struct io *io)
{
	struct job *job = w->job;
	struct fault f;

	if (io->err != 0) {
		transfer_fail_read(job, io);
		return;
	}
	fault_set(&f, STATUS_SHORT, "%s ends at byte %llu, before the end of "
	    "what was to be copied", job->p->src->name,
	    (unsigned long long)(io->off + io->done));
	job_fail(job, &f);
}

/* Write what was read, and note it; false ends the worker. */
static bool
keep_good(struct worker *w, uint64_t off, size_t len)
{
	if (len == 0)
		return true;
	if (!transfer_write_end(w, off, len))
		return false;
	w->job->read += len;
	return transfer_settle(w, off, len, FINISHED);
}

/*
 * The part of a read before the block that the disk calls bad is likely good:
 * one more read spares the trim pass as many as there are blocks in it.
 */
static struct io
read_before(struct worker *w, const struct seg *seg, size_t at, struct io io)
{
	uint64_t bad = transfer_hint(&io);
	uint64_t start = w->job->p->src_off + seg->off + at;
	struct io again;

	bad -= bad % w->job->p->block;
	if (transfer_hint(&io) == NOWHERE || bad <= start + io.done ||
	    bad >= start + io.len)
		return io;
	again = read_source(w, seg->off, at, (size_t)(bad - start), true);
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

/* Leave out what lies behind a piece, and go on with care. */
static void
skip_area(struct job *job, const struct seg *seg, double seconds)
{
	struct rescue *r = job->rescue;
	uint64_t first = first_skip(job), most = job->p->length / 100;

	r->wary_until = clock_seconds() + seconds * wary_for;
	if (r->pass->skip == GAP)
		map_leave(&job->map, seg);
	else if (r->pass->skip == AHEAD)
		map_skip(&job->map, seg, first, most > first ? most : first);
}

/* Read a piece from "at" on, and note what it says of the area: all well? */
static bool
read_rest(struct worker *w, const struct seg *seg, size_t at, struct io *io)
{
	struct job *job = w->job;
	double start = clock_seconds(), seconds;
	bool calm;

	*io = read_source(w, seg->off, at, (size_t)seg->len - at, false);
	seconds = clock_seconds() - start;
	if (errno_is_medium(io->err))
		*io = read_before(w, seg, at, *io);
	calm = !errno_is_medium(io->err) && !slow(job, io->done, seconds);
	if (!calm)
		skip_area(job, seg, seconds);
	else if (io->err == 0)
		map_go_on(&job->map);
	return calm && io->done == io->len;
}

/*
 * To hand the turn over takes as long as to read a small piece.  So who has it
 * goes on with what follows while the buffer has room.
 */
static bool
keep_turn(struct job *job, uint64_t ticket, struct seg *seg)
{
	struct seg next;

	if (ticket == 0 || job->stop || !wary(job) ||
	    rate_due(&job->rate, piece_size(job)) > 0 ||
	    map_claim_on(&job->map, seg, seg->off + job->p->chunk, &next) <= 0)
		return false;
	gate_reads(&job->rescue->gate, ticket, &next);
	seg->len += next.len;
	return true;
}

/*
 * Read a piece, and with the turn (ticket) as much more as is claimed to it.
 * Returns all of it as if it had been one read.
 */
static struct io
read_area(struct worker *w, struct seg *seg, uint64_t ticket)
{
	struct io io = { .done = 0 };
	size_t at = 0;

	while (read_rest(w, seg, at, &io) &&
	    keep_turn(w->job, ticket, seg))
		at += io.done;
	gate_leave(&w->job->rescue->gate, ticket);
	io.off -= at;
	io.len += at;
	io.done += at;
	return io;
}

/* The block at off, or as much of it as lies before end. */
static size_t
block_at(const struct worker *w, uint64_t off, uint64_t end)
{
	const struct plan *p = w->job->p;
	uint64_t n = p->block - (p->src_off + off) % p->block;

	return (size_t)(n < end - off ? n : end - off);
}

/*
 * A piece that failed is to be trimmed as a whole.  Only one that was read when
 * nothing was wrong yet is longer, and goes back to be read in smaller ones.
 */
static bool
copy_piece(struct worker *w, struct seg *seg, uint64_t ticket)
{
	struct job *job = w->job;
	struct io io = read_area(w, seg, ticket);
	uint64_t end = io.off + io.done, at;
	size_t len = (size_t)seg->len, good;

	if (io.err == 0 && io.done == len)
		return keep_good(w, seg->off, len);
	if (!errno_is_medium(io.err)) {
		fail_read(w, &io);
		return false;
	}
	good = io.done - (size_t)(end % job->p->block);
	good = good > io.done ? 0 : good;	/* begins within a block */
	if (!keep_good(w, seg->off, good))
		return false;
	len -= good;
	if (len > WARY)
		return true;
	at = seg->off + good;
	return transfer_settle(w, at, len, block_at(w, at, at + len) == len ?
	    BAD : UNTRIMMED);
}

/* One block: 1 it is good, 0 it is bad, -1 the worker has to end. */
static int
try_block(struct worker *w, uint64_t off, size_t len)
{
	enum how how = w->job->rescue->pass->how;
	struct io io;

	if (pass_given_up(w->job) || ((how == TRIM || how == SKIM) &&
	    !rate_wait(&w->job->rate, len, w->job->halt)))
		return -1;
	io = read_source(w, off, 0, len, true);
	if (io.err == 0 && io.done == len)
		return keep_good(w, off, len) ? 1 : -1;
	if (errno_is_medium(io.err))
		return transfer_settle(w, off, len, BAD) ? 0 : -1;
	fail_read(w, &io);
	return -1;
}

/* Where the last block before "to" begins, or as much of it as from on. */
static uint64_t
last_block(const struct worker *w, uint64_t from, uint64_t to)
{
	uint64_t n = (w->job->p->src_off + to - 1) % w->job->p->block + 1;

	return n < to - from ? to - n : from;
}

/*
 * An end that adjoins a bad block has been trimmed before.  With both ends
 * trimmed the rest is to be scraped, even if the copy is being stopped: in a
 * map where it is not, ddrescue would forget to scrape it.
 */
static bool
trim_piece(struct worker *w, const struct seg *seg)
{
	struct map *map = &w->job->map;
	uint64_t from = seg->off, to = seg->off + seg->len, last;
	int front = from > 0 && map_at(map, from - 1) == BAD ? 0 : 1, back;
	size_t n;

	while (front == 1 && from < to && !w->job->stop) {
		n = block_at(w, from, to);
		front = try_block(w, from, n);
		from += n;
	}
	back = map_at(map, to) == BAD ? 0 : 1;
	while (front == 0 && back == 1 && from < to && !w->job->stop) {
		last = last_block(w, from, to);
		back = try_block(w, last, (size_t)(to - last));
		to = last;
	}
	if (front < 0 || back < 0)
		return false;
	if (from >= to)
		return true;
	if (front != 0 || back != 0)
		return false;
	pulse_note(w, from, to - from, UNTRIMMED);
	return transfer_settle(w, from, to - from, UNSCRAPED);
}

/* Block by block; a retry that goes backwards does so within the piece. */
static bool
scrape_piece(struct worker *w, const struct seg *seg)
{
	const struct pass *pass = w->job->rescue->pass;
	bool down = pass->from == BAD && pass_backwards(w->job, pass);
	uint64_t from = seg->off, to = seg->off + seg->len, at;
	size_t n;

	while (from < to && !w->job->stop) {
		at = down ? last_block(w, from, to) : from;
		n = down ? (size_t)(to - at) : block_at(w, from, to);
		if (try_block(w, at, n) < 0)
			return false;
		if (down)
			to = at;
		else
			from += n;
	}
	return from >= to;
}

/*
 * Block by block, forwards.  Behind an error some blocks are left out, twice as
 * many behind the next one, none behind a good one.
 */
static bool
skim_up(struct worker *w, const struct seg *seg)
{
	uint64_t at = seg->off, to = seg->off + seg->len, skip = 0;
	int good = at > 0 && map_at(&w->job->map, at - 1) == BAD ? 0 : 1;
	size_t n;

	while (at < to && !w->job->stop) {
		skip = good == 1 ? 0 : skip == 0 ? SKIM_LEAST : skip * 2;
		at += skip * w->job->p->block;
		if (at >= to)
			break;
		n = block_at(w, at, to);
		good = try_block(w, at, n);
		if (good < 0)
			return false;
		at += n;
	}
	return true;
}

/* Block by block from behind, where good data is, up to the first error. */
static bool
skim_down(struct worker *w, const struct seg *seg)
{
	uint64_t from = seg->off, to = seg->off + seg->len, last;
	int good = map_at(&w->job->map, to) == BAD ? 0 : 1;

	while (from < to && good == 1 && !w->job->stop) {
		last = last_block(w, from, to);
		good = try_block(w, last, (size_t)(to - last));
		to = last;
	}
	return good >= 0;
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

/* Pay for what is to be read, and wait to be the only one who reads. */
static bool
enter(struct job *job, uint64_t *ticket)
{
	struct rescue *r = job->rescue;
	struct seg stuck;

	if (!rate_wait(&job->rate, piece_size(job), job->halt))
		return false;
	*ticket = gate_enter(&r->gate, slow_read, &stuck);
	if (stuck.len > 0)
		skip_area(job, &stuck, slow_read);
	return true;
}

/* Claim a piece, alone if that is wise; returns as map_claim. */
static int
claim(struct worker *w, struct seg *seg, uint64_t *ticket)
{
	struct job *job = w->job;
	struct rescue *r = job->rescue;
	enum how how = r->pass->how;
	struct fault f;
	int claimed;

	*ticket = 0;
	if (wary(job) && !enter(job, ticket))
		return 0;
	if (job->stop) {		/* waiting, time has passed */
		gate_leave(&r->gate, *ticket);
		return 0;
	}
	map_pieces(&job->map, piece_size(job));
	claimed = how == TRIM || how == SKIM ? map_claim_all(&job->map, seg) :
	    map_claim(&job->map, seg);
	if (claimed < 0) {
		fault_errno(&f, ENOMEM, "the map of the copy");
		job_fail(job, &f);
	}
	if (claimed > 0)
		gate_reads(&r->gate, *ticket, seg);
	else
		gate_leave(&r->gate, *ticket);
	return claimed;
}

/* Pay for a piece, unless that is done, or is done block by block. */
static bool
pay(struct job *job, const struct seg *seg, uint64_t ticket)
{
	enum how how = job->rescue->pass->how;

	return ticket != 0 || how == TRIM || how == SKIM ||
	    rate_wait(&job->rate, seg->len, job->halt);
}

static bool
run_piece(struct worker *w, struct seg *seg, uint64_t ticket)
{
	const struct pass *pass = w->job->rescue->pass;

	switch (pass->how) {
	case COPY:
		return copy_piece(w, seg, ticket);
	case TRIM:
		return trim_piece(w, seg);
	case SKIM:
		return pass_backwards(w->job, pass) ? skim_down(w, seg) :
		    skim_up(w, seg);
	case SCRAPE:
		return scrape_piece(w, seg);
	case FILL:
		return fill_piece(w, seg);
	}
	return false;
}

bool
rescue_piece(struct worker *w)
{
	struct job *job = w->job;
	const struct pass *pass = job->rescue->pass;
	uint64_t ticket;
	struct seg seg, left;
	bool more = false;

	if (job->stop || pass_given_up(job) || claim(w, &seg, &ticket) <= 0)
		return false;
	if (pay(job, &seg, ticket))
		more = run_piece(w, &seg, ticket);
	/* What was not come to is as it was, and the next run's. */
	if (job->stop && map_next(&job->map, seg.off, CLAIMED, &left) &&
	    left.off < seg.off + seg.len) {
		left.status = pass->from;
		map_back(&job->map, &left);
	}
	return transfer_settle(w, seg.off, seg.len, pass->from) && more;
}
