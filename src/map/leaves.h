/*
 * Where the segments of a map lie: in leaves of some hundred, the leaves in one
 * array.  To find one is a search in the array and a search in the leaf; to cut
 * one moves the rest of its leaf, and once in a hundred times splits it.
 *
 * All of it with map->lock held.
 */
#ifndef PARDD_LEAVES_H
#define PARDD_LEAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map/map.h"

enum { LEAF = 256 };		/* segments in a leaf, at most */

static const enum seg_status any = (enum seg_status)0;

struct leaf {
	uint64_t	off[LEAF];
	unsigned char	status[LEAF];
	unsigned	n;	/* > 0 once it is in the map */
};

struct place {			/* of a segment; leaf == map->leaves: the end */
	size_t		leaf;
	unsigned	i;
};

/* Behind the last segment, where there is none. */
static inline bool
at_end(const struct map *map, struct place p)
{
	return p.leaf == map->leaves;
}

/* The segment behind; p is not the end. */
static inline struct place
next(const struct map *map, struct place p)
{
	if (p.i + 1 < map->leaf[p.leaf]->n)
		return (struct place){ p.leaf, p.i + 1 };
	return (struct place){ p.leaf + 1, 0 };
}

/* The one before; p is not the first. */
static inline struct place
before(const struct map *map, struct place p)
{
	if (p.i > 0)
		return (struct place){ p.leaf, p.i - 1 };
	return (struct place){ p.leaf - 1, map->leaf[p.leaf - 1]->n - 1 };
}

/* Whether it is the first of all. */
static inline bool
is_first(struct place p)
{
	return p.leaf == 0 && p.i == 0;
}

/* Where it begins; the end, where the last one ends. */
static inline uint64_t
begin_of(const struct map *map, struct place p)
{
	return at_end(map, p) ? map->length : map->leaf[p.leaf]->off[p.i];
}

/* What it is; p is not the end. */
static inline enum seg_status
status_of(const struct map *map, struct place p)
{
	return (enum seg_status)map->leaf[p.leaf]->status[p.i];
}

/* All of it. */
static inline struct seg
seg_at(const struct map *map, struct place p)
{
	uint64_t off = begin_of(map, p);

	return (struct seg){ off, begin_of(map, next(map, p)) - off,
		status_of(map, p) };
}

/* Room for the two cuts that any change of one range may need; or ENOMEM. */
int leaves_reserve(struct map *);

/* Add to the totals of a status. */
void leaves_count(struct map *, unsigned char status, uint64_t bytes,
    uint64_t ranges);

/* The segment that holds off, or the end. */
struct place leaves_find(const struct map *, uint64_t off);

/*
 * Give a range a status, or what has the status "only" (any: all) of it.  After
 * leaves_reserve.
 */
void leaves_change(struct map *, uint64_t off, uint64_t len,
    enum seg_status only, enum seg_status to);

/* Take a segment out: it is part of the one before now, or behind the end. */
void leaves_erase(struct map *, struct place);

#endif
