/*
 * Checking what a run takes over from earlier ones.  It reads a few places,
 * evenly spread, in an order that jumps, so that even the first few show much.
 * Zeros are found on any disk and prove nothing; if a digest shows that they
 * are zeros, they are skipped without reading.
 *
 * The target is read past its caches (endpoint_readback), the source the way a
 * rescue retries.
 */
#include "copy/trust.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"
#include "base/status.h"

enum {
	PLACES = 256,		/* visited, at most */
	STRIDE = 99,		/* from one place to the next, modulo PLACES */
	RANGES = 8,		/* this many right ranges of a base suffice */
	BLOCK = 4096,		/* bytes of a place; at least the source's
				 * block */
	FAR = 24,		/* places on each side of where a pass stood */
	TELLING = 3,		/* of these suffice, if they are not zeros */
	UNREADABLE = 2,		/* failed reads after which a source is left
				 * alone */
};

struct look {			/* reading one end */
	struct endpoint	 reader;	/* of the target; else not open */
	bool		 opened;
	struct lane	 lane;
	bool		 attached;
	uint32_t	 grain;	/* bytes; reads are whole multiples */
	unsigned char	*buf;
	size_t		 room;
};

static bool
look_with(struct look *l, struct endpoint *ep, uint64_t origin, uint32_t grain,
    size_t most)
{
	l->grain = grain;
	l->room = (size_t)round_up(most, grain) + grain;
	l->buf = page_alloc(l->room);
	l->attached = l->buf != NULL && lane_attach(&l->lane, ep, origin,
	    -1) == 0;
	return l->attached;
}

static bool
trust_open_target(struct look *l, const struct plan *p, size_t most)
{
	struct fault f;

	*l = (struct look){ .buf = NULL };
	if (!endpoint_readable_back(p->dst))
		return false;
	l->opened = endpoint_readback(&l->reader, p->dst, READ_BACK_MOST,
	    &f) == 0;
	return l->opened && look_with(l, &l->reader, p->dst_off,
	    l->reader.geo.io_align, most);
}

static bool
look_at_source(struct look *l, const struct plan *p, size_t most)
{
	*l = (struct look){ .buf = NULL };
	return look_with(l, p->src, p->src_off, p->sector, most);
}

static void
look_end(struct look *l)
{
	if (l->attached)
		lane_detach(&l->lane);
	if (l->opened)
		endpoint_close(&l->reader);
	free(l->buf);
}

/* Read the bytes at off into l->buf.  Returns NULL unless all can be read. */
static const unsigned char *
trust_read(struct look *l, uint64_t off, size_t len)
{
	size_t before = (size_t)(lane_place(&l->lane, off) % l->grain);
	struct io io = { .op = OP_READ, .buf = l->buf, .off = off - before,
		.len = (size_t)round_up(before + len, l->grain),
		.careful = true };

	lane_transfer(&l->lane, &io);
	return io.err == 0 && io.done >= before + len ? l->buf + before : NULL;
}

/* Which of n (<= PLACES) things to visit as the i-th; n: none. */
static size_t
trust_place(size_t i, size_t n)
{
	size_t k = i * STRIDE % PLACES;

	return k < n ? k : n;
}

/* --- base= -------------------------------------------------------------- */

/*
 * The next range from i on whose digest proves something, so not that of zeros;
 * with a map, only if it is FINISHED.
 */
static bool
next_telling(struct digest_table *digests, struct map *of,
    const struct digest *zeros, size_t *i, struct check *c)
{
	while (digest_table_at(digests, *i, c)) {
		if (c->state != CHECK_NONE && !digest_same(&c->digest, zeros) &&
		    (of == NULL || map_all(of, c->off, c->len, FINISHED)))
			return true;
		++*i;
	}
	return false;
}

/* Choose ranges whose digests prove something, evenly spread: how many. */
static size_t
spread_ranges(struct digest_table *digests, struct map *of, unsigned char *buf,
    size_t *at)
{
	struct digest zeros;
	size_t all = 0, n = 0, most, i, k;
	struct check c;

	memset(buf, 0, (size_t)digests->chunk);
	if (!digest_of(digests->by, buf, (size_t)digests->chunk, &zeros))
		return 0;
	for (i = 0; next_telling(digests, of, &zeros, &i, &c); i++)
		all++;
	most = all < PLACES ? all : PLACES;
	for (i = k = 0; n < most && next_telling(digests, of, &zeros, &i, &c);
	    i++, k++)
		if (k == n * all / most)
			at[n++] = i;
	return n;
}

