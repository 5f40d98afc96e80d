/*
 * Storage for the segments of a map: leaves of a few hundred segments, in one
 * array.  Finding a segment takes one search in the array and one in the leaf.
 * Cutting one moves the rest of its leaf, and rarely splits it.
 *
 * Everything is called with map->lock held.
 */
#ifndef PARDD_LEAVES_H
#define PARDD_LEAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map/map.h"

enum { LEAF = 256 };		/* segments per leaf, at most */

static const enum seg_status any = (enum seg_status)0;

struct leaf {
	uint64_t	off[LEAF];
	unsigned char	status[LEAF];
	unsigned	n;	/* > 0 once it is in the array */
};

struct place {			/* a segment; leaf == map->leaves: the end */
	size_t		leaf;
	unsigned	i;
};

/* Whether p is past the last segment. */
static inline bool
at_end(const struct map *map, struct place p)
{
	return p.leaf == map->leaves;
}

/* The next segment; p is not the end. */
static inline struct place
next(const struct map *map, struct place p)
{
	if (p.i + 1 < map->leaf[p.leaf]->n)
		return (struct place){ p.leaf, p.i + 1 };
	return (struct place){ p.leaf + 1, 0 };
}

/* The previous segment; p is not the first. */
static inline struct place
before(const struct map *map, struct place p)
{
	if (p.i > 0)
		return (struct place){ p.leaf, p.i - 1 };
	return (struct place){ p.leaf - 1, map->leaf[p.leaf - 1]->n - 1 };
}

/* Whether p is the first segment. */
static inline bool
is_first(struct place p)
{
	return p.leaf == 0 && p.i == 0;
}

/* Where a segment begins; at the end, the length of the map. */
static inline uint64_t
begin_of(const struct map *map, struct place p)
{
	return at_end(map, p) ? map->length : map->leaf[p.leaf]->off[p.i];
}

/* The status of a segment; p is not the end. */
static inline enum seg_status
status_of(const struct map *map, struct place p)
{
	return (enum seg_status)map->leaf[p.leaf]->status[p.i];
}

/* The whole segment. */
static inline struct seg
seg_at(const struct map *map, struct place p)
{
	uint64_t off = begin_of(map, p);

	return (struct seg){ off, begin_of(map, next(map, p)) - off,
		status_of(map, p) };
}

#endif
