/*
 * The gaps, and the one rule of a rescue.  Each gap, a range that is unread,
 * has a hope: how many good bytes it promises for each error, by its kind, its
 * length, and what came of gaps like it on this disk.  The gap with the
 * highest hope is read:
 *
 *	from an end next to good data, piece by piece, until one fails;
 *	a fresh one without such an end is jumped into; what was jumped over
 *	is skipped where the landing was good, and dead where it was bad;
 *	a dead one is tried in its middle; each probe that fails takes more
 *	than half of its hope;
 *	a piece that has failed is read in small reads up to what is bad.
 *
 * Going on behind a bad area, coming back to what was skipped, giving up,
 * trimming and scraping are nothing but the order that the hopes give.
 *
 * A piece is so small that what one failed read puts out of reach does not
 * matter: 1/SHARE of the bytes read so far for each error.
 *
 * A jump is as long as what was enough for most of the last bad runs; the next
 * one, as what was enough for those of them that were longer than what is known
 * to be bad, or three times as far.  A jump that was enough at once may have
 * been too long: less is remembered, unless a little less is known to fail.
 *
 * Long runs at equal distances are a pattern (forecast.c): after three
 * the exact ends of two are found, and a block between them is tried, for a
 * jump may cross several small ones.  Then the next is foretold, and left out
 * without an error: what follows it is read, its ends when little is hoped for.
 *
 * Where a piece that failed has been read after all, in small reads (longer
 * ones fail there), the next ones are at once.
 *
 * A skipped gap with one good end ends in what is bad, so it promises no more
 * than is left of it.
 *
 * At last little is hoped for, and "rest" begins: all ends next to good data
 * are read, by the block, to the first bad one; then the middles of what lies
 * between; what promises next to nothing is read from its first block on.
 *
 * What a reader of view= waits for is read before all else, in one piece of its
 * own; what failed of it, block by block, up to the first that is bad.  Nothing
 * is learned from it but where good data is.
 *
 * What is in no gap of the heap one worker has.  The map has
 * what has failed at once, and what is good when it is written.  A rescue that
 * goes backwards sees the mirror image of the disk.
 *
 *	g	gaps->lock; only map->lock is taken with it held
 */
#include "rescue/gaps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>

#include "base/clock.h"
#include "cli/opts.h"

enum {
	SHARE = 250,
	NEAR = 16,		/* a piece is 1/NEAR of the hope, at most */
	MOST = 512 << 10,	/* bytes of a piece after the first error */
	FIRST_JUMP = 8 << 10,	/* bytes, when nothing is known */
	GROW = 3,		/* a jump that failed */
	FRESH_PART = 16,	/* what is hoped for before the first error */
	DEAD_PART = 5,		/* 1/DEAD_PART of a dead gap may be good, */
	FAILED_PART = 20,	/* and of a piece that failed */
	FINE = 1024,		/* reads of a piece that failed */
	LARGE_PART = 16,	/* of the disk, in a map begun: fresh */
	HOPELESS = 16,		/* a block for so many errors */
	SWEEP = 64 << 10,	/* bytes */
	PROBES = 16,		/* in a row that failed: as hopeless */
	REST = 512,		/* blocks per error, */
	DRY = 16,		/* and probes that failed in a row */
	TIGHT = 16,		/* 1/TIGHT of a jump need not be known */
	TRY = 32,		/* errors until one is tried in small reads */
	MOMENT = 100000000,	/* ns: until a worker sees that it must stop */
};

static const double jump_loss = .6;	/* of hope behind a jump that failed, */
static const double probe_loss = .45;	/* and of a dead gap with a probe */
static const double too_far = .6;	/* of what was enough at once */
static const double least_jump = .7;	/* pieces */
static const double outdated = .5;	/* a hope that has become less */
static const double seek = .008;	/* seconds, where a disk rotates */

void
gaps_begin(struct gaps *g, struct map *map, uint64_t unit, uint64_t off,
    uint64_t first)
{
	static const double part[GAP_KINDS] = { 1, 1, DEAD_PART, FAILED_PART };
	size_t kind, i;

	*g = (struct gaps){ .map = map, .unit = unit, .off = off,
		.first = first };
	pthread_mutex_init(&g->lock, NULL);
	clock_condition(&g->moved);
	for (kind = 0; kind < GAP_KINDS; kind++)
		for (i = 0; i < GAPS_SCALES; i++)
			g->yield[kind][i] = (struct yield){
				ldexp(1 / part[kind], (int)i), 1 };
}

void
gaps_end(struct gaps *g)
{
	pthread_cond_destroy(&g->moved);
	pthread_mutex_destroy(&g->lock);
	free(g->heap);
}

/* --- places --------------------------------------------------------------- */

/* A range as the map has it; and the other way round. */
static struct seg
gaps_mirrored(const struct gaps *g, uint64_t off, uint64_t end)
{
	return (struct seg){ .off = g->backwards ? g->length - end : off,
		.len = end - off };
}

/* The end of the block that off lies in. */
static uint64_t
block_end(const struct gaps *g, uint64_t off)
{
	return off + g->unit - (g->phase + off) % g->unit;
}

/* The beginning of a block, n bytes before "end", but not before off. */
static uint64_t
block_begin(const struct gaps *g, uint64_t off, uint64_t end, uint64_t n)
{
	uint64_t at = end - off > n ? end - n : off, part;

	if (at == end)
		at--;
	part = (g->phase + at) % g->unit;
	return at - off > part ? at - part : off;
}

/* The end of n bytes from off on, at least one block, but not behind "end". */
static uint64_t
piece_end(const struct gaps *g, uint64_t off, uint64_t end, uint64_t n)
{
	uint64_t one = block_end(g, off), to = off + MIN(n, end - off);

	if (n <= g->unit || one >= end)
		return MIN(one, end);
	if (to >= end)
		return end;
	return to <= one ? one : to - (g->phase + to) % g->unit;
}

/* --- what is hoped for ---------------------------------------------------- */

static size_t
scale_of(uint64_t len)
{
	return len > 0 ? (size_t)(63 - __builtin_clzll(len)) : 0;
}