static int
refuse_unchanged(const struct plan *p, const struct check *c, struct fault *f)
{
	const char *bitmap = p->opts->bitmap;

	return fault_set(f, STATUS_REFUSED, "%s calls byte %llu unchanged, but "
	    "it differs from %s: %s %s is not of that time; without iflag=%s "
	    "all is read", p->src->name, (ull)(p->src_off + c->off),
	    p->opts->base, bitmap != NULL ? "bitmap" : "snapshot",
	    bitmap != NULL ? bitmap : p->opts->since, bitmap != NULL ?
	    "bitmap:" : "since:");
}

/*
 * Whether a few ranges of an end have their digests; otherwise *c is one that
 * has not.
 */
static bool
trust_holds(struct look *l, struct digest_table *digests, struct map *of,
    struct check *c)
{
	size_t at[PLACES], n = spread_ranges(digests, of, l->buf, at), i;
	size_t right = 0;
	const unsigned char *has;
	struct digest d;

	for (i = 0; i < PLACES && right < RANGES; i++) {
		if (trust_place(i, n) == n ||
		    !digest_table_at(digests, at[trust_place(i, n)], c))
			continue;
		has = trust_read(l, c->off, (size_t)c->len);
		if (has == NULL)
			continue;
		right++;
		if (!digest_of(digests->by, has, (size_t)c->len, &d) ||
		    !digest_same(&d, &c->digest))
			return false;
	}
	return true;
}

int
trust_base(const struct plan *p, struct digest_table *digests, struct fault *f)
{
	struct check c;
	struct look l;
	int failed = 0;

	if (trust_open_target(&l, p, (size_t)digests->chunk) &&
	    !trust_holds(&l, digests, NULL, &c))
		failed = fault_set(f, STATUS_REFUSED, "%s does not hold what "
		    "%s says, for example at byte %llu: it is another disk, or "
		    "was written to since; without base= all is copied",
		    p->dst->name, p->opts->base, (ull)(p->dst_off + c.off));
	look_end(&l);
	return failed;
}

int
trust_unchanged(const struct plan *p, struct digest_table *digests,
    struct map *same, struct fault *f)
{
	struct check c;
	struct look l;
	int failed = 0;

	if (look_at_source(&l, p, (size_t)digests->chunk) &&
	    !trust_holds(&l, digests, same, &c))
		failed = refuse_unchanged(p, &c, f);
	look_end(&l);
	return failed;
}

/* --- map= --------------------------------------------------------------- */

/*
 * Turn the finished bytes with these numbers, in order, into their places in
 * the copy.  Returns how many there are.
 */
static size_t
finished_places(struct map *map, uint64_t *at, size_t n)
{
	struct seg s = { .len = 0 };
	uint64_t passed = 0;
	size_t i = 0;

	while (i < n && map_next(map, s.off + s.len, FINISHED, &s)) {
		for (; i < n && at[i] < passed + s.len; i++)
			at[i] = s.off + at[i] - passed;
		passed += s.len;
	}
	return i;
}

/*
 * Choose places of "size" bytes, evenly spread over the finished ranges.
 * Returns how many there are.
 */
static size_t
trust_spread(struct map *map, size_t size, uint64_t *at)
{
	uint64_t step = MAX(map_totals(map).finished / PLACES, size);
	size_t n;

	for (n = 0; n < PLACES; n++)
		at[n] = n * step;
	return finished_places(map, at, n);
}

/*
 * Choose places on both sides of "pos", where a pass stood: FAR before it, the
 * nearest last, and those that there are of FAR behind it.  Each is twice as
 * far away as the one before; NOWHERE: there is none.
 */
static void
trust_around(struct map *map, uint64_t pos, size_t size, uint64_t *at)
{
	struct seg s = { .len = 0 };
	uint64_t before = 0;
	size_t i;

	while (map_next(map, s.off + s.len, FINISHED, &s) && s.off < pos)
		before += MIN(s.len, pos - s.off);
	for (i = 0; i < FAR; i++) {
		at[FAR - 1 - i] = before - MIN(before, (uint64_t)size << i);
		at[FAR + i] = before + ((uint64_t)size << i) - size;
	}
	for (i = finished_places(map, at, (size_t)2 * FAR); i < (size_t)2 * FAR;
	    i++)
		at[i] = NOWHERE;
}

/* The finished part of the block at off, in the grid of the copy. */
static struct seg
block_at(struct map *map, uint64_t off, size_t size)
{
	uint64_t start = off - off % size, end = start + size;
	struct seg s;

	if (!map_next(map, start, FINISHED, &s) || s.off >= end)
		return (struct seg){ .len = 0 };
	if (s.len > end - s.off)
		s.len = end - s.off;
	return s;
}

