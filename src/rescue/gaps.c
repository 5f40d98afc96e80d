/*
 * The gaps: a heap of what a pass has to read, first what promises most for an
 * error: the largest, but for those in which tries have failed.  A gap is read
 * from an end next to good data, and that end is given up at its first error.
 * In a gap between two bad ends, a piece in the middle is tried, as long as
 * such tries succeed now and then; success makes two gaps, each with a good
 * end.  Gaps between two known bad blocks come last: a dead area begins and
 * ends there.
 *
 * Before everything left is read block by block, each large gap is tried once,
 * whatever the others were like.  Otherwise good data between two bad areas
 * that looked like one would come last.
 *
 *	g	gaps->lock, a leaf; held for a few instructions
 */
#include "rescue/gaps.h"

#include <errno.h>
#include <stdlib.h>

enum {
	PIECE = 256 << 10,	/* bytes per read, but more in gaps where */
	LARGE = 1 << 20,	/* a part is this large */
	SMALL = 128 << 10,	/* bytes; the sweep reads it in one or two
				 * reads */
	PATIENCE = 6,		/* failed tries in the middle allowed, plus */
	WORTH = 2,		/* as many for each success */
};

static const double probe_loss = .45;	/* of what a gap promises, with each
					 * try that failed in it */

void
gaps_begin(struct gaps *g, unsigned parts)
{
	*g = (struct gaps){ .parts = parts };
	pthread_mutex_init(&g->lock, NULL);
}

void
gaps_end(struct gaps *g)
{
	pthread_mutex_destroy(&g->lock);
	free(g->heap);
}

/* Gaps with a good end come first, those between known bad blocks last. */
static int
gap_rank(const struct gap *g)
{
	return g->front || g->back ? 2 : !g->framed;
}

/*
 * What a gap promises: its length; and less with each try in its middle that
 * failed.  Otherwise one giant dead area would be tried again and again while
 * what was skipped elsewhere, and can be read, waits.
 */
static double
gap_promise(const struct gap *g)
{
	return (double)(g->end - g->off) * g->trust;
}

static bool
gap_larger(const struct gap *a, const struct gap *b)
{
	double x = gap_promise(a), y = gap_promise(b);

	if (gap_rank(a) != gap_rank(b))
		return gap_rank(a) > gap_rank(b);
	return x != y ? x > y : a->off < b->off;
}

static void
gaps_swap(struct gap *a, struct gap *b)
{
	struct gap t = *a;

	*a = *b;
	*b = t;
}