/* What came of a gap: those of other lengths learn from it, too, but less. */
static void
gaps_learn(struct gaps *g, enum gap_kind kind, uint64_t len, uint64_t bytes,
    unsigned errors)
{
	static const double weight[] = { .2, .5, 1, .5, .2 };
	size_t at = scale_of(len), i, k;
	struct yield *y;

	for (i = 0; i < 5; i++) {
		k = at + i;
		if (k < 2 || k - 2 >= GAPS_SCALES)
			continue;
		y = &g->yield[kind][k - 2];
		y->bytes = y->bytes * (1 - .1 * weight[i]) + weight[i] *
		    ldexp((double)bytes, (int)i - 2);
		y->errors = y->errors * (1 - .1 * weight[i]) +
		    weight[i] * errors;
	}
}

static double
yield_of(const struct gaps *g, enum gap_kind kind, uint64_t len)
{
	const struct yield *y = &g->yield[kind][scale_of(len)];

	return y->bytes / (y->errors + .05);
}

static bool
open_ended(const struct gap *gap)
{
	return gap->front || gap->back;
}

static double
hope_power(double x, unsigned n)
{
	double y = 1;

	while (n-- > 0)
		y *= x;
	return y;
}

/* What a gap without a good end promises by itself. */
static double
promise_of(const struct gap *gap)
{
	double len = (double)(gap->end - gap->off);

	return gap->kind == GAP_FRESH ?
	    len / 2 * hope_power(jump_loss, gap->fails) :
	    len / DEAD_PART * hope_power(probe_loss, gap->fails);
}

static double
hope_of(const struct gaps *g, const struct gap *gap)
{
	double fresh = g->fresh.bytes / g->fresh.errors;
	double yield;

	if (gap->urgent)
		return HUGE_VAL;
	if (gap->kind == GAP_FRESH)
		return gap->front || gap->foretold ? fresh :
		    MIN(promise_of(gap), fresh * hope_power(jump_loss,
		    gap->fails));
	if (gap->foretold)
		return (double)g->unit;
	yield = yield_of(g, gap->kind, gap->was);
	if (gap->kind == GAP_SKIPPED && gap->front != gap->back)
		return MIN(yield, (double)(gap->end - gap->off));
	return gap->kind == GAP_DEAD ? MIN(yield, promise_of(gap)) : yield;
}

/* These are left: they are read from the first on, block by block. */
static bool
gap_hopeless(const struct gaps *g, const struct gap *gap)
{
	if (gap->status == BAD)
		return true;
	return !open_ended(gap) && gap->kind != GAP_FAILED &&
	    (gap->fails >= PROBES || (gap->end - gap->off <= SWEEP &&
	    promise_of(gap) < (double)g->unit / HOPELESS));
}

/* --- the heap ------------------------------------------------------------- */

static bool
gap_better(const struct gaps *g, const struct gap *a, const struct gap *b)
{
	bool none = gap_hopeless(g, a);

	if (none != gap_hopeless(g, b))
		return !none;
	if (none)
		return a->off < b->off;
	return a->hope != b->hope ? a->hope > b->hope : a->age < b->age;
}

static void
gaps_swap(struct gap *a, struct gap *b)
{
	struct gap t = *a;

	*a = *b;
	*b = t;
}

static void
sift_up(struct gaps *g, size_t i)
{
	size_t up;

	for (; i > 0; i = up) {
		up = (i - 1) / 2;
		if (!gap_better(g, &g->heap[i], &g->heap[up]))
			return;
		gaps_swap(&g->heap[i], &g->heap[up]);
	}
}

static void
sift_down(struct gaps *g, size_t i)
{
	size_t down;

	while ((down = 2 * i + 1) < g->n) {
		if (down + 1 < g->n &&
		    gap_better(g, &g->heap[down + 1], &g->heap[down]))
			down++;
		if (!gap_better(g, &g->heap[down], &g->heap[i]))
			return;
		gaps_swap(&g->heap[i], &g->heap[down]);
		i = down;
	}
}

