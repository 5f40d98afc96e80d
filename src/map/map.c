/*
 * The map: segments that cover the copy without gaps, in order; neighbours
 * differ in status.  A claim cuts off a piece; settling it sets its status and
 * joins it to equal neighbours.
 *
 * A segment is a beginning and a status; it ends where the next one begins.
 * They are stored in leaves (below).  The totals are kept up to date, because
 * they are needed often.
 *
 *	m	map->lock, a leaf: nothing is called with it held
 */
#include "map/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leaves.h"

/*
 * The segments of a map: finding, cutting and joining them.
 *
 * A change makes at most two cuts.  A claim provides spare leaves, so that
 * settling never needs memory.
 */

enum { CUTS = 2 };		/* leaves needed by one change */

/* If all claims fit into one leaf, at most one leaf will be split. */
static size_t
spares_wanted(const struct map *map)
{
	if (map->leaves == 0)
		return 1;
	return map->leaves == 1 && map->leaf[0]->n <= LEAF / 2 ? 0 : MAP_SPARES;
}

/* Provide leaves for the two cuts of a change. */
static int
leaves_reserve(struct map *map)
{
	size_t want = spares_wanted(map), room;
	struct leaf **grown;

	while (map->spares < want) {
		map->spare[map->spares] = malloc(sizeof(struct leaf));
		if (map->spare[map->spares] == NULL)
			break;
		map->spares++;
	}
	if (map->leaves + CUTS > map->room) {
		room = map->room * 2 + CUTS;
		grown = reallocarray(map->leaf, room, sizeof(struct leaf *));
		if (grown == NULL)
			return ENOMEM;
		map->leaf = grown;
		map->room = room;
	}
	return map->spares < (want < CUTS ? want : CUTS) ? ENOMEM : 0;
}

/* Add to the totals of a status. */
static void
leaves_count(struct map *map, unsigned char status, uint64_t bytes,
    uint64_t ranges)
{
	map->sum[status].bytes += bytes;
	map->sum[status].ranges += ranges;
}

