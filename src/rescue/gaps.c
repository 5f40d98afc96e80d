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
 * How long a piece and a jump are, what is foretold and left out, what is read
 * as a unit, and when the rest begins, has its reasons in src/DESIGN.md.
 *
 * What is in no gap of the heap one worker has.  The map has what has failed at
 * once, and what is good when it is written.
 *
 * The gaps themselves are in gaps_heap.c, what readers ask for in gaps_asked.c,
 * and what is learned from each piece in gaps_give.c.
 */
#include "gaps_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "cli/opts.h"

enum {
	SHARE = 250,
	NEAR = 16,		/* a piece is 1/NEAR of the hope, at most */
	MOST = 512 << 10,	/* bytes of a piece after the first error */
	FIRST_JUMP = 8 << 10,	/* bytes, when nothing is known */
	GROW = 3,		/* a jump that failed */
	FRESH_PART = 16,	/* what is hoped for before the first error */
	FINE = 1024,		/* reads of a piece that failed */
	LARGE_PART = 16,	/* of the disk, in a map begun: fresh */
	REST = 512,		/* blocks per error, */
	DRY = 16,		/* and probes that failed in a row, */
	FEW = 100,		/* or 1/FEW of what was read, */
	FEW_DRY = 4,		/* and so many probes */
};

static const double least_jump = .7;	/* pieces */
static const double outdated = .5;	/* a hope that has become less */
static const double seek = .008;	/* seconds, where a disk rotates, */
static const double short_read = .0002;	/* and of any, at least; what these */
static const double worth = .5;	/* may take to save an error, which counts */
static const double least_error = .1;	/* as if it took so many seconds */

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
		gap.kind = gap_open_ended(&gap) ? GAP_SKIPPED : GAP_DEAD;
	gap.foretold = gap.kind != GAP_FRESH && gap.status == UNTRIED &&
	    s.len == g->forecast.length;
	gap.fails = g->given_up && gap.kind == GAP_DEAD ? GAP_PROBES : 0;
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
	return err != 0 ? err : gaps_put_new(g, gap);
}

/* lock: all gaps that nobody has, as the map has them. */
static int
fill_all(struct gaps *g)
{
	struct seg *seg;
	size_t n = map_copy_put_off(g->map, &seg), i, k;
	int err = 0;

	if (seg == NULL)
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

/*
 * Of what a reader asks for: all, as one error more for each bad area costs
 * less than many reads; block by block where bad areas are as close as that.
 */
static uint64_t
piece_asked(const struct gaps *g, uint64_t most)
{
	return piece_now(g) > 2 * g->block ? most : g->block;
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

/* Whether others may read what follows a piece of it meanwhile. */
static bool
gap_sharable(const struct gap *gap)
{
	return gap->kind == GAP_FRESH && gap->front;
}

/* What to read of a gap, at most so much. */
static void
gap_choose(const struct gaps *g, const struct gap *gap, uint64_t most,
    struct gap_piece *p)
{
	uint64_t n = piece_now(g), len = gap->end - gap->off;
	uint64_t unit = most < g->unit ? g->block : g->unit;
	bool hopeless = gap_hopeless(g, gap);
	bool behind = !hopeless && !gap->front && gap->back;
	uint64_t blocks = len / unit;
	double hope = gap->kind == GAP_SKIPPED && !gap->urgent ?
	    gaps_yield(g, gap->kind, gap->was) : gap->hope;
	uint64_t near = (uint64_t)MIN(hope / NEAR, MOST);
	uint64_t end = gap->end;
	struct run next;
	double block = (double)len * g->seek / MAX(g->longest, seek);
	bool brief = gap->kind == GAP_SKIPPED && gap->front != gap->back &&
	    (double)blocks * (g->read + (gap->front ? 0 : g->seek)) <
	    worth * g->error;

	*p = (struct gap_piece){ .gap = *gap, .off = gap->off, .busy = true };
	if (hopeless) {
		n = gap->status == UNTRIED ? unit : g->block;
		if ((g->words & RESCUE_NOSCRAPE) != 0 && gap->status != BAD)
			n = GAP_SWEEP;
	} else if (gap->kind == GAP_FAILED) {
		n = gap->was <= g->unit ? g->block : MAX(gap->was / FINE, unit);
	} else if (!gap_open_ended(gap)) {
		if (gap->kind == GAP_DEAD)
			n = g->rest ? unit : MAX(MIN(n, len / 8), unit);
		p->off = gap->kind == GAP_FRESH ? gap_landing(g, gap, n) :
		    gap->off + (len - MIN(n, len)) / 2;
		if (gap->kind == GAP_DEAD && gap->urgent) {
			n = unit;
			p->off = gap->off + len / 8 * 3;
		}
		p->off = gaps_block_begin(g, gap->off, gap->end,
		    gap->end - p->off);
	} else {
		n = g->errors > 0 ? MIN(n, MAX(near, unit)) : n;
		if (brief)
			n = unit;
		if (gap_sharable(gap) && forecast_next(&g->forecast, &next) &&
		    next.off > gap->off)
			end = MIN(end, next.off);
		n -= n % unit;	/* as it is from the front */
		if (!gap->front)
			p->off = gaps_block_begin(g, gap->off, gap->end,
			    block > 2 * (double)n ? (uint64_t)block : n);
	}
	if (gap->front && gap->off >= g->fine.off && gap->off < g->fine.end)
		n = g->block;
	n = MIN(n, most);
	if (gap->kind == GAP_FAILED && behind)
		p->off = gaps_block_begin(g, gap->off, gap->end, n);
	if (n < unit)
		unit = g->block;
	p->end = behind && gap->end - p->off < MIN(n + unit, most + 1) ?
	    gap->end : gaps_piece_end(g, p->off, end, n);
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
	    (failed && !gap_open_ended(gap))))
		return true;
	return (g->words & RESCUE_NOSWEEP) != 0 && gap_hopeless(g, gap) &&
	    (gap->status == UNTRIED || next_to_untried(g, gap));
}