static int
put_back(struct gaps *g, const struct gap *gap)
{
	struct gap *more;

	if (gap->off >= gap->end)
		return 0;
	if (g->n == g->room) {
		more = reallocarray(g->heap, g->room * 2 + 64, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		g->heap = more;
		g->room = g->room * 2 + 64;
	}
	g->heap[g->n++] = *gap;
	sift_up(g, g->n - 1);
	return 0;
}

static int
put_new(struct gaps *g, struct gap gap)
{
	if (gap.off >= gap.end)
		return 0;
	if (g->rest && open_ended(&gap) && gap.kind != GAP_FRESH &&
	    gap.status != BAD && !gap.foretold) {
		gap.kind = GAP_FAILED;
		gap.urgent = true;
	}
	gap.was = gap.end - gap.off;
	if (gap.kind == GAP_DEAD && gap.off >= g->within.off && gap.end <=
	    g->within.end && gap.was > (g->within.end - g->within.off) / 4)
		gap.urgent = g->unproved;
	gap.got = 0;
	gap.age = g->age++;
	gap.hope = hope_of(g, &gap);
	return put_back(g, &gap);
}

static void
remove_at(struct gaps *g, size_t i)
{
	g->heap[i] = g->heap[--g->n];
	if (i == g->n)
		return;
	sift_up(g, i);
	sift_down(g, i);
}

static void
remove_first(struct gaps *g)
{
	remove_at(g, 0);
}

/* --- from the map --------------------------------------------------------- */

/* Whether a status means data that was read, or is not wanted now. */
static bool
gap_harmless(enum seg_status s)
{
	return s == FINISHED || s == OUTSIDE || s == LATER || s == LAST;
}

/* Bad areas count as errors, and what is finished as read. */
static void
count_earlier(struct gaps *g, const struct seg *seg, size_t n)
{
	bool was = false, is;
	size_t i;

	for (i = 0; i < n; i++) {
		is = seg[i].status == BAD || seg[i].status == UNTRIMMED ||
		    seg[i].status == UNSCRAPED;
		g->errors += is && !was;
		g->have += seg[i].status == FINISHED ? seg[i].len : 0;
		was = is;
	}
	g->fresh = (struct yield){ (double)g->length / FRESH_PART +
		(double)g->have, 1 + (double)g->errors };
}

/* Segment i of n as a gap. */
static struct gap
gap_of(const struct gaps *g, const struct seg *seg, size_t n, size_t i)
{
	bool before = i == 0 ? !g->backwards : gap_harmless(seg[i - 1].status);
	bool behind = i + 1 == n ? g->backwards :
	    gap_harmless(seg[i + 1].status);
	struct seg s = gaps_mirrored(g, seg[i].off, seg[i].off + seg[i].len);
	struct gap gap = { .off = s.off, .end = s.off + s.len,
		.status = seg[i].status, .met = s.off,
		.front = g->backwards ? behind : before,
		.back = g->backwards ? before : behind };

	if (gap.status == UNTRIMMED)
		gap.kind = GAP_FAILED;
	else if (gap.status == UNTRIED && (g->errors == 0 ||
	    s.len > g->length / LARGE_PART))
		gap.kind = GAP_FRESH;
	else
		gap.kind = open_ended(&gap) ? GAP_SKIPPED : GAP_DEAD;
	gap.foretold = gap.kind != GAP_FRESH && gap.status == UNTRIED &&
	    s.len == g->forecast.length;
	gap.fails = g->given_up && gap.kind == GAP_DEAD ? PROBES : 0;
	return gap;
}

/* Whether segments with this status are gaps. */
static bool
filled_with(const struct gaps *g, enum seg_status s)
{
	return g->bad ? s == BAD : s == UNTRIED || s == UNTRIMMED ||
	    s == UNSCRAPED;
}

/* Put what nobody has of a gap that the map has. */
static int
put_apart(struct gaps *g, struct gap gap, unsigned who)
{
	const struct gap_piece *p;
	struct gap before;
	int err = 0;

	for (; who < WORKERS_MOST && err == 0; who++) {
		p = &g->piece[who];
		if (!p->busy || p->gap.end <= gap.off || p->gap.off >= gap.end)
			continue;
		before = gap;
		before.end = p->gap.off;
		before.back = false;
		if (before.off < before.end)
			err = put_apart(g, before, who + 1);
		gap.off = p->gap.end;
		gap.front = p->shared;
	}
	return err != 0 ? err : put_new(g, gap);
}

/* lock: all gaps that nobody has, as the map has them. */
static int
fill_all(struct gaps *g)
{
	struct seg *seg;
	size_t n = map_copy_put_off(g->map, &seg), i, k;
	int err = 0;

	if (n == 0)
		return ENOMEM;
	g->n = 0;
	if (g->have == 0 && g->errors == 0)
		count_earlier(g, seg, n);
	g->rest = g->rest && g->errors > 0;
	for (k = 0; k < n && err == 0; k++) {
		i = g->backwards ? n - 1 - k : k;
		if (filled_with(g, seg[i].status))
			err = put_apart(g, gap_of(g, seg, n, i), 0);
	}
	free(seg);
	return err;
}

/* --- what to read next ---------------------------------------------------- */

static uint64_t
piece_now(const struct gaps *g)
{
	uint64_t n = g->errors == 0 ? g->first :
	    MIN(g->have / SHARE / g->errors, MOST);

	return MAX(g->unit, n);
}

static void
sort_in(uint64_t *to, size_t n, uint64_t value)
{
	for (; n > 0 && to[n - 1] > value; n--)
		to[n] = to[n - 1];
	to[n] = value;
}

/*
 * How far behind the place where a bad run was met to land, if it is bad for
 * "bad" bytes at least.
 */
static uint64_t
jump_of(const struct gaps *g, uint64_t bad, unsigned fails)
{
	uint64_t enough[GAPS_RUNS + 2];
	uint64_t least = bad + (uint64_t)(least_jump * (double)piece_now(g));
	size_t n = 0, i, have = MIN(g->runs, (size_t)GAPS_RUNS);

	for (i = 0; i < have; i++)
		if (fails == 0 || g->run[i] > bad)
			sort_in(enough, n++, g->run[i]);
	for (i = 0; i < 2 && fails > 0; i++)
		sort_in(enough, n++, bad * GROW);
	if (n == 0)
		enough[n++] = FIRST_JUMP;
	i = fails > 0 ? (n - 1) / 2 : (n - 1) * 3 / 4;
	return MAX(enough[i], least);
}

/* The jump into a fresh gap: not beyond its middle. */
static uint64_t
gap_landing(const struct gaps *g, const struct gap *gap, uint64_t n)
{
	uint64_t bad = gap->off - gap->met, len = gap->end - gap->off;
	uint64_t jump = gap->foretold ? 0 :
	    jump_of(g, bad, gap->fails) - bad;

	if (jump > len / 2)
		jump = (len - MIN(n, len)) / 2;
	return gap->off + MIN(jump, len - MIN(n, len));
}

/* What to read of a gap, at most so much. */
static void
gap_choose(const struct gaps *g, const struct gap *gap, uint64_t most,
    struct gap_piece *p)
{
	uint64_t n = piece_now(g), len = gap->end - gap->off;
	double hope = gap->kind == GAP_SKIPPED && !gap->urgent ?
	    yield_of(g, gap->kind, gap->was) : gap->hope;
	uint64_t near = (uint64_t)MIN(hope / NEAR, MOST);
	uint64_t end = gap->end;
	struct run next;
	double block = (double)len * g->seek;

	*p = (struct gap_piece){ .gap = *gap, .off = gap->off, .busy = true };
	if (gap->kind == GAP_FAILED) {
		n = MAX(gap->was / FINE, g->unit);
	} else if (gap_hopeless(g, gap)) {
		n = (g->words & RESCUE_NOSCRAPE) != 0 && gap->status != BAD ?
		    SWEEP : g->unit;
	} else if (!open_ended(gap)) {
		n = gap->kind == GAP_FRESH ? n : MIN(n, len / 8);
		p->off = gap->kind == GAP_FRESH ? gap_landing(g, gap, n) :
		    gap->off + (len - MIN(n, len)) / 2;
		if (gap->kind == GAP_DEAD && gap->urgent) {
			n = g->unit;
			p->off = gap->off + len / 8 * 3;
		}
		p->off = block_begin(g, gap->off, gap->end, gap->end - p->off);
	} else {
		n = g->errors > 0 ? MIN(n, MAX(near, g->unit)) : n;
		if (gap->kind == GAP_FRESH && forecast_next(&g->forecast,
		    &next) && next.off > gap->off)
			end = MIN(end, next.off);
		if (!gap->front)
			p->off = block_begin(g, gap->off, gap->end,
			    block > 2 * (double)n ? (uint64_t)block : n);
	}
	if (gap->front && gap->off >= g->fine.off && gap->off < g->fine.end)
		n = g->unit;
	n = MIN(n, most);
	if (gap->kind == GAP_FAILED && !gap->front && gap->back)
		p->off = block_begin(g, gap->off, gap->end, n);
	p->end = !gap->front && gap->back && p->off + n + g->unit > gap->end ?
	    gap->end : piece_end(g, p->off, end, n);
}

/* Whether the neighbour of a gap in the map is untried. */
static bool
next_to_untried(const struct gaps *g, const struct gap *gap)
{
	struct seg s = gaps_mirrored(g, gap->off, gap->end);

	return (s.off > 0 && map_at(g->map, s.off - 1) == UNTRIED) ||
	    map_at(g->map, s.off + s.len) == UNTRIED;
}

/* Whether rescue= leaves the gap out. */
static bool
gap_unwanted(const struct gaps *g, const struct gap *gap)
{
	const bool failed = gap->status == UNTRIMMED;

	if (failed && (g->words & RESCUE_NOTRIM) != 0)
		return true;
	if ((g->words & RESCUE_NOSCRAPE) != 0 && (gap->status == UNSCRAPED ||
	    (failed && !open_ended(gap))))
		return true;
	return (g->words & RESCUE_NOSWEEP) != 0 && gap_hopeless(g, gap) &&
	    (gap->status == UNTRIED || next_to_untried(g, gap));
}

/* Hopes have changed since the gap was put there. */
static bool
gaps_outdated(struct gaps *g)
{
	struct gap *gap = &g->heap[0];
	double now = hope_of(g, gap);

	if (now >= gap->hope * outdated)
		return false;
	gap->hope = now;
	sift_down(g, 0);
	return true;
}

/*
 * Less than some blocks are hoped for per error, and nothing was found in dead
 * gaps for a while: what is left is taken anew from the map, which knows what
 * has become good beside it since.
 */
static bool
come_to_rest(struct gaps *g)
{
	if (g->rest || g->bad || g->heap[0].hope >= REST * (double)g->unit ||
	    g->dry < DRY + g->errors / DRY)
		return false;
	g->rest = true;
	g->err = fill_all(g);
	return true;
}

/*
 * Where a run of a pattern is foretold, a fresh gap goes on behind it.  Nothing
 * of the run is tried before little is hoped for elsewhere.
 */
static void
leave_out_foretold(struct gaps *g)
{
	struct gap gap = g->heap[0], run = gap;
	struct run next;

	if (gap.kind != GAP_FRESH || !gap.front ||
	    !forecast_next(&g->forecast, &next) || next.off != gap.off ||
	    next.end >= gap.end)
		return;
	remove_first(g);
	run.kind = GAP_SKIPPED;
	run.end = next.end;
	run.back = false;
	run.foretold = true;
	g->err = put_new(g, run);
	gap.met = gap.off;
	gap.off = next.end;
	gap.front = false;
	gap.foretold = true;
	gap.fails = 0;
	if (g->err == 0)
		g->err = put_new(g, gap);
}

/*
 * The next gap that is wanted, left in the heap; NULL if there is none, or no
 * memory for them.
 */
static struct gap *
first_gap(struct gaps *g)
{
	while (g->n > 0 && g->err == 0) {
		if (gaps_outdated(g) || come_to_rest(g))
			continue;
		leave_out_foretold(g);
		if (g->err != 0)
			break;
		if (!gap_unwanted(g, &g->heap[0]))
			return &g->heap[0];
		remove_first(g);
	}
	return NULL;
}

/* Whether others may read what follows a piece of it meanwhile. */
static bool
gap_sharable(const struct gap *gap)
{
	return gap->kind == GAP_FRESH && gap->front;
}

static void
take_first(struct gaps *g, unsigned who, bool calm, uint64_t most,
    struct seg *seg)
{
	struct gap_piece *p = &g->piece[who];
	struct gap *gap = &g->heap[0], rest;

	if (gap_hopeless(g, gap)) {
		g->given_up = gap->status != BAD;
		gap->kind = gap->kind == GAP_FRESH ? GAP_DEAD : gap->kind;
	}
	gap_choose(g, gap, most, p);
	*seg = gaps_mirrored(g, p->off, p->end);
	seg->status = gap->status;
	rest = *gap;
	remove_first(g);
	if (!calm)
		return;
	p->shared = true;
	p->gap.end = rest.off = p->end;
	(void)put_back(g, &rest);	/* there is room: it was there */
}

/* --- what readers ask for ------------------------------------------------- */

/* Of a status whose turn has not come, or UNTRIED. */
static bool
status_untried(enum seg_status s)
{
	return s == UNTRIED || s == LATER || s == LAST || s == ASIDE;
}

/*
 * Leave of a range, in the direction of the rescue, the first part that no
 * worker has.  Returns false if there is none.
 */
static bool
asked_free(const struct gaps *g, uint64_t *off, uint64_t *end)
{
	const struct gap_piece *p, *last = g->piece + WORKERS_MOST;

	for (p = g->piece; p < last && *off < *end; p++)
		if (p->busy && p->gap.off <= *off && p->gap.end > *off) {
			*off = p->gap.end;
			p = g->piece - 1;
		}
	for (p = g->piece; p < last && *off < *end; p++)
		if (p->busy && p->gap.off > *off && p->gap.end > p->gap.off)
			*end = MIN(*end, p->gap.off);
	return *off < *end;
}

/*
 * The gap that off lies in; g->n: none, and *end is at most where one begins.
 */
static size_t
asked_gap(const struct gaps *g, uint64_t off, uint64_t *end)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (g->heap[i].off <= off && g->heap[i].end > off)
			break;
		if (g->heap[i].off > off)
			*end = MIN(*end, g->heap[i].off);
	}
	return i;
}