/* The last segment of a leaf that begins at or before off. */
static unsigned
leaf_find(const struct leaf *leaf, uint64_t off)
{
	unsigned lo = 0, hi = leaf->n, mid;

	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (leaf->off[mid] <= off)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* The segment that contains off, or the end. */
static struct place
leaves_find(const struct map *map, uint64_t off)
{
	size_t lo = 0, hi = map->leaves, mid;

	if (off >= map->length || hi == 0)
		return (struct place){ map->leaves, 0 };
	while (hi - lo > 1) {
		mid = lo + (hi - lo) / 2;
		if (map->leaf[mid]->off[0] <= off)
			lo = mid;
		else
			hi = mid;
	}
	return (struct place){ lo, leaf_find(map->leaf[lo], off) };
}

/* Move the segments of a leaf from i on elsewhere. */
static void
leaf_shift(struct map *map, struct leaf *to, unsigned at,
    const struct leaf *from, unsigned i)
{
	unsigned n = from->n - i;

	memmove(to->off + at, from->off + i, n * sizeof(*to->off));
	memmove(to->status + at, from->status + i, n);
	map->moved += n;
}

/* Insert a leaf into the array, or remove it. */
static void
add_leaf(struct map *map, size_t l, struct leaf *leaf)
{
	memmove(map->leaf + l + 1, map->leaf + l,
	    (map->leaves - l) * sizeof(struct leaf *));
	map->leaf[l] = leaf;
	map->leaves++;
	map->moved += (map->leaves - l) / LEAF;
}

static void
drop_leaf(struct map *map, size_t l)
{
	struct leaf *leaf = map->leaf[l];

	map->leaves--;
	memmove(map->leaf + l, map->leaf + l + 1,
	    (map->leaves - l) * sizeof(struct leaf *));
	map->moved += (map->leaves - l) / LEAF;
	if (map->spares < MAP_SPARES)
		map->spare[map->spares++] = leaf;
	else
		free(leaf);
}

/* Split a full leaf; returns the new place of p. */
static struct place
leaf_split(struct map *map, struct place p)
{
	struct leaf *old = map->leaf[p.leaf];
	struct leaf *new = map->spare[--map->spares];
	unsigned half = LEAF / 2;

	leaf_shift(map, new, 0, old, half);
	new->n = old->n - half;
	old->n = half;
	add_leaf(map, p.leaf + 1, new);
	return p.i < half ? p : (struct place){ p.leaf + 1, p.i - half };
}

/* Make a segment begin at off, and return its place. */
static struct place
segs_cut(struct map *map, uint64_t off)
{
	struct place p = leaves_find(map, off);
	struct leaf *leaf;

	if (at_end(map, p) || begin_of(map, p) == off)
		return p;
	if (map->leaf[p.leaf]->n == LEAF)
		p = leaf_split(map, p);
	leaf = map->leaf[p.leaf];
	leaf_shift(map, leaf, p.i + 1, leaf, p.i);
	leaf->n++;
	p.i++;
	leaf->off[p.i] = off;
	leaves_count(map, leaf->status[p.i], 0, 1);
	return p;
}

/* Merge two leaves if together they fill less than half of one. */
static void
leaf_merge(struct map *map, size_t l)
{
	struct leaf *a, *b;

	if (l + 1 >= map->leaves)
		return;
	a = map->leaf[l];
	b = map->leaf[l + 1];
	if (a->n + b->n > LEAF / 2)
		return;
	leaf_shift(map, a, a->n, b, 0);
	a->n += b->n;
	drop_leaf(map, l + 1);
}

/* Remove a segment that has become part of the one before. */
static void
leaves_erase(struct map *map, struct place p)
{
	struct leaf *leaf = map->leaf[p.leaf];

	leaves_count(map, leaf->status[p.i], 0, (uint64_t)-1);
	leaf_shift(map, leaf, p.i, leaf, p.i + 1);
	leaf->n--;
	if (leaf->n == 0) {
		drop_leaf(map, p.leaf);
		return;
	}
	leaf_merge(map, p.leaf);
	if (p.leaf > 0)
		leaf_merge(map, p.leaf - 1);
}

/* Join equal segments that meet at from, at to, or between them. */
static void
segs_join(struct map *map, uint64_t from, uint64_t to)
{
	struct place p = leaves_find(map, from);
	uint64_t off;

	while (!at_end(map, p) && (off = begin_of(map, p)) <= to) {
		if (!is_first(p) && status_of(map, before(map, p)) ==
		    status_of(map, p)) {
			leaves_erase(map, p);
			p = leaves_find(map, off);
		}
		if (!at_end(map, p))
			p = next(map, p);
	}
}

static void
leaf_give(struct map *map, struct place p, enum seg_status to)
{
	struct seg s = seg_at(map, p);

	leaves_count(map, (unsigned char)s.status, -s.len, (uint64_t)-1);
	leaves_count(map, (unsigned char)to, s.len, 1);
	map->leaf[p.leaf]->status[p.i] = (unsigned char)to;
}

/*
 * Give a range a status, or only those parts that have the status "only".
 * Needs leaves_reserve.
 */
static void
leaves_change(struct map *map, uint64_t off, uint64_t len, enum seg_status only,
    enum seg_status to)
{
	struct place p;

	segs_cut(map, off + len);
	for (p = segs_cut(map, off); !at_end(map, p) &&
	    begin_of(map, p) < off + len; p = next(map, p))
		if (only == any || status_of(map, p) == only)
			leaf_give(map, p, to);
	segs_join(map, off, off + len);
}

int
map_init(struct map *map, uint64_t length, uint64_t chunk, uint64_t phase)
{
	*map = (struct map){ .chunk = chunk, .phase = phase,
		.length = length, .from = UNTRIED };
	if (leaves_reserve(map) != 0) {
		map_free(map);
		return ENOMEM;
	}
	if (length > 0) {
		map->leaf[0] = map->spare[--map->spares];
		map->leaf[0]->off[0] = 0;
		map->leaf[0]->status[0] = UNTRIED;
		map->leaf[0]->n = 1;
		map->leaves = 1;
		leaves_count(map, UNTRIED, length, 1);
	}
	pthread_mutex_init(&map->lock, NULL);
	map->ready = true;
	return 0;
}

void
map_free(struct map *map)
{
	if (map->ready)
		pthread_mutex_destroy(&map->lock);
	while (map->leaves > 0)
		free(map->leaf[--map->leaves]);
	while (map->spares > 0)
		free(map->spare[--map->spares]);
	free(map->leaf);
	map->leaf = NULL;
	map->ready = false;
}

void
map_take(struct map *map, struct map *from)
{
	*map = *from;
	*from = (struct map){ .ready = false };
}

/* What is left for the pass from its cursor on, as one segment. */
static bool
map_ahead(const struct map *map, struct seg *got)
{
	struct place p = leaves_find(map, map->cursor);

	while (!at_end(map, p) && status_of(map, p) != map->from)
		p = next(map, p);
	if (at_end(map, p))
		return false;
	*got = seg_at(map, p);
	if (got->off < map->cursor) {
		got->len -= map->cursor - got->off;
		got->off = map->cursor;
	}
	return true;
}

/* Cut a claim at the boundaries of pieces. */
static void
to_piece(const struct map *map, struct seg *got)
{
	uint64_t want = map->chunk -
	    (got->off % map->chunk + map->phase) % map->chunk;

	if (want < got->len)
		got->len = want;
}

/* Claim what map_ahead has found; as map_claim_to. */
static int
map_take_segment(struct map *map, struct seg *got, uint64_t limit, bool whole)
{
	if (leaves_reserve(map) != 0)
		return -1;
	if (limit > got->off && limit - got->off < got->len)
		got->len = limit - got->off;
	if (!whole)
		to_piece(map, got);
	leaves_change(map, got->off, got->len, map->from, CLAIMED);
	map->cursor = got->off + got->len;
	got->status = CLAIMED;
	return 1;
}

int
map_claim_to(struct map *map, uint64_t end, bool whole, struct seg *got)
{
	int claimed = 0;

	pthread_mutex_lock(&map->lock);
	if (map_ahead(map, got))
		claimed = map_take_segment(map, got, end, whole);
	pthread_mutex_unlock(&map->lock);
	return claimed;
}

int
map_claim(struct map *map, struct seg *got)
{
	return map_claim_to(map, UINT64_MAX, false, got);
}

bool
map_peek(struct map *map, struct seg *next)
{
	bool found;

	pthread_mutex_lock(&map->lock);
	found = map_ahead(map, next);
	pthread_mutex_unlock(&map->lock);
	return found;
}

void
map_pass(struct map *map, enum seg_status from)
{
	pthread_mutex_lock(&map->lock);
	map->from = from;
	map->cursor = 0;
	pthread_mutex_unlock(&map->lock);
}

void
map_pieces(struct map *map, uint64_t chunk)
{
	pthread_mutex_lock(&map->lock);
	map->chunk = chunk;
	pthread_mutex_unlock(&map->lock);
}

/* Change the status of a range, or of its parts with the status "from". */
static int
map_set_range(struct map *map, uint64_t off, uint64_t len, enum seg_status from,
    enum seg_status to)
{
	int err;

	if (len == 0)
		return 0;
	pthread_mutex_lock(&map->lock);
	err = leaves_reserve(map);
	if (err == 0)
		leaves_change(map, off, len, from, to);
	pthread_mutex_unlock(&map->lock);
	return err;
}

int
map_set(struct map *map, uint64_t off, uint64_t len, enum seg_status to)
{
	return map_set_range(map, off, len, any, to);
}

int
map_change(struct map *map, uint64_t off, uint64_t len, enum seg_status from,
    enum seg_status to)
{
	return map_set_range(map, off, len, from, to);
}

/* Whether a status means untried, but to be read later. */
static bool
status_hidden(enum seg_status s)
{
	return s == LATER || s == LAST || s == ASIDE;
}

static size_t
copy_all(struct map *map, struct seg **copy, bool put_off)
{
	struct place p = { 0, 0 };
	size_t n = 0, all, i;

	pthread_mutex_lock(&map->lock);
	for (all = 0, i = 0; i < map->leaves; i++)
		all += map->leaf[i]->n;
	*copy = reallocarray(NULL, all + 1, sizeof(**copy));
	for (; *copy != NULL && !at_end(map, p); p = next(map, p), n++) {
		(*copy)[n] = seg_at(map, p);
		if ((*copy)[n].status == CLAIMED)
			(*copy)[n].status = map->from;
		else if (!put_off && status_hidden((*copy)[n].status))
			(*copy)[n].status = UNTRIED;
		if ((*copy)[n].status == STALE)
			(*copy)[n].status = OUTSIDE;
	}
	pthread_mutex_unlock(&map->lock);
	return n;
}

size_t
map_copy(struct map *map, struct seg **copy)
{
	return copy_all(map, copy, false);
}

size_t
map_copy_put_off(struct map *map, struct seg **copy)
{
	return copy_all(map, copy, true);
}

int
map_settle(struct map *map, uint64_t off, uint64_t len, enum seg_status to)
{
	return map_set_range(map, off, len, CLAIMED, to);
}

void
map_end(struct map *map, uint64_t end)
{
	struct place p;
	struct seg s;

	pthread_mutex_lock(&map->lock);
	while (map->leaves > 0 && map->length > end) {
		p = before(map, (struct place){ map->leaves, 0 });
		s = seg_at(map, p);
		map->length = s.off > end ? s.off : end;
		leaves_count(map, (unsigned char)s.status, -(s.off + s.len -
		    map->length), 0);
		if (s.off >= end)
			leaves_erase(map, p);
	}
	pthread_mutex_unlock(&map->lock);
}

bool
map_next(struct map *map, uint64_t off, enum seg_status status, struct seg *got)
{
	struct place p;
	bool found;

	pthread_mutex_lock(&map->lock);
	p = leaves_find(map, off);
	while (!at_end(map, p) && status_of(map, p) != status)
		p = next(map, p);
	found = !at_end(map, p);
	if (found) {
		*got = seg_at(map, p);
		if (got->off < off) {
			got->len -= off - got->off;
			got->off = off;
		}
	}
	pthread_mutex_unlock(&map->lock);
	return found;
}

bool
map_here(struct map *map, uint64_t off, struct seg *got)
{
	struct place p;
	bool found;

	pthread_mutex_lock(&map->lock);
	p = leaves_find(map, off);
	found = !at_end(map, p);
	if (found) {
		*got = seg_at(map, p);
		got->len -= off - got->off;
		got->off = off;
	}
	pthread_mutex_unlock(&map->lock);
	return found;
}

enum seg_status
map_at(struct map *map, uint64_t off)
{
	enum seg_status status;
	struct place p;

	pthread_mutex_lock(&map->lock);
	p = leaves_find(map, off);
	status = at_end(map, p) ? FINISHED : status_of(map, p);
	pthread_mutex_unlock(&map->lock);
	return status;
}

bool
map_all(struct map *map, uint64_t off, uint64_t len, enum seg_status status)
{
	struct seg s;

	return map_next(map, off, status, &s) && s.off == off && s.len >= len;
}

struct map_totals
map_totals(struct map *map)
{
	struct map_totals t;

	pthread_mutex_lock(&map->lock);
	t = (struct map_totals){ .end = map->length,
		.outside = map->sum[OUTSIDE].bytes + map->sum[STALE].bytes,
		.finished = map->sum[FINISHED].bytes,
		.bad = map->sum[BAD].bytes,
		.bad_ranges = map->sum[BAD].ranges,
		.untried = map->sum[UNTRIED].bytes + map->sum[LATER].bytes +
		    map->sum[LAST].bytes + map->sum[ASIDE].bytes,
		.failed = map->sum[UNTRIMMED].bytes + map->sum[UNSCRAPED].bytes,
		.claimed = map->sum[CLAIMED].bytes };
	if (map->from == BAD)
		t.bad += t.claimed;
	else if (map->from == UNTRIMMED || map->from == UNSCRAPED)
		t.failed += t.claimed;
	else
		t.untried += t.claimed;
	pthread_mutex_unlock(&map->lock);
	return t;
}

size_t
segs_find(const struct seg *seg, size_t n, uint64_t off)
{
	size_t lo = 0, hi = n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (seg[mid].off + seg[mid].len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}