/* Hopes have changed since the gap was put there. */
static bool
gaps_outdated(struct gaps *g)
{
	struct gap *gap = &g->heap[0];
	double now = gap_hope(g, gap);

	if (now >= gap->hope * outdated)
		return false;
	gap->hope = now;
	gaps_settle(g, 0);
	return true;
}

/*
 * Little is left, or less than some blocks are hoped for per error, and nothing
 * was found in dead gaps for a while: what is left is taken anew from the map,
 * which knows what has become good beside it since.
 */
static bool
come_to_rest(struct gaps *g)
{
	struct map_totals t = map_totals(g->map);
	bool few = t.untried + t.failed < g->have / FEW && g->dry >= FEW_DRY;
	bool lost = g->heap[0].status == UNSCRAPED &&
	    gap_hopeless(g, &g->heap[0]);
	bool poor = g->heap[0].hope < REST * (double)g->unit &&
	    g->dry >= DRY + g->errors / DRY;

	if (g->rest || g->bad || (!few && !poor && !lost))
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
	gaps_remove_at(g, 0);
	run.kind = GAP_SKIPPED;
	run.end = next.end;
	run.back = false;
	run.foretold = true;
	g->err = gaps_put_new(g, run);
	gap.met = gap.off;
	gap.off = next.end;
	gap.front = false;
	gap.foretold = true;
	gap.fails = 0;
	if (g->err == 0)
		g->err = gaps_put_new(g, gap);
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
		gaps_remove_at(g, 0);
	}
	return NULL;
}

static void
take_first(struct gaps *g, unsigned who, bool calm, uint64_t most,
    struct seg *seg)
{
	struct gap_piece *p = &g->piece[who];
	struct gap *gap = &g->heap[0], rest;

	if (gap_hopeless(g, gap)) {
		g->given_up = gap->status != BAD;
		gap->kind = gap->kind == GAP_SKIPPED ? gap->kind : GAP_DEAD;
	}
	gap_choose(g, gap, most, p);
	*seg = gaps_mirrored(g, p->off, p->end);
	seg->status = gap->status;
	rest = *gap;
	gaps_remove_at(g, 0);
	if (!calm)
		return;
	p->shared = true;
	p->gap.end = rest.off = p->end;
	(void)gaps_put_back(g, &rest);	/* there is room: it was there */
}

/* Whether anything is left to be asked for. */
static bool
asked_any(const struct gaps *g)
{
	struct map_totals t = map_totals(g->map);

	return !g->closed && !g->bad && t.untried + t.failed > 0;
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
	if (gaps_take_asked(g, who, piece_asked(g, most), piece, &waits))
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
	gap = g->asks > 0 || (g->words & RESCUE_ONDEMAND) != 0 ||
	    most < g->unit ? NULL : first_gap(g);
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

/* --- for the lead --------------------------------------------------------- */

int
gaps_fill(struct gaps *g, const struct gaps_fill *what)
{
	uint64_t unit;
	int err;

	pthread_mutex_lock(&g->lock);
	g->bad = what->bad;
	g->backwards = what->backwards;
	g->words = what->words;
	g->rest = g->given_up = what->given_up;
	g->length = map_totals(g->map).end;
	unit = g->block << UNIT_SHIFT;
	g->phase = (g->backwards ? unit - (g->length + g->off) % unit :
	    g->off) % unit;
	err = g->err = fill_all(g);
	pthread_mutex_unlock(&g->lock);
	return err;
}

void
gaps_error(struct gaps *g, double seconds, double read, bool rotates)
{
	pthread_mutex_lock(&g->lock);
	g->error = MAX(MIN(seconds, g->last), least_error);
	g->last = seconds;
	g->longest = MAX(seconds, g->longest);
	g->read = MAX(read, short_read);
	g->seek = rotates ? seek : 0;
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