/* Put back what a piece leaves of a gap at one side of it. */
static int
asked_leave(struct gaps *g, const struct gap *gap, uint64_t off, uint64_t end,
    bool front, bool back)
{
	struct gap part = *gap;

	part.off = off;
	part.end = end;
	part.front = front;
	part.back = back;
	if (off > gap->off) {
		part.met = off;
		part.fails = 0;
		part.foretold = part.foretold && gap->kind != GAP_FRESH;
	}
	if (gap->kind != GAP_FRESH && gap->kind != GAP_FAILED)
		part.kind = front || back ? GAP_SKIPPED : GAP_DEAD;
	part.was = end - off;
	return put_back(g, &part);
}

/*
 * Take a piece from off on, up to "end" at most, out of the gap it lies in; or
 * out of none, if rescue= or the order of the rescue has left it out.
 */
static int
asked_carve(struct gaps *g, uint64_t off, uint64_t end, uint64_t most,
    enum seg_status status, struct gap_piece *p)
{
	size_t i = asked_gap(g, off, &end);
	bool found = i < g->n;
	struct gap gap = { .off = off, .end = end, .status = status };
	int err = 0;

	if (found) {
		gap = g->heap[i];
		end = MIN(end, gap.end);
		remove_at(g, i);
	}
	*p = (struct gap_piece){ .gap = gap, .off = off, .busy = true,
		.end = piece_end(g, off, end, status == UNTRIED ? most :
		g->unit) };
	p->gap.off = p->off;
	p->gap.end = p->end;
	p->gap.front = gap.front && off == gap.off;
	p->gap.back = gap.back && p->end == gap.end;
	p->gap.status = status;
	p->gap.kind = status == UNTRIED ? GAP_SKIPPED : GAP_FAILED;
	p->gap.asked = true;
	p->gap.urgent = p->gap.foretold = false;
	if (found && off > gap.off)
		err = asked_leave(g, &gap, gap.off, off, gap.front, false);
	if (found && err == 0 && gap.end > p->end)
		err = asked_leave(g, &gap, p->end, gap.end, false, gap.back);
	return err;
}