struct pair {			/* both ends, and the results so far */
	struct look	 src, dst;
	struct agreed	*alike;
	unsigned	 unreadable;	/* places of the source, so far */
	uint64_t	 seen[2 * FAR];	/* the first places, and how many */
	size_t		 seens;
};

/* Note the first whole sector that both ends have, and that is not zeros. */
static void
note_alike(struct agreed *a, const struct plan *p, const struct seg *s,
    const unsigned char *buf)
{
	uint64_t off = p->src_off + s->off, end = off + s->len, next;

	if (end % p->sector == 0 && s->len >= p->sector)
		a->last = (struct sample){ end - p->sector,
		    junk_sum(buf + s->len - p->sector, p->sector) };
	for (; off < end; buf += next - off, off = next) {
		next = off - off % p->sector + p->sector;
		next = next < end ? next : end;
		if (next - off == p->sector && !all_zero(buf, p->sector)) {
			a->at[a->n++] = (struct sample){ off,
			    junk_sum(buf, p->sector) };
			return;
		}
	}
}

/* Compare one place; false if it differs. */
static bool
pair_agrees(struct pair *t, const struct plan *p, const struct seg *s)
{
	size_t len = (size_t)s->len;
	const unsigned char *has, *gave = trust_read(&t->src, s->off, len);

	if (gave == NULL)
		t->unreadable++;
	has = gave != NULL ? trust_read(&t->dst, s->off, len) : NULL;
	if (has == NULL)
		return true;
	if (memcmp(gave, has, len) != 0)
		return false;
	note_alike(t->alike, p, s, gave);
	return true;
}

/* Compare the block at a place; false if it differs, which *f says. */
static bool
pair_compare(struct pair *t, const struct plan *p, struct map *map, uint64_t at,
    size_t size, struct fault *f)
{
	struct seg s = block_at(map, at, size);
	size_t i;

	if (s.len == 0)
		return true;
	for (i = 0; i < t->seens; i++)
		if (t->seen[i] == s.off)
			return true;
	if (t->seens < sizeof(t->seen) / sizeof(t->seen[0]))
		t->seen[t->seens++] = s.off;
	if (pair_agrees(t, p, &s))
		return true;
	fault_set(f, STATUS_REFUSED, "%s calls byte %llu of %s finished, but "
	    "%s differs there: one has changed, or is another; if both are "
	    "right, ? in the map copies it again", p->opts->map,
	    (ull)(p->src_off + s.off), p->src->name, p->dst->name);
	return false;
}

/*
 * Compare what was finished last: if the target was put back to an older state,
 * that is missing.  It lies before or behind where the last pass stood.
 */
static bool
trust_last(struct pair *t, const struct plan *p, struct map *map, uint64_t pos,
    size_t size, struct fault *f)
{
	uint64_t at[2 * FAR];
	size_t i, side, first;

	trust_around(map, pos, size, at);
	for (side = 0; side < 2; side++) {
		first = t->alike->n;
		for (i = 0; i < FAR && t->alike->n < first + TELLING &&
		    t->unreadable < UNREADABLE; i++)
			if (!pair_compare(t, p, map, at[side == 0 ?
			    FAR - 1 - i : FAR + i], size, f))
				return false;
	}
	return true;
}

int
trust_map(const struct plan *p, struct map *map, uint64_t pos,
    const atomic_bool *stop, struct agreed *a, struct fault *f)
{
	size_t size = p->block > BLOCK ? p->block : BLOCK, n, i;
	uint64_t at[PLACES];
	struct pair t = { .alike = a };
	bool same;

	*a = (struct agreed){ .n = 0 };
	n = trust_spread(map, size, at);
	if (n == 0 || !trust_open_target(&t.dst, p, size) ||
	    !look_at_source(&t.src, p, size))
		n = 0;
	same = n == 0 || pos == NOWHERE || (stop != NULL && *stop) ||
	    trust_last(&t, p, map, pos, size, f);
	for (i = 0; i < PLACES && a->n < TRUST_BLOCKS && t.unreadable <
	    UNREADABLE && same && (stop == NULL || !*stop); i++)
		if (trust_place(i, n) != n)
			same = pair_compare(&t, p, map, at[trust_place(i, n)],
			    size, f);
	look_end(&t.src);
	look_end(&t.dst);
	return same ? 0 : -1;
}
