/*
 * What came of a piece: the gaps that are left of it, and what is learned from
 * it about the damage.
 */
#include "gaps_inside.h"

#include <sys/param.h>

#include "cli/opts.h"

enum {
	TIGHT = 16,		/* 1/TIGHT of a jump need not be known */
	TRY = 32,		/* errors until one is tried in small reads */
};

static const double too_far = .6;	/* of what was enough at once */

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
	return gaps_put_new(g, part);
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
		gap->kind = gap_open_ended(gap) ? GAP_SKIPPED : GAP_DEAD;
	if (g->rest && gap_open_ended(gap)) {
		gap->kind = GAP_FAILED;
		gap->urgent = true;
	}
	gap->hope = gap_hope(g, gap);
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
		gaps_settle(g, i);
	}
	for (p = g->piece; p < g->piece + WORKERS_MOST; p++)
		if (p->busy && !p->shared && !p->left)
			(void)gap_mend(g, &p->gap, at, good);
}

/*
 * Where a run begins, if it was met in a read of one block, or unit; else
 * UINT64_MAX.
 */
static uint64_t
met_by_block(const struct gaps *g, uint64_t met)
{
	enum seg_status s = met > 0 ? map_at(g->map, gaps_mirrored(g, met - 1,
		met).off) : FINISHED;

	if (s == BAD)
		return gaps_block_begin(g, 0, met, g->block);
	return s == UNSCRAPED ? gaps_block_begin(g, 0, met, g->unit) :
	    UINT64_MAX;
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
		edge->hope = gap_hope(g, edge);
		gaps_settle(g, i);
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
		return gaps_put_back(g, gap);	/* goes on as before */
	if (gap->kind == GAP_FRESH)
		return gaps_put_new(g, *gap);
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
	return gaps_put_new(g, above);
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
		if (!gap->front) {
			g->low[g->lows % GAPS_LOWS].len = off - gap->met;
			g->low[g->lows++ % GAPS_LOWS].run = g->runs;
		}
	} else {
		gaps_learn(g, gap->kind, gap->was, gap->kind == GAP_DEAD ? 0 :
		    gap->got, 1);
	}
	gap->fails = gap_open_ended(gap) ? 0 : gap->fails + 1;
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

/*
 * The exact end of damage, if what is next to it was read.  With nosweep what
 * is left must be as exact.
 */
static void
learn_edge(struct gaps *g, bool is, uint64_t at, uint64_t next)
{
	enum seg_status s = !is || (g->words & RESCUE_NOSWEEP) != 0 ? BAD :
	    map_at(g->map, gaps_mirrored(g, next, next + 1).off);

	if (s == FINISHED || s == CLAIMED) {
		g->edges |= (g->phase + at) / g->block;
		g->ends++;
	}
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
	if (!gap_open_ended(&part) && (g->rest || gap->kind == GAP_DEAD)) {
		part.kind = GAP_DEAD;
		part.fails = gap->fails + 1;
	}
	if (!gap_open_ended(&part) && off >= g->within.off &&
	    end <= g->within.end) {
		g->unproved = false;
		run_known(g);
	}
	part.foretold = false;
	if (part.status == UNTRIED)
		part.status = UNTRIMMED;
	if (gap_lose(g, &part))
		edge_found(g, &part);
	part.urgent = gap->kind != GAP_FAILED && !g->rest && (g->heals ||
	    (!g->tried && g->errors >= TRY));
	g->tried = g->tried || part.urgent;
	part.urgent = gap_open_ended(&part) && (part.urgent || gap->urgent ||
	    end == g->within.off);
	if (end == g->within.off)	/* others have crossed its run */
		g->within.off = off;
	if (gaps_block_end(g, off) >= end) {
		learn_edge(g, part.front && off > 0, off, off - 1);
		learn_edge(g, part.back && end < g->length, end, end);
		edge_found(g, &part);
		return map_set(g->map, s.off, s.len, BAD);
	}
	err = map_set(g->map, s.off, s.len, part.status);
	return err != 0 ? err : gaps_put_new(g, part);
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
	struct gap gap = p->gap, behind = gap;
	bool landed = gap.kind == GAP_FRESH && !gap.front;
	bool late = p->shared || p->left, well = answer == READ_WELL;
	bool slow = answer == READ_SLOWLY;
	uint64_t n = slow ? 0 : good;
	uint64_t a = g->backwards ? p->off : p->off + n;
	uint64_t b = g->backwards ? p->end - n : p->end;
	int err = 0;

	g->have += good;
	if (n > 0 && a < b && g->backwards) {	/* first what is bad */
		behind.off = gap.end = b;
		gap.back = true;
		err = give_good(g, &behind, b, p->end);
		if (!late && err == 0)
			err = put_rest(g, &behind, landed);
	} else if (n > 0) {
		err = give_good(g, &gap, p->off, p->off + n);
	}
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
	if (good > 0)
		gaps_learn_unit(g);
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