/*
 * Take the first piece of a segment of the map.  Returns whether there is one.
 */
static bool
asked_take(struct gaps *g, const struct seg *s, uint64_t most,
    struct gap_piece *p)
{
	struct seg at = gaps_mirrored(g, s->off, s->off + s->len);
	enum seg_status status = status_untried(s->status) ? UNTRIED :
	    s->status;
	uint64_t off = at.off, end = at.off + at.len;

	if ((status != UNTRIED && status != UNTRIMMED && status != UNSCRAPED) ||
	    !asked_free(g, &off, &end))
		return false;
	at = gaps_mirrored(g, off, end);
	if (s->status != status)
		g->err = map_set(g->map, at.off, at.len, status);
	if (g->err == 0)
		g->err = asked_carve(g, off, end, most, status, p);
	return g->err == 0;
}

/* The whole blocks that a range lies in, as the map has them. */
static struct seg
asked_blocks(const struct gaps *g, const struct seg *s)
{
	struct seg at = gaps_mirrored(g, s->off, s->off + s->len);
	uint64_t part = (g->phase + at.off) % g->unit, end;

	at.off -= MIN(part, at.off);
	end = s->len == 0 ? at.off : block_end(g, gaps_mirrored(g, s->off,
	    s->off + s->len).off + s->len - 1);
	return gaps_mirrored(g, at.off, MIN(end, g->length));
}

/* Whether a status will not change: nobody waits for it. */
static bool
status_settled(enum seg_status s)
{
	return s == FINISHED || s == BAD || s == OUTSIDE || s == STALE;
}

/*
 * Whether some of what is asked for is lost: then it is answered already, and
 * no more is read of it.
 */
static bool
asked_lost(const struct gaps *g, const struct seg *ask)
{
	uint64_t at = ask->off;
	bool lost = false;
	struct seg s;

	for (; !lost && at < ask->off + ask->len && map_here(g->map, at, &s);
	    at += s.len)
		lost = status_settled(s.status) && s.status != FINISHED;
	return lost;
}

/*
 * Take the first piece that a reader waits for.  Returns whether there is one;
 * *waits: others have what there was.
 */
static bool
take_asked(struct gaps *g, unsigned who, uint64_t most, struct seg *seg,
    bool *waits)
{
	struct seg all, s;
	uint64_t at;
	unsigned i;

	*waits = false;
	for (i = 0; i < g->asks && g->err == 0; i++) {
		if (asked_lost(g, &g->asked[i]))
			continue;
		all = asked_blocks(g, &g->asked[i]);
		for (at = all.off; at < all.off + all.len &&
		    map_here(g->map, at, &s); at += s.len) {
			s.len = MIN(s.len, all.off + all.len - at);
			if (!asked_take(g, &s, most, &g->piece[who])) {
				*waits = *waits || !status_settled(s.status);
				continue;
			}
			*seg = gaps_mirrored(g, g->piece[who].off,
			    g->piece[who].end);
			seg->status = g->piece[who].gap.status;
			return true;
		}
	}
	return false;
}

/* Whether anything is left to be asked for. */
static bool
asked_any(const struct gaps *g)
{
	struct map_totals t = map_totals(g->map);

	return !g->closed && !g->bad && t.untried + t.failed > 0;
}

void
gaps_ask(struct gaps *g, const struct seg *s, size_t n)
{
	pthread_mutex_lock(&g->lock);
	g->asks = (unsigned)MIN(n, (size_t)GAPS_ASKS);
	memcpy(g->asked, s, g->asks * sizeof(*s));
	pthread_cond_broadcast(&g->moved);
	pthread_mutex_unlock(&g->lock);
}

