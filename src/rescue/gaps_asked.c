/*
 * What readers of view= wait for is read before all else, in one piece of its
 * own; what failed of it, block by block, up to the first that is bad.  Nothing
 * is learned from it but where good data is.
 */
#include "gaps_inside.h"

#include <string.h>
#include <sys/param.h>
#include <time.h>

#include "base/clock.h"

enum { MOMENT = 100000000 };	/* ns: until a worker sees that it must stop */

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

	for (p = g->piece; p < last && *off < *end;)
		if (p->busy && p->gap.off <= *off && p->gap.end > *off) {
			*off = p->gap.end;
			p = g->piece;
		} else {
			p++;
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
	return gaps_put_back(g, &part);
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
		gaps_remove_at(g, i);
	}
	*p = (struct gap_piece){ .gap = gap, .off = off, .busy = true,
		.end = gaps_piece_end(g, off, end, status == UNTRIED ? most :
		g->block) };
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
	uint64_t part = (g->phase + at.off) % g->block, end;

	at.off -= MIN(part, at.off);
	end = s->len == 0 ? at.off : gaps_block_end(g, gaps_mirrored(g, s->off,
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

bool
gaps_take_asked(struct gaps *g, unsigned who, uint64_t most, struct seg *seg,
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

/* Then nobody is woken, who would have the viewer ask once more. */
static bool
asked_same(const struct gaps *g, const struct seg *s, size_t n)
{
	bool same = n == g->asks;
	size_t i;

	for (i = 0; same && i < n; i++)
		same = s[i].off == g->asked[i].off &&
		    s[i].len == g->asked[i].len;
	return same;
}

void
gaps_ask(struct gaps *g, const struct seg *s, size_t n)
{
	n = MIN(n, (size_t)GAPS_ASKS);
	pthread_mutex_lock(&g->lock);
	if (!asked_same(g, s, n))
		pthread_cond_broadcast(&g->moved);
	g->asks = (unsigned)n;
	memcpy(g->asked, s, n * sizeof(*s));
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
