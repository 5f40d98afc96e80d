/*
 * The segments of a map: finding, cutting and joining them.
 *
 * A change makes at most two cuts.  A claim provides spare leaves, so that
 * settling never needs memory.
 */
#include "leaves.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
int
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

void
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
struct place
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
void
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
void
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