void
gaps_close(struct gaps *g)
{
	pthread_mutex_lock(&g->lock);
	g->asks = 0;
	g->closed = true;
	pthread_cond_broadcast(&g->moved);
	pthread_mutex_unlock(&g->lock);
}

void
gaps_rest(struct gaps *g)
{
	struct timespec until = clock_spec(clock_ns() + MOMENT);

	pthread_mutex_lock(&g->lock);
	pthread_cond_timedwait(&g->moved, &g->lock, &until);
	pthread_mutex_unlock(&g->lock);
}

/* --- taking a piece ------------------------------------------------------- */

enum gaps_next
gaps_take(struct gaps *g, unsigned who, bool calm, uint64_t most,
    struct seg *piece)
{
	enum gaps_next next = GAPS_NONE;
	const struct gap *gap;
	bool waits;

	pthread_mutex_lock(&g->lock);
	if (take_asked(g, who, most, piece, &waits))
		next = GAPS_ONE;
	else if (g->err != 0)
		next = GAPS_NO_MEMORY;
	else if (waits)
		next = GAPS_WAIT;
	else if ((g->words & RESCUE_ONDEMAND) != 0)
		next = asked_any(g) ? GAPS_WAIT : GAPS_NONE;
	else if ((gap = first_gap(g)) != NULL && calm && !gap_sharable(gap))
		next = GAPS_ALONE;
	else if (gap != NULL) {
		take_first(g, who, calm, most, piece);
		next = GAPS_ONE;
	}
	if (next == GAPS_NONE && g->err != 0)
		next = GAPS_NO_MEMORY;
	pthread_mutex_unlock(&g->lock);
	return next;
}

bool
gaps_take_on(struct gaps *g, unsigned who, bool calm, uint64_t most,
    struct seg *seg)
{
	const struct gap *gap;
	struct gap_piece p;
	bool is = false;

	pthread_mutex_lock(&g->lock);
	gap = g->asks > 0 || (g->words & RESCUE_ONDEMAND) != 0 ? NULL :
	    first_gap(g);
	if (gap != NULL && !g->backwards && gap->front &&
	    gap->off == g->piece[who].end && (!calm || gap_sharable(gap))) {
		gap_choose(g, gap, most, &p);
		is = p.off == gap->off;
		if (is)
			take_first(g, who, calm, most, seg);
	}
	pthread_mutex_unlock(&g->lock);
	return is;
}

/* --- what came of it ------------------------------------------------------ */

/* A jump has landed on good data: what was not enough of late is the least. */
static void
learn_run(struct gaps *g, uint64_t len, bool at_once)
{
	size_t i, n = MIN(g->lows, (size_t)GAPS_LOWS);
	uint64_t low = 0;

	for (i = 0; i < n && at_once; i++)
		if (g->runs - g->low[i].run < GAPS_RUNS && g->low[i].len < len)
			low = MAX(low, g->low[i].len);
	if (at_once && len - low > len / TIGHT)
		len = low + (uint64_t)((double)(len - low) * too_far);
	g->run[g->runs++ % GAPS_RUNS] = len;
}

static void
learn_low(struct gaps *g, uint64_t len)
{
	g->low[g->lows % GAPS_LOWS].len = len;
	g->low[g->lows++ % GAPS_LOWS].run = g->runs;
}

/* A part of a gap that goes on as what its ends make of it. */
static int
put_part(struct gaps *g, const struct gap *gap, uint64_t off, uint64_t end,
    bool front, bool back, bool urgent)
{
	struct gap part = *gap;

	part.off = off;
	part.end = end;
	part.front = front;
	part.back = back;
	part.kind = front || back ? GAP_SKIPPED : GAP_DEAD;
	part.urgent = urgent && (front || back);
	part.foretold = part.foretold && gap->kind != GAP_FRESH;
	return put_new(g, part);
}

/* Whether a gap lies at a place, of which more is known now. */
static bool
gap_mend(struct gaps *g, struct gap *gap, uint64_t at, bool good)
{
	if (gap->off != at && gap->end != at)
		return false;
	if (gap->off == at) {
		gap->front = good;
		gap->met = at;
		gap->fails = 0;
	} else {
		gap->back = good;
	}
	if (gap->kind == GAP_SKIPPED || gap->kind == GAP_DEAD)
		gap->kind = open_ended(gap) ? GAP_SKIPPED : GAP_DEAD;
	if (g->rest && open_ended(gap)) {
		gap->kind = GAP_FAILED;
		gap->urgent = true;
	}
	gap->hope = hope_of(g, gap);
	return true;
}

/* What is now known of the neighbours of gaps that lie at a place. */
static void
gaps_mend(struct gaps *g, uint64_t at, bool good)
{
	struct gap_piece *p;
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (!gap_mend(g, &g->heap[i], at, good))
			continue;
		sift_up(g, i);
		sift_down(g, i);
	}
	for (p = g->piece; p < g->piece + WORKERS_MOST; p++)
		if (p->busy && !p->shared && !p->left)
			(void)gap_mend(g, &p->gap, at, good);
}

/* Where a run begins, if it was met in a read of one block; else UINT64_MAX. */
static uint64_t
met_by_block(const struct gaps *g, uint64_t met)
{
	uint64_t off = met > 0 ? block_begin(g, 0, met, g->unit) : 0;

	return met > 0 && map_at(g->map, gaps_mirrored(g, off, met).off) ==
	    BAD ? off : UINT64_MAX;
}

/*
 * A run was crossed.  If it is one of a pattern its exact ends are found at
 * once, unless it was foretold.
 */
static bool
gaps_crossed(struct gaps *g, const struct gap *gap, uint64_t end)
{
	struct run run = { gap->met, end, true };
	bool told = gap->foretold && gap->off == end;
	struct gap *edge;
	size_t i;

	if (!forecast_met(&g->forecast, &run))
		return false;
	g->forecast.missed = told ? 0 : g->forecast.missed + 1;
	if (told) {
		forecast_learn(&g->forecast, &run);
		return false;
	}
	g->exact = (struct run){ .off = met_by_block(g, run.off) };
	g->unproved = g->forecast.period == 0 && gap->fails == 0;
	g->within = run;
	g->within.off = MIN(run.off, g->exact.off);
	for (i = 0; i < g->n; i++) {
		edge = &g->heap[i];
		if ((edge->kind != GAP_FAILED || edge->end != run.off) &&
		    (!edge->foretold || edge->off != run.off))
			continue;
		g->within.off = MIN(edge->off, g->within.off);
		edge->urgent = true;
		edge->hope = hope_of(g, edge);
		sift_up(g, i);
	}
	return true;
}

