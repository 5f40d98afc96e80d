/*
 * Trying a piece of a rescue block by block, after a read of it has failed.  A
 * block is what fails as a whole.
 */
#include "blocks.h"

#include "block.h"
#include "copy/transfer.h"
#include "pass.h"
#include "rescue/liveness.h"
#include "rescue/rescue.h"
#include "source.h"

enum {
	PART_BACK = 8 << 10,	/* bytes trimmed at a time from the end */
	SKIM_LEAST = 8,		/* blocks skipped after a first error */
};

/*
 * Try one or more blocks. 1: all are good; 0: one is bad; -1: the worker has to
 * end.
 */
static int
try_range(struct worker *w, uint64_t off, size_t len)
{
	bool one = block_at(w->job->rescue, off, off + len) == len;
	struct io io;

	if (pass_given_up(w->job) ||
	    !rate_wait(&w->job->rate, len, w->job->halt))
		return -1;
	io = source_read(w, off, 0, len, CAREFULLY);
	if (io.err == 0 && io.done == len)
		return source_keep(w, off, len) ? 1 : -1;
	if (errno_is_medium(io.err))
		return !one || transfer_settle(w, off, len, BAD) ? 0 : -1;
	source_fail(w, &io);
	return -1;
}

/* Whether the neighbour at off is good, or not wanted, or does not exist. */
static bool
good_at(struct map *map, uint64_t off)
{
	enum seg_status s = map_at(map, off);

	return s == FINISHED || s == OUTSIDE;
}

/* Trim forwards to the first bad block. 0: there was one; 1: there was none. */
static int
trim_front(struct worker *w, uint64_t *from, uint64_t to)
{
	int good = *from == 0 || good_at(&w->job->map, *from - 1);
	size_t n;

	while (good == 1 && *from < to && !w->job->stop) {
		n = block_at(w->job->rescue, *from, to);
		good = try_range(w, *from, n);
		*from += n;
	}
	return good;
}

/*
 * Where to read from when trimming backwards on a disk that seeks slowly: half
 * of the rest, because a part that fails will be scraped soon.  If scraping
 * comes much later, a part small enough to be trimmed block by block.
 */
static uint64_t
back_from(const struct worker *w, uint64_t from, uint64_t to, bool soon)
{
	uint64_t n = soon ? (to - from) / 2 : PART_BACK;
	uint64_t at = block_last(w->job->rescue, from, to);

	if (n <= to - at || at == from)
		return at;
	return n < to - from ? block_last(w->job->rescue, from, to - n + 1) :
	    from;
}

/* Trim backwards, as trim_front does forwards. */
static int
trim_back(struct worker *w, uint64_t from, uint64_t *to, bool soon)
{
	bool parts = w->job->rescue->rotates;
	int good = good_at(&w->job->map, *to);
	uint64_t at, last;

	while (good == 1 && from < *to && !w->job->stop) {
		last = block_last(w->job->rescue, from, *to);
		at = parts ? back_from(w, from, *to, soon) : last;
		good = try_range(w, at, (size_t)(*to - at));
		if (good == 1 || at == last)
			*to = at;
		else if (good == 0 && !soon) {
			parts = false;
			good = 1;
		}
	}
	return good;
}

/*
 * An end next to a bad block was trimmed before, and beyond untried data that
 * was given up nothing good is expected yet.  Once both ends are trimmed the
 * rest is marked for scraping, even if the copy is being stopped, or ddrescue
 * would forget to scrape it.
 */
bool
blocks_trim(struct worker *w, const struct seg *seg)
{
	uint64_t from = seg->off, to = seg->off + seg->len;
	bool soon = from == 0 || map_at(&w->job->map, from - 1) != UNTRIED;
	int front = trim_front(w, &from, to), back = -1;

	if (front == 0)
		back = trim_back(w, from, &to, soon);
	if (front < 0 || back < 0)
		return front == 1 && from >= to;
	if (from >= to)
		return true;
	if (front != 0 || back != 0)
		return false;
	liveness_note(w, from, to - from, UNTRIMMED);
	return transfer_settle(w, from, to - from, UNSCRAPED);
}

bool
blocks_scrape(struct worker *w, const struct seg *seg)
{
	const struct pass *pass = w->job->rescue->pass;
	bool down = pass->from == BAD && pass_backwards(w->job, pass);
	uint64_t from = seg->off, to = seg->off + seg->len, at;
	size_t n;

	while (from < to && !w->job->stop) {
		at = down ? block_last(w->job->rescue, from, to) : from;
		n = down ? (size_t)(to - at) :
		    block_at(w->job->rescue, from, to);
		if (try_range(w, at, n) < 0)
			return false;
		if (down)
			to = at;
		else
			from += n;
	}
	return from >= to;
}

/*
 * Skim forwards: skip some blocks after an error, twice as many after the next,
 * none after a good block.
 */
static bool
skim_up(struct worker *w, const struct seg *seg)
{
	uint64_t at = seg->off, to = seg->off + seg->len, skip = 0;
	int good = at > 0 && map_at(&w->job->map, at - 1) == BAD ? 0 : 1;
	size_t n;

	while (at < to && !w->job->stop) {
		skip = good == 1 ? 0 : skip == 0 ? SKIM_LEAST : skip * 2;
		at += skip * w->job->rescue->unit;
		if (at >= to)
			break;
		n = block_at(w->job->rescue, at, to);
		good = try_range(w, at, n);
		if (good < 0)
			return false;
		at += n;
	}
	return true;
}

/* Skim backwards from the end, where data is good, to the first error. */
static bool
skim_down(struct worker *w, const struct seg *seg)
{
	uint64_t from = seg->off, to = seg->off + seg->len, last;
	int good = map_at(&w->job->map, to) == BAD ? 0 : 1;

	while (from < to && good == 1 && !w->job->stop) {
		last = block_last(w->job->rescue, from, to);
		good = try_range(w, last, (size_t)(to - last));
		to = last;
	}
	return good >= 0;
}

bool
blocks_skim(struct worker *w, const struct seg *seg)
{
	return pass_backwards(w->job, w->job->rescue->pass) ?
	    skim_down(w, seg) : skim_up(w, seg);
}