static int
gaps_push(struct gaps *g, struct gap gap)
{
	struct gap *more;
	size_t i, up;

	if (gap.off >= gap.end || (gap.end - gap.off < g->smallest &&
	    !gap.front && !gap.back))
		return 0;
	if (g->n == g->room) {
		more = reallocarray(g->heap, g->room * 2 + 64, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		g->heap = more;
		g->room = g->room * 2 + 64;
	}
	g->heap[g->n] = gap;
	for (i = g->n++; i > 0; i = up) {
		up = (i - 1) / 2;
		if (!gap_larger(&g->heap[i], &g->heap[up]))
			break;
		gaps_swap(&g->heap[i], &g->heap[up]);
	}
	return 0;
}

/*
 * Whether trying the middle of a gap is worth an error, judging by other gaps.
 */
static bool
gaps_hopeful(const struct gaps *g)
{
	return g->lost < g->patience + WORTH * g->won;
}

static bool
gaps_pop(struct gaps *g, struct gap *gap)
{
	size_t i = 0, down;

	if (g->n == 0)
		return false;
	*gap = g->heap[0];
	if (!gap->front && !gap->back && !gaps_hopeful(g))
		return false;
	g->heap[0] = g->heap[--g->n];
	while ((down = 2 * i + 1) < g->n) {
		if (down + 1 < g->n && gap_larger(&g->heap[down + 1],
		    &g->heap[down]))
			down++;
		if (!gap_larger(&g->heap[down], &g->heap[i]))
			break;
		gaps_swap(&g->heap[i], &g->heap[down]);
		i = down;
	}
	return true;
}

/* Whether a status means data that was read, or is not wanted now. */
static bool
gap_harmless(enum seg_status s)
{
	return s == FINISHED || s == OUTSIDE || s == LATER || s == LAST;
}

/* Segment i of n as a gap, with its neighbours. */
static struct gap
gap_of(const struct seg *seg, size_t n, size_t i)
{
	enum seg_status before = i > 0 ? seg[i - 1].status : OUTSIDE;
	enum seg_status behind = i + 1 < n ? seg[i + 1].status : OUTSIDE;

	return (struct gap){ seg[i].off, seg[i].off + seg[i].len,
		gap_harmless(before), gap_harmless(behind),
		before == BAD && behind == BAD, 1 };
}

/*
 * Whether to take a segment.  For scraping, only those trimmed at both ends: a
 * part next to untried data that was given up is probably dead, and so is that.
 */
static bool
is_gap(const struct seg *seg, size_t n, size_t i, enum seg_status status)
{
	return seg[i].status == status && (status != UNSCRAPED ||
	    ((i == 0 || seg[i - 1].status == BAD) &&
	    (i + 1 == n || seg[i + 1].status == BAD)));
}

int
gaps_fill(struct gaps *g, struct map *map, enum seg_status status,
    enum inner inner)
{
	static const uint64_t smallest[] = {
		[NO_INNER] = UINT64_MAX,
		[HOPEFUL_INNER] = 0,
		[EACH_INNER] = SMALL,
	};
	struct seg *seg;
	size_t n = map_copy_put_off(map, &seg), i;
	int err = n == 0 ? ENOMEM : 0;

	pthread_mutex_lock(&g->lock);
	g->n = 0;
	g->smallest = smallest[inner];
	g->won = g->lost = 0;
	for (i = 0; i < n && err == 0; i++)
		if (is_gap(seg, n, i, status))
			err = gaps_push(g, gap_of(seg, n, i));
	g->patience = PATIENCE + (inner == EACH_INNER ? g->n : 0);
	pthread_mutex_unlock(&g->lock);
	free(seg);
	return err;
}

/*
 * n bytes at an end of a gap, or in its middle, aligned to "least", which n is
 * at least.
 */
static struct seg
gap_part(const struct gap *gap, uint64_t n, size_t least)
{
	struct seg s = { .off = gap->off };
	uint64_t end = gap->end;

	if (n >= gap->end - gap->off) {
		s.len = gap->end - gap->off;
		return s;
	}
	if (gap->back) {
		s.off = gap->end - n;
		s.off += (least - s.off % least) % least;
	} else if (gap->front) {
		end = gap->off + n;
		end -= end % least;
	} else {
		s.off = gap->off + (gap->end - gap->off - n) / 2;
		s.off -= s.off % least;
		s.off = s.off < gap->off ? gap->off : s.off;
		end = s.off + n;
	}
	s.len = end - s.off;
	return s;
}

bool
gaps_take(struct gaps *g, size_t least, size_t most, struct gap *gap,
    struct seg *piece)
{
	uint64_t n;
	bool any;

	pthread_mutex_lock(&g->lock);
	any = gaps_pop(g, gap);
	pthread_mutex_unlock(&g->lock);
	if (!any)
		return false;
	n = (gap->end - gap->off) / g->parts;
	if (n > PIECE && n < LARGE)
		n = PIECE;
	n -= n % least;
	n = n > most ? most : n;
	if (n < least || (!gap->front && !gap->back))
		n = least;
	*piece = gap_part(gap, n, least);
	return true;
}

bool
gaps_take_all(struct gaps *g, struct seg *seg)
{
	struct gap gap;
	bool any;

	pthread_mutex_lock(&g->lock);
	any = gaps_pop(g, &gap);
	pthread_mutex_unlock(&g->lock);
	if (any)
		*seg = (struct seg){ .off = gap.off, .len = gap.end - gap.off };
	return any;
}

/* The middle was tried: put back both halves. */
static int
give_halves(struct gaps *g, struct gap below, struct gap above, bool good)
{
	int err;

	g->won += good;
	g->lost += !good;
	below.back = above.front = good;
	below.trust = above.trust = good ? 1 : below.trust * probe_loss;
	err = gaps_push(g, below);
	return err != 0 ? err : gaps_push(g, above);
}

int
gaps_give(struct gaps *g, const struct gap *gap, const struct seg *piece,
    bool good, bool tried)
{
	struct gap below = { gap->off, piece->off, gap->front, false,
		gap->framed, gap->trust };
	struct gap above = { piece->off + piece->len, gap->end, false,
		gap->back, gap->framed, gap->trust };
	struct gap same = { .off = piece->off,
		.end = piece->off + piece->len, .trust = 1 };
	int err;

	pthread_mutex_lock(&g->lock);
	if (!gap->front && !gap->back)
		err = give_halves(g, below, above, good);
	else {
		below.back = good && gap->back;
		above.front = good && !gap->back;
		err = gaps_push(g, below);
		if (err == 0)
			err = gaps_push(g, above);
		same.back = gap->back;
		same.front = !gap->back;
		if (err == 0 && !good && !tried)
			err = gaps_push(g, same);
	}
	pthread_mutex_unlock(&g->lock);
	return err;
}
