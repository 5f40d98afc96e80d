/*
 * A piece of a rescue, tried block by block: what a read that failed has left.
 * A block is what fails as one.
 */
#include "blocks.h"

#include <errno.h>

#include "block.h"
#include "copy/piece.h"
#include "copy/transfer.h"
#include "pass.h"
#include "rescue/liveness.h"
#include "rescue/rescue.h"
#include "source.h"

enum {
	PART_BACK = 8 << 10,	/* bytes that are trimmed from behind at once */
	SKIM_LEAST = 8,		/* blocks left out by skimming, the same */
};

/*
 * One block, or some: 1 all is good, 0 it is bad, or one of them is, -1 the
 * worker has to end.
 */
static int
try_range(struct worker *w, uint64_t off, size_t len)
{
	bool one = block_at(w->job->rescue, off, off + len) == len;
	struct io io;

	if (pass_given_up(w->job) ||
	    !rate_wait(&w->job->rate, len, w->job->halt))
		return -1;
	io = source_read(w, off, 0, len, true);
	if (io.err == 0 && io.done == len)
		return source_keep(w, off, len) ? 1 : -1;
	if (errno_is_medium(io.err))
		return !one || transfer_settle(w, off, len, BAD) ? 0 : -1;
	source_fail(w, &io);
	return -1;
}

/* Whether what adjoins an end is good, or not wanted, or not there. */
static bool
good_at(struct map *map, uint64_t off)
{
	enum seg_status s = map_at(map, off);

	return s == FINISHED || s == OUTSIDE;
}

/* From the front, block by block up to the first bad one; 0: met, 1: none. */
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
 * Where to read from, from behind, where a jump is dear: half of what is left,
 * of which a part that fails will be scraped soon; or, where that comes last of
 * all, a part that is small enough to be gone over block by block then.
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

/* The same as trim_front from behind. */
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
 * An end that adjoins a bad block has been trimmed before, and behind what was
 * given up, untried, nothing good is to be expected yet.  With both ends
 * trimmed the rest is to be scraped, even if the copy is being stopped: in a
 * map where it is not, ddrescue would forget to scrape it.
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

/* Block by block from behind, where good data is, up to the first error. */
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