/*
 * A part of a gap was good: put back what lies before it; the rest is left in
 * *gap.
 */
static int
give_good(struct gaps *g, struct gap *gap, uint64_t off, uint64_t end)
{
	uint64_t n = end - off;
	bool urgent = false;
	int err = 0;

	gap->got += n;
	if (gap->kind == GAP_FRESH)
		g->fresh.bytes += (double)n;
	if (gap->kind == GAP_FRESH && !gap->front) {
		learn_run(g, off - gap->met, gap->fails == 0);
		urgent = gaps_crossed(g, gap, off);
		if (gap->foretold && off == gap->off)
			gaps_mend(g, off, true);
		gap->foretold = false;
	}
	if (gap->kind == GAP_DEAD) {
		gaps_learn(g, GAP_DEAD, gap->was, n, 0);
		g->dry = 0;
		if (gap->urgent)	/* it was no run */
			g->within = (struct run){ .off = UINT64_MAX };
		gap->urgent = false;
	}
	if (off > gap->off && gap->back && end == gap->end) {
		gap->end = off;
		return 0;
	}
	if (off > gap->off)
		err = put_part(g, gap, gap->off, off, gap->front, true,
		    urgent || gap->urgent);
	gap->off = end;
	gap->front = true;
	gap->fails = 0;
	return err;
}

/* Put back what is left of a gap of which a part was good. */
static int
put_rest(struct gaps *g, struct gap *gap, bool landed)
{
	if (gap->off == gap->end && (gap->kind == GAP_SKIPPED ||
	    gap->kind == GAP_FAILED))
		gaps_learn(g, gap->kind, gap->was, gap->got, 0);
	if (gap->off == gap->end && gap->kind == GAP_FAILED)
		g->heals = true;
	if (gap->kind != GAP_DEAD && !landed)
		return put_back(g, gap);	/* goes on as before */
	if (gap->kind == GAP_FRESH)
		return put_new(g, *gap);
	return put_part(g, gap, gap->off, gap->end, gap->front, gap->back,
	    gap->urgent);
}

/* A part of a gap was bad: what lies before it, and behind. */
static int
give_rest(struct gaps *g, const struct gap *gap, uint64_t off, uint64_t end)
{
	struct gap above = *gap;
	bool urgent = gap->urgent && gap->kind == GAP_SKIPPED;
	int err = put_part(g, gap, gap->off, off, gap->front, false, urgent);

	if (err != 0)
		return err;
	if (gap->kind != GAP_FRESH)
		return put_part(g, gap, end, gap->end, false, gap->back,
		    urgent);
	above.met = gap->front ? end : gap->met;
	above.off = end;
	above.front = above.foretold = false;
	return put_new(g, above);
}

static void
learn_bad(struct gaps *g, struct gap *gap, uint64_t off)
{
	g->errors++;
	g->heals = g->heals && gap->kind != GAP_FAILED;
	g->dry += gap->kind == GAP_DEAD;
	g->unproved = g->unproved && !(gap->kind == GAP_DEAD && gap->urgent);
	if (gap->kind == GAP_FRESH) {
		g->fresh.errors++;
		if (!gap->front)
			learn_low(g, off - gap->met);
	} else {
		gaps_learn(g, gap->kind, gap->was, gap->kind == GAP_DEAD ? 0 :
		    gap->got, 1);
	}
	gap->fails = open_ended(gap) ? 0 : gap->fails + 1;
}

/* The exact ends are known, and that what is between them is bad. */
static void
run_known(struct gaps *g)
{
	if (g->unproved || g->exact.off >= g->exact.end)
		return;
	forecast_learn(&g->forecast, &g->exact);
	g->exact = g->within = (struct run){ .off = UINT64_MAX };
}

/* A block next to good data has failed: the exact end of a run, perhaps. */
static void
edge_found(struct gaps *g, const struct gap *block)
{
	struct run *run = &g->exact;

	if (block->off < g->within.off || block->end > g->within.end)
		return;
	if (block->front)
		run->off = block->off;
	if (block->back)
		run->end = block->end;
	run_known(g);
}

/* What has failed is to be read in small reads, unless it is a block. */
static int
put_failed(struct gaps *g, const struct gap *gap, uint64_t off, uint64_t end)
{
	struct seg s = gaps_mirrored(g, off, end);
	struct gap part = *gap;
	int err;

	part.off = off;
	part.end = end;
	part.front = gap->front && off == gap->off;
	part.back = gap->back && end == gap->end;
	part.kind = GAP_FAILED;
	part.fails = 0;
	if (!open_ended(&part) && (g->rest || gap->kind == GAP_DEAD)) {
		part.kind = GAP_DEAD;
		part.fails = gap->fails + 1;
	}
	if (!open_ended(&part) && off >= g->within.off &&
	    end <= g->within.end) {
		g->unproved = false;
		run_known(g);
	}
	part.foretold = false;
	part.urgent = gap->kind != GAP_FAILED && !g->rest && (g->heals ||
	    (!g->tried && g->errors >= TRY));
	g->tried = g->tried || part.urgent;
	part.urgent = open_ended(&part) && (part.urgent || gap->urgent ||
	    end == g->within.off);
	if (end == g->within.off)	/* others have crossed its run */
		g->within.off = off;
	if (gap->status == UNTRIED)
		part.status = UNTRIMMED;
	if (block_end(g, off) >= end) {
		edge_found(g, &part);
		return map_set(g->map, s.off, s.len, BAD);
	}
	err = map_set(g->map, s.off, s.len, part.status);
	return err != 0 ? err : put_new(g, part);
}

