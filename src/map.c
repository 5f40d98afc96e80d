/*
 * The map: a sorted array of segments that cover the copy without gaps.  A
 * claim cuts a piece off the untried part; settling it gives it a status and
 * joins it to neighbours that are alike.  A healthy copy has some two segments
 * a worker, so that a search is a few steps and a cut moves a few entries.
 *
 *	m	map->lock, a leaf: nothing is called with it held
 */
#include "map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

enum { ROOM = 128 };		/* segments to begin with */

int
map_init(struct map *map, uint64_t length, uint64_t chunk, uint64_t phase)
{
	*map = (struct map){ .chunk = chunk, .phase = phase, .room = ROOM,
		.from = UNTRIED };
	map->seg = malloc(ROOM * sizeof(*map->seg));
	if (map->seg == NULL)
		return ENOMEM;
	if (length > 0) {
		map->seg[0] = (struct seg){ 0, length, UNTRIED };
		map->n = 1;
	}
	pthread_mutex_init(&map->lock, NULL);
	return 0;
}

void
map_free(struct map *map)
{
	if (map->seg != NULL)
		pthread_mutex_destroy(&map->lock);
	free(map->seg);
	map->seg = NULL;
}

/* The index of the segment that holds off, or n behind the end. */
static size_t
find(const struct map *map, uint64_t off)
{
	size_t lo = 0, hi = map->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (map->seg[mid].off + map->seg[mid].len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Room for the two cuts that any change of one range may need. */
static int
reserve(struct map *map)
{
	struct seg *grown;

	if (map->n + 2 <= map->room)
		return 0;
	grown = reallocarray(map->seg, map->room * 2, sizeof(*grown));
	if (grown == NULL)
		return ENOMEM;
	map->seg = grown;
	map->room *= 2;
	return 0;
}

/* Make a segment begin at off; returns its index. */
static size_t
cut(struct map *map, uint64_t off)
{
	size_t i = find(map, off);
	struct seg *s = &map->seg[i];

	if (i == map->n || s->off == off)
		return i;
	memmove(s + 1, s, (map->n - i) * sizeof(*s));
	map->n++;
	s[0].len = off - s[0].off;
	s[1].off = off;
	s[1].len -= s[0].len;
	return i + 1;
}

/* Join segments alike among those from first to just behind last. */
static void
join(struct map *map, size_t first, size_t last)
{
	size_t to = first > 0 ? first - 1 : 0, from;

	if (map->n == 0)
		return;
	if (last >= map->n)
		last = map->n - 1;
	for (from = to + 1; from <= last; from++)
		if (map->seg[to].status == map->seg[from].status)
			map->seg[to].len += map->seg[from].len;
		else
			map->seg[++to] = map->seg[from];
	to++;
	memmove(&map->seg[to], &map->seg[from],
	    (map->n - from) * sizeof(*map->seg));
	map->n -= from - to;
}

/* Change what has the status "from" in a range; room is reserved. */
static void
change(struct map *map, uint64_t off, uint64_t len, enum seg_status from,
    enum seg_status to)
{
	size_t first = cut(map, off), last = cut(map, off + len), i;

	for (i = first; i < last; i++)
		if (map->seg[i].status == from)
			map->seg[i].status = to;
	join(map, first, last);
}

/* What the pass has left from its cursor on, in one segment. */
static bool
next_forwards(const struct map *map, struct seg *got)
{
	size_t i = find(map, map->cursor);

	while (i < map->n && map->seg[i].status != map->from)
		i++;
	if (i == map->n)
		return false;
	*got = map->seg[i];
	if (got->off < map->cursor) {
		got->len -= map->cursor - got->off;
		got->off = map->cursor;
	}
	return true;
}

static bool
next_backwards(const struct map *map, struct seg *got)
{
	size_t i = find(map, map->cursor);

	if (i < map->n && map->seg[i].off < map->cursor)
		i++;
	while (i > 0 && map->seg[i - 1].status != map->from)
		i--;
	if (i == 0)
		return false;
	*got = map->seg[i - 1];
	if (got->off + got->len > map->cursor)
		got->len = map->cursor - got->off;
	return true;
}

/* Cut a claim to the piece between two borders. */
static void
to_piece(const struct map *map, struct seg *got)
{
	uint64_t end = got->off + got->len, want;

	if (map->backwards) {
		want = (end % map->chunk + map->phase) % map->chunk;
		want = want == 0 ? map->chunk : want;
		if (want < got->len)
			*got = (struct seg){ end - want, want, got->status };
	} else {
		want = map->chunk -
		    (got->off % map->chunk + map->phase) % map->chunk;
		if (want < got->len)
			got->len = want;
	}
}

static int
claim(struct map *map, struct seg *got, uint64_t limit, bool whole)
{
	int claimed = 0;

	pthread_mutex_lock(&map->lock);
	if (!(map->backwards ? next_backwards(map, got) :
	    next_forwards(map, got))) {
		claimed = 0;
	} else if (reserve(map) != 0) {
		claimed = -1;
	} else {
		if (limit > got->off && limit - got->off < got->len)
			got->len = limit - got->off;
		if (!whole)
			to_piece(map, got);
		change(map, got->off, got->len, map->from, CLAIMED);
		map->cursor = map->backwards ? got->off : got->off + got->len;
		got->status = CLAIMED;
		claimed = 1;
	}
	pthread_mutex_unlock(&map->lock);
	return claimed;
}

int
map_claim(struct map *map, struct seg *got)
{
	return claim(map, got, UINT64_MAX, false);
}

int
map_claim_all(struct map *map, struct seg *got)
{
	return claim(map, got, UINT64_MAX, true);
}

int
map_claim_to(struct map *map, uint64_t end, bool whole, struct seg *got)
{
	return claim(map, got, end, whole);
}

bool
map_peek(struct map *map, struct seg *next)
{
	bool found;

	pthread_mutex_lock(&map->lock);
	found = next_forwards(map, next);
	pthread_mutex_unlock(&map->lock);
	return found;
}

void
map_pass(struct map *map, enum seg_status from, bool backwards)
{
	pthread_mutex_lock(&map->lock);
	map->from = from;
	map->backwards = backwards;
	map->cursor = backwards ? UINT64_MAX : 0;
	map->skip = 0;
	pthread_mutex_unlock(&map->lock);
}

void
map_pieces(struct map *map, uint64_t chunk)
{
	pthread_mutex_lock(&map->lock);
	map->chunk = chunk;
	pthread_mutex_unlock(&map->lock);
}

int
map_set(struct map *map, uint64_t off, uint64_t len, enum seg_status to)
{
	size_t first, last, i;
	int err;

	pthread_mutex_lock(&map->lock);
	err = len == 0 ? 0 : reserve(map);
	if (err == 0 && len > 0) {
		first = cut(map, off);
		last = cut(map, off + len);
		for (i = first; i < last; i++)
			map->seg[i].status = to;
		join(map, first, last);
	}
	pthread_mutex_unlock(&map->lock);
	return err;
}

/* Where the gap begins that ends at off: the last byte that is otherwise. */
static uint64_t
gap_start(const struct map *map, uint64_t off)
{
	size_t i = find(map, off);

	if (i < map->n && map->seg[i].off < off)
		return map->seg[i].status == map->from ? map->seg[i].off : off;
	if (i > 0 && map->seg[i - 1].status == map->from)
		return map->seg[i - 1].off;
	return off;
}

void
map_skip(struct map *map, const struct seg *at, uint64_t least, uint64_t most)
{
	uint64_t to;

	pthread_mutex_lock(&map->lock);
	map->skip = map->skip == 0 ? least : map->skip * 2;
	if (map->skip > most)
		map->skip = most;
	map->skip = round_up(map->skip, map->chunk);	/* whole blocks */
	if (map->backwards) {
		to = gap_start(map, at->off);
		if (to < map->cursor)
			map->cursor = to;
	} else {
		to = at->off + at->len + map->skip;
		if (to > map->cursor)
			map->cursor = to;
	}
	pthread_mutex_unlock(&map->lock);
}

void
map_go_on(struct map *map)
{
	pthread_mutex_lock(&map->lock);
	map->skip = 0;
	pthread_mutex_unlock(&map->lock);
}

size_t
map_copy(struct map *map, struct seg **copy)
{
	size_t n, i;

	pthread_mutex_lock(&map->lock);
	n = map->n;
	*copy = reallocarray(NULL, n + 1, sizeof(**copy));
	for (i = 0; *copy != NULL && i < n; i++) {
		(*copy)[i] = map->seg[i];
		if ((*copy)[i].status == CLAIMED)
			(*copy)[i].status = map->from;
	}
	pthread_mutex_unlock(&map->lock);
	return *copy == NULL ? 0 : n;
}

int
map_settle(struct map *map, uint64_t off, uint64_t len, enum seg_status to)
{
	int err;

	if (len == 0)
		return 0;
	pthread_mutex_lock(&map->lock);
	err = reserve(map);
	if (err == 0)
		change(map, off, len, CLAIMED, to);
	pthread_mutex_unlock(&map->lock);
	return err;
}

void
map_end(struct map *map, uint64_t end)
{
	pthread_mutex_lock(&map->lock);
	while (map->n > 0 && map->seg[map->n - 1].off >= end)
		map->n--;
	if (map->n > 0 && map->seg[map->n - 1].off +
	    map->seg[map->n - 1].len > end)
		map->seg[map->n - 1].len = end - map->seg[map->n - 1].off;
	pthread_mutex_unlock(&map->lock);
}

bool
map_next(struct map *map, uint64_t off, enum seg_status status,
    struct seg *got)
{
	size_t i;
	bool found;

	pthread_mutex_lock(&map->lock);
	i = find(map, off);
	while (i < map->n && map->seg[i].status != status)
		i++;
	found = i < map->n;
	if (found) {
		*got = map->seg[i];
		if (got->off < off) {
			got->len -= off - got->off;
			got->off = off;
		}
	}
	pthread_mutex_unlock(&map->lock);
	return found;
}

enum seg_status
map_at(struct map *map, uint64_t off)
{
	enum seg_status status;
	size_t i;

	pthread_mutex_lock(&map->lock);
	i = find(map, off);
	status = i < map->n ? map->seg[i].status : FINISHED;
	pthread_mutex_unlock(&map->lock);
	return status;
}

struct map_totals
map_totals(struct map *map)
{
	struct map_totals t = { 0 };
	size_t i;

	pthread_mutex_lock(&map->lock);
	for (i = 0; i < map->n; i++) {
		const struct seg *s = &map->seg[i];

		t.end = s->off + s->len;
		switch (s->status) {
		case UNTRIED:
			t.untried += s->len;
			break;
		case UNTRIMMED:
		case UNSCRAPED:
			t.failed += s->len;
			break;
		case CLAIMED:
			t.claimed += s->len;
			break;
		case FINISHED:
			t.finished += s->len;
			break;
		case OUTSIDE:
			break;
		case BAD:
			t.bad += s->len;
			t.bad_ranges++;
			break;
		}
	}
	pthread_mutex_unlock(&map->lock);
	return t;
}
