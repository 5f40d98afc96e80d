/*
 * The gaps of a rescue: places in them, what each promises, and a heap of them,
 * the one that promises most first.
 */
#include "gaps_inside.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/param.h>

#include "base/clock.h"

enum {
	DEAD_PART = 5,		/* 1/DEAD_PART of a dead gap may be good, */
	FAILED_PART = 20,	/* of a piece that failed, */
	FORETOLD_PART = 4,	/* and of a block of a foretold run */
	UNIT_LEAST = 3,		/* a unit has 2^UNIT_LEAST blocks */
	SURE = 12,		/* bits of chance, that damage has units */
	HOPELESS = 16,		/* a block for so many errors */
};

static const double jump_loss = .6;	/* of hope behind a jump that failed, */
static const double probe_loss = .45;	/* and of a dead gap with a probe */

void
gaps_begin(struct gaps *g, struct map *map, uint64_t block, uint64_t off,
    uint64_t first)
{
	static const double part[GAP_KINDS] = { 1, 1, DEAD_PART, FAILED_PART };
	size_t kind, i;

	*g = (struct gaps){ .map = map, .block = block, .unit = block,
		.off = off, .first = first };
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

struct seg
gaps_mirrored(const struct gaps *g, uint64_t off, uint64_t end)
{
	return (struct seg){ .off = g->backwards ? g->length - end : off,
		.len = end - off };
}

uint64_t
gaps_block_end(const struct gaps *g, uint64_t off)
{
	return off + g->block - (g->phase + off) % g->block;
}

uint64_t
gaps_block_begin(const struct gaps *g, uint64_t off, uint64_t end, uint64_t n)
{
	uint64_t at = end - off > n ? end - n : off, part;
	uint64_t unit = n < g->unit ? g->block : g->unit;

	if (n <= unit)
		at = end - 1;
	part = (g->phase + at) % unit;
	return at - off > part ? at - part : off;
}

uint64_t
gaps_piece_end(const struct gaps *g, uint64_t off, uint64_t end, uint64_t n)
{
	uint64_t unit = n < g->unit ? g->block : g->unit;
	uint64_t one = off + unit - (g->phase + off) % unit;
	uint64_t to = off + MIN(n, end - off);

	if (n <= unit || one >= end)
		return MIN(one, end);
	if (to >= end)
		return end;
	return to <= one ? one : to - (g->phase + to) % unit;
}

/* --- what is hoped for ---------------------------------------------------- */

static size_t
scale_of(uint64_t len)
{
	return len > 0 ? (size_t)(63 - __builtin_clzll(len)) : 0;
}

void
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

double
gaps_yield(const struct gaps *g, enum gap_kind kind, uint64_t len)
{
	const struct yield *y = &g->yield[kind][scale_of(len)];

	return y->bytes / (y->errors + .05);
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

double
gap_hope(const struct gaps *g, const struct gap *gap)
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
		return (double)g->unit / FORETOLD_PART;
	yield = gaps_yield(g, gap->kind, gap->was);
	if (gap->kind == GAP_SKIPPED && gap->front != gap->back)
		return MIN(yield, (double)(gap->end - gap->off));
	return gap->kind == GAP_DEAD ? MIN(yield, promise_of(gap)) : yield;
}

/* Whether it lies in one unit, of several blocks. */
static bool
gap_in_unit(const struct gaps *g, const struct gap *gap)
{
	return g->unit > g->block && (g->phase + gap->off) / g->unit ==
	    (g->phase + gap->end - 1) / g->unit;
}

/* Part of a unit that has failed: nothing of it is good. */
static bool
gap_lost(const struct gaps *g, const struct gap *gap)
{
	return gap->status == UNSCRAPED && gap_in_unit(g, gap);
}

bool
gap_hopeless(const struct gaps *g, const struct gap *gap)
{
	if (gap->status == BAD || gap_lost(g, gap))
		return true;
	return !gap_open_ended(gap) && gap->kind != GAP_FAILED &&
	    (gap->fails >= GAP_PROBES || (gap->end - gap->off <= GAP_SWEEP &&
	    promise_of(gap) < (double)g->block / HOPELESS));
}

/* --- the heap ------------------------------------------------------------- */

static bool
gap_better(const struct gaps *g, const struct gap *a, const struct gap *b)
{
	bool none = gap_hopeless(g, a);

	if (none != gap_hopeless(g, b))
		return !none;
	if (none && gap_lost(g, a) != gap_lost(g, b))
		return gap_lost(g, b);
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

void
gaps_settle(struct gaps *g, size_t i)
{
	sift_up(g, i);
	sift_down(g, i);
}

bool
gap_lose(struct gaps *g, struct gap *gap)
{
	uint64_t n = g->lost + 1;

	if (gap->status == BAD || !gap_in_unit(g, gap) ||
	    gaps_block_end(g, gap->off) >= gap->end)
		return false;
	g->lost = n;
	if (!gap_open_ended(gap) || (n & (n - 1)) != 0)
		gap->status = UNSCRAPED;
	return true;
}

/* Those that had failed before units were known. */
static void
gaps_lose(struct gaps *g)
{
	struct gap *gap;

	for (gap = g->heap; gap < g->heap + g->n && g->err == 0; gap++)
		if (gap->kind == GAP_FAILED && gap->status == UNTRIMMED &&
		    !g->rest && !gap->urgent &&
		    gap->was == gap->end - gap->off && gap_lose(g, gap))
			g->err = map_set(g->map, gaps_mirrored(g, gap->off,
			    gap->end).off, gap->was, gap->status);
}

void
gaps_learn_unit(struct gaps *g)
{
	uint64_t unit = g->block;
	unsigned k = 0;
	size_t i;

	while (k < UNIT_SHIFT && (g->edges >> k & 1) == 0)
		k++;
	if (unit << k < g->unit) {	/* there are none, after all */
		g->edges = UINT64_MAX;
		g->rest = false;
	} else if (k >= UNIT_LEAST && k * g->ends >= SURE) {
		unit <<= k;
	}
	if (unit == g->unit)
		return;
	g->unit = unit;
	gaps_lose(g);
	for (i = 0; i < g->n; i++)
		sift_up(g, i);
}

int
gaps_put_back(struct gaps *g, const struct gap *gap)
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

int
gaps_put_new(struct gaps *g, struct gap gap)
{
	if (gap.off >= gap.end)
		return 0;
	if (g->rest && gap_open_ended(&gap) && gap.kind != GAP_FRESH &&
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
	gap.hope = gap_hope(g, &gap);
	return gaps_put_back(g, &gap);
}

void
gaps_remove_at(struct gaps *g, size_t i)
{
	g->heap[i] = g->heap[--g->n];
	if (i < g->n)
		gaps_settle(g, i);
}