/*
 * A piece whose neighbours were given to others before it was read: they learn
 * now where they were mistaken.
 */
static void
mend_late(struct gaps *g, const struct gap_piece *p, uint64_t bad,
    uint64_t bad_end)
{
	bool none = bad == bad_end;

	if (p->shared && !none && bad_end == p->end)
		gaps_mend(g, p->end, false);
	if (!p->left)
		return;
	if (none || bad > p->off)
		gaps_mend(g, p->off, true);
	if (none || bad_end < p->end)
		gaps_mend(g, p->end, true);
	g->errors -= none;
	g->fresh.errors -= none && p->gap.kind == GAP_FRESH;
}

/*
 * Of a piece so many bytes were good; the rest is bad.  A piece that was slow
 * counts as one that has failed, though nothing of it is left.
 */
static int
give_piece(struct gaps *g, struct gap_piece *p, uint64_t good,
    enum gaps_answer answer)
{
	struct gap gap = p->gap;
	bool landed = gap.kind == GAP_FRESH && !gap.front;
	bool late = p->shared || p->left, well = answer == READ_WELL;
	bool slow = answer == READ_SLOWLY;
	uint64_t n = slow ? 0 : good;
	uint64_t a = g->backwards ? p->off : p->off + n;
	uint64_t b = g->backwards ? p->end - n : p->end;
	int err = 0;

	g->have += good;
	if (n > 0)
		err = give_good(g, &gap, g->backwards ? b : p->off,
		    g->backwards ? p->end : a);
	if (late)
		mend_late(g, p, a, well ? a : b);
	if (well && err == 0)
		return late ? 0 : put_rest(g, &gap, landed);
	if (!slow && err == 0)
		err = put_failed(g, &gap, a, b);
	if (!p->left)
		learn_bad(g, &gap, a);
	return late || err != 0 ? err : give_rest(g, &gap, a, b);
}

/*
 * A piece that failed has been read after all, in small reads: as much again
 * behind it is read in small reads, too.
 */
static void
note_healed(struct gaps *g, const struct gap *gap, uint64_t end)
{
	uint64_t off = end - gap->was;

	if (!g->heals || gap->kind != GAP_FAILED || gap->end != end)
		return;
	if (off < g->fine.off || off > g->fine.end)
		g->fine.off = off;
	g->fine.end = 2 * end - g->fine.off;
}

/* The same of a piece that a reader has asked for. */
static int
give_asked(struct gaps *g, const struct gap_piece *p, uint64_t good,
    enum gaps_answer answer)
{
	bool failed = answer == READ_FAILED;
	struct gap gap = p->gap;
	uint64_t a = g->backwards ? p->off : p->off + good;
	uint64_t b = g->backwards ? p->end - good : p->end;
	int err;

	gap.asked = false;
	err = failed ? put_failed(g, &gap, a, b) : 0;
	g->have += good;
	g->errors += failed;
	gaps_mend(g, p->off, !failed || (!g->backwards && good > 0));
	gaps_mend(g, p->end, !failed || (g->backwards && good > 0));
	return err;
}

int
gaps_give(struct gaps *g, unsigned who, uint64_t good, enum gaps_answer answer)
{
	struct gap_piece *p = &g->piece[who];
	int err;

	pthread_mutex_lock(&g->lock);
	p->busy = false;
	err = p->gap.asked ? give_asked(g, p, good, answer) :
	    give_piece(g, p, good, answer);
	if (answer == READ_WELL && !p->gap.asked && !p->shared && !p->left &&
	    p->off == p->gap.off && p->end == p->gap.end) {
		gaps_mend(g, p->off, true);	/* all of it is read */
		gaps_mend(g, p->end, true);
		note_healed(g, &p->gap, p->end);
	}
	pthread_mutex_unlock(&g->lock);
	return err;
}

/* What surrounds a piece, as if it were bad. */
static int
leave_piece(struct gaps *g, struct gap_piece *p)
{
	struct gap gap = p->gap;
	int err;

	learn_bad(g, &gap, p->off);
	if (p->shared)
		gaps_mend(g, p->end, false);
	err = p->shared ? 0 : give_rest(g, &gap, p->off, p->end);
	p->gap.front = p->gap.front && p->off == p->gap.off;
	p->gap.back = p->gap.back && p->end == p->gap.end;
	p->gap.off = p->off;
	p->gap.end = p->end;
	p->shared = false;
	p->left = true;
	return err;
}

int
gaps_leave(struct gaps *g, uint64_t off)
{
	struct gap_piece *p;
	int err = 0;

	pthread_mutex_lock(&g->lock);
	for (p = g->piece; p < g->piece + WORKERS_MOST; p++)
		if (p->busy && !p->left && !p->gap.asked &&
		    gaps_mirrored(g, p->off, p->end).off == off)
			err = leave_piece(g, p);
	pthread_mutex_unlock(&g->lock);
	return err;
}

/* --- for the lead --------------------------------------------------------- */

int
gaps_fill(struct gaps *g, const struct gaps_fill *what)
{
	int err;

	pthread_mutex_lock(&g->lock);
	g->bad = what->bad;
	g->backwards = what->backwards;
	g->words = what->words;
	g->rest = g->given_up = what->given_up;
	g->length = map_totals(g->map).end;
	g->phase = g->backwards ? (g->unit - (g->length + g->off) %
	    g->unit) % g->unit : g->off;
	err = g->err = fill_all(g);
	pthread_mutex_unlock(&g->lock);
	return err;
}

void
gaps_error(struct gaps *g, double seconds)
{
	pthread_mutex_lock(&g->lock);
	g->seek = seconds > seek ? seek / seconds : 1;
	pthread_mutex_unlock(&g->lock);
}

uint64_t
gaps_piece(struct gaps *g)
{
	uint64_t n;

	pthread_mutex_lock(&g->lock);
	n = piece_now(g);
	pthread_mutex_unlock(&g->lock);
	return n;
}

bool
gaps_given_up(struct gaps *g)
{
	bool is;

	pthread_mutex_lock(&g->lock);
	is = g->given_up;
	pthread_mutex_unlock(&g->lock);
	return is;
}
