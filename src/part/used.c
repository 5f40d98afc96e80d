/*
 * What the file systems of a source use.
 *
 * A range is left out only if a clean file system proves that it is free, and
 * nothing contradicts it: the partition table is valid, and its partitions do
 * not overlap; neither the disk nor the partition has a signature of anything
 * else (a RAID, a volume manager, an earlier file system); the file system is
 * completely in the copy; and nobody can write to it.  Everything else counts
 * as used.  After the copy the file systems are examined again: blocks that
 * they have begun to use meanwhile were not copied.
 */
#include "part/used.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/status.h"
#include "map/mapfile.h"
#include "open/tee.h"
#include "part/parts.h"
#include "plan/fit.h"
#include "used_survey.h"

/* How to examine file systems, according to used=. */
static unsigned
how_of(const struct opts *o)
{
	return (o->used & USED_META) != 0 ? FS_ORDER | FS_META :
	    (o->used & USED_FIRST) != 0 ? FS_ORDER : 0;
}

/*
 * The same with what the map= file calls finished, or not to be read, for a
 * reading order.  A file that cannot be read is refused later.
 */
static int
look_known(struct used *u, const struct plan *p)
{
	struct mapfile m = { .n = 0 };
	struct map known;
	struct fault f;
	size_t i;
	int err;

	if (map_init(&known, p->length, p->chunk, 0) != 0)
		return ENOMEM;
	err = mapfile_load(&m, p->opts->map, false, &f) == 0 ? 0 : ENOENT;
	for (i = 0; i < m.n && err == 0; i++) {
		uint64_t off = MAX(m.seg[i].off, p->src_off);
		uint64_t end = MIN(m.seg[i].off + m.seg[i].len,
		    p->src_off + p->length);

		if (m.seg[i].status != UNTRIED && off < end)
			err = map_set(&known, off - p->src_off, end - off,
			    m.seg[i].status);
	}
	err = used_look(u, p, how_of(p->opts), err == 0 && m.n > 0 ? &known :
	    NULL);
	mapfile_free(&m);
	map_free(&known);
	return err;
}

/* -------------------------------------------------------------- the plan */

/* How many of the targets are files, and how many keep their old contents. */
static unsigned
used_count_files(const struct plan *p, unsigned *others)
{
	const struct endpoint *to;
	unsigned i, n = 0;

	*others = 0;
	for (i = 0; (to = tee_target(p->dst, i)) != NULL; i++)
		if (endpoint_is_file(to))
			n++;
		else if (to->kind != END_DISCARD)
			++*others;
	return n;
}

/* A target that is written in order, or NULL. */
static const struct endpoint *
in_order(const struct plan *p)
{
	const struct endpoint *to;
	unsigned i;

	for (i = 0; (to = tee_target(p->dst, i)) != NULL; i++)
		if ((to->is.streamed && to->encoded == NULL) || to->is.zoned)
			return to;
	return NULL;
}

/* Whether free ranges are zeroed at the target. */
static bool
used_clears(const struct plan *p)
{
	const struct opts *o = p->opts;
	unsigned others;

	return o->compare == 0 && (p->dst->encoded != NULL ||
	    (used_count_files(p, &others) > 0 && others == 0) ||
	    (o->oflag & (FLAG_SPARSE | FLAG_TRIM)) != 0);
}

/* Refuse ends with which used= does not work. */
static int
used_possible(const struct plan *p, struct fault *f)
{
	const struct opts *o = p->opts;
	const struct endpoint *stream = in_order(p);
	unsigned others;

	if (!parts_possible(p->src))
		return fault_set(f, STATUS_USAGE, "used= and usedmap= look "
		    "for file systems on a disk, a partition, or an image of "
		    "one, and %s is not one", p->src->name);
	if (o->used == 0)
		return 0;
	if (stream != NULL)
		return fault_set(f, STATUS_USAGE, "used= leaves out what is "
		    "free, and %s is written in order", stream->name);
	if (used_count_files(p, &others) > 0 && others > 0 && !used_clears(p))
		return fault_set(f, STATUS_USAGE, "used=only makes holes in a "
		    "file and leaves a disk as it is: for both at once use "
		    "oflag=sparse, which writes zeros");
	if (p->opts->hash != 0 && !used_clears(p))
		return fault_set(f, STATUS_USAGE, "hash= and expect= cover "
		    "all bytes, but used=%s leaves %s as it was where they are "
		    "free; oflag=sparse zeroes that",
		    opts_word("used", o->used), p->dst->name);
	return 0;
}

/* Whether it has bytes of these ranges, n of them in order, of the source. */
static bool
used_has(const struct used *u, const struct used_fs *fs, const struct seg *s,
    size_t n)
{
	uint64_t off, at, len;
	size_t i;

	for (off = 0; off < fs->length; off += len) {
		len = fs->length - off;
		at = used_place(u, fs, off, &len);
		i = segs_find(s, n, at);
		if (i < n && s[i].off < at + len)
			return true;
	}
	return false;
}

/*
 * Count the file systems that have free ranges.  What is free in a group of LVM
 * or a member of a RAID is in none.
 */
static void
count_frees(struct used *u)
{
	const struct used_fs *fs;

	for (fs = u->fs; fs < u->fs + u->n; fs++) {
		if (fs->free == 0 || !used_has(u, fs, u->free.seg, u->free.n))
			continue;
		if (strstr(fs->type, "_member") != NULL)
			u->spare = true;
		else
			u->frees++;
	}
}

/* Whether unmapped ranges begin and end with whole pages or blocks. */
static bool
gaps_fit(const struct plan *p, const struct bmap *m)
{
	uint64_t at = p->dst_off, end;
	size_t i;

	for (i = 0; i <= m->n; i++) {
		end = p->dst_off + (i < m->n ? m->range[i].off : m->size);
		if (at < end && (at % p->grain != 0 ||
		    (i < m->n && end % p->grain != 0)))
			return false;
		if (i < m->n)
			at = end + m->range[i].len;
	}
	return true;
}

/*
 * Check that the block map is for this image, and that its blocks suit the
 * target.
 */
static int
bmap_fits(const struct plan *p, const struct bmap *m, struct fault *f)
{
	const struct endpoint *src = p->src, *stream = in_order(p);

	if (src->geo.size >= 0 && (src->is.device ?
	    (uint64_t)src->geo.size < m->size :
	    (uint64_t)src->geo.size != m->size))
		return fault_set(f, STATUS_REFUSED, "%s is for an image of "
		    "%" PRIu64 " bytes, but %s has %" PRIi64, p->opts->bmap,
		    m->size, src->name, src->geo.size);
	if (stream != NULL)
		return fault_set(f, STATUS_USAGE, "bmap= leaves out what is "
		    "not mapped, and %s is written in order", stream->name);
	if (!gaps_fit(p, m))
		return fault_set(f, STATUS_REFUSED, "bmap= makes zeros of what "
		    "is not mapped, by blocks of %" PRIu64 " bytes: seek= and "
		    "the blocks of %s must be multiples of that", p->grain,
		    p->opts->bmap);
	if (src->is.streamed && (p->opts->oflag & FLAG_NOZERO) != 0)
		return fault_set(f, STATUS_USAGE, "oflag=nozero is not for "
		    "what comes by a pipe: unpack it first");
	return 0;
}

/* How much of what is free, or not mapped, would else be written. */
static uint64_t
used_omits(const struct used *u, const struct plan *p)
{
	uint64_t sum = 0;
	size_t i;

	if (!p->holes)
		return u->bytes_free;
	for (i = 0; i < u->free.n; i++)
		sum += fit_data(p, u->free.seg[i].off, u->free.seg[i].len,
		    UINT64_MAX);
	return sum;
}

/* Leave out what a block map does not contain. */
static int
of_bmap(struct used *u, struct plan *p, const struct bmap *m, struct fault *f)
{
	uint64_t at = 0, end;
	int err = 0;
	size_t i;

	if (bmap_fits(p, m, f) != 0)
		return -1;
	for (i = 0; i <= m->n && err == 0; i++) {
		end = i < m->n ? m->range[i].off : m->size;
		err = used_list_add(&u->free, at, end);
		if (i < m->n)
			at = m->range[i].off + m->range[i].len;
	}
	if (err != 0)
		return fault_errno(f, err, "%s", p->opts->bmap);
	u->bytes_free = used_list_bytes(&u->free, UINT64_MAX);
	u->length = m->size;
	u->masks = p->src->is.streamed;
	u->unchecked = m->algorithm == NULL;
	u->leaves = !u->masks;
	u->clears = u->leaves && (p->opts->oflag & FLAG_NOZERO) == 0;
	p->omitted = used_omits(u, p);
	p->used = u;
	return 0;
}

int
used_make(struct used *u, struct plan *p, const struct bmap *m, struct fault *f)
{
	int err;

	*u = (struct used){ .n = 0 };
	if (p->opts->bmap != NULL)
		return of_bmap(u, p, m, f);
	if (p->opts->used == 0 && p->opts->usedmap == NULL)
		return 0;
	if (used_possible(p, f) != 0)
		return -1;
	err = (p->opts->used & (USED_FIRST | USED_META)) != 0 ?
	    look_known(u, p) : used_look(u, p, 0, NULL);
	if (err != 0)
		return fault_errno(f, err, "%s: finding out what is used",
		    p->src->name);
	used_list_trim(&u->free, p->length);
	u->bytes_free = used_list_bytes(&u->free, UINT64_MAX);
	count_frees(u);
	u->leaves = (p->opts->used & USED_ONLY) != 0;
	u->clears = u->leaves && used_clears(p);
	u->length = p->length;
	p->opened = u->opened;
	p->omitted = u->leaves ? used_omits(u, p) : 0;
	if (p->opts->looks)
		p->length = 0;
	p->used = u;
	return 0;
}

void
used_free(struct used *u)
{
	while (u->n > 0)
		free(u->fs[--u->n].piece);
	free(u->fs);
	free(u->free.seg);
	free(u->meta.seg);
	*u = (struct used){ .n = 0 };
}

/* --- applying it ---------------------------------------------------------- */

/* Give what has the status "from" in the ranges of a list another. */
static int
used_defer(const struct plan *p, struct map *map, const struct used_list *l,
    enum seg_status from, enum seg_status to)
{
	uint64_t off, end;
	int err = 0;
	size_t i;

	for (i = 0; i < l->n && err == 0; i++) {
		off = MAX(l->seg[i].off, p->src_off);
		end = MIN(l->seg[i].off + l->seg[i].len,
		    p->src_off + p->length);
		if (off < end)
			err = map_change(map, off - p->src_off, end - off,
			    from, to);
	}
	return err;
}

int
used_apply(const struct plan *p, struct map *map)
{
	static const enum seg_status undone[] = { UNTRIED, UNTRIMMED,
		UNSCRAPED, BAD };
	const struct used *u = p->used;
	int err = 0;
	size_t i;

	if (u == NULL || !u->leaves)
		return 0;
	for (i = 0; i < sizeof(undone) / sizeof(undone[0]) && err == 0; i++)
		err = used_defer(p, map, &u->free, undone[i], u->clears &&
		    p->dst->encoded == NULL ? STALE : OUTSIDE);
	return err != 0 ? err : used_defer(p, map, &u->free, FINISHED, OUTSIDE);
}

int
used_order(const struct plan *p, struct map *map, const struct used *u)
{
	bool meta = (p->opts->used & USED_META) != 0;
	int err = map_change(map, 0, p->length, LATER, UNTRIED);

	if (err == 0)
		err = map_change(map, 0, p->length, LAST, UNTRIED);
	if (err == 0)
		err = used_defer(p, map, &u->free, UNTRIED, LAST);
	if (err == 0 && meta)
		err = map_change(map, 0, p->length, UNTRIED, LATER);
	if (err == 0 && meta)
		err = used_defer(p, map, &u->meta, LATER, UNTRIED);
	return err != 0 || !meta ? err :
	    used_defer(p, map, &u->meta, LAST, UNTRIED);
}

int
used_order_anew(const struct plan *p, struct map *map)
{
	struct used u = { .n = 0 };
	int err = used_look(&u, p, how_of(p->opts) | FS_DEEP, map);

	if (err == 0) {
		used_list_trim(&u.free, p->length);
		err = used_order(p, map, &u);
	}
	used_free(&u);
	return err;
}

/* The file system that contains a byte; there must be one. */
static const struct used_fs *
fs_at(const struct used *u, uint64_t off)
{
	const struct seg s = { off, 1, OUTSIDE };
	size_t i;

	for (i = u->n - 1; i > 0; i--)		/* volumes come last */
		if (used_has(u, &u->fs[i], &s, 1))
			break;
	return &u->fs[i];
}

bool
used_next(const struct plan *p, uint64_t at, uint64_t end, uint64_t *from,
    uint64_t *to)
{
	const struct used_list *l = p->used != NULL && p->used->leaves ?
	    &p->used->free : &(struct used_list){ .n = 0 };
	size_t i = segs_find(l->seg, l->n, p->src_off + at);

	for (; i < l->n && l->seg[i].off <= p->src_off + at; i++)
		at = l->seg[i].off + l->seg[i].len - p->src_off;
	*from = at;
	*to = i < l->n ? MIN(l->seg[i].off - p->src_off, end) : end;
	return at < end;
}

void
used_mask(const struct plan *p, uint64_t off, unsigned char *buf, size_t len)
{
	const struct used_list *l = &p->used->free;
	uint64_t end = off + len, from, to;
	size_t i = segs_find(l->seg, l->n, off);

	for (; i < l->n && l->seg[i].off < end; i++) {
		from = MAX(l->seg[i].off, off);
		to = MIN(l->seg[i].off + l->seg[i].len, end);
		memset(buf + (from - off), 0, (size_t)(to - from));
	}
}

int
used_kept(const struct plan *p, struct fault *f)
{
	struct used now = { .n = 0 };
	const struct seg *s;
	char name[256];
	int err;

	if (p->used == NULL || !p->used->leaves || p->used->n == 0 ||
	    p->used->free.n == 0)
		return 0;
	err = used_look(&now, p, 0, NULL);
	if (err == 0 && now.stamp != p->used->stamp)
		now.free.n = 0;
	s = err == 0 ? used_list_uncovered(&p->used->free, &now.free) : NULL;
	if (err != 0)
		fault_errno(f, err, "%s: finding out what is used",
		    p->src->name);
	else if (s != NULL)
		err = fault_set(f, STATUS_SHORT, "%s of %s has changed, or "
		    "may be changing: what was left out as free may be "
		    "in use now; the same command copies that, too",
		    used_name(name, sizeof(name), fs_at(p->used, s->off)),
		    p->src->name);
	used_free(&now);
	return err == 0 ? 0 : -1;
}

const char *
used_whose(char *to, size_t room, const struct used *u)
{
	snprintf(to, room, "that %zu file system%s free%s", u->frees,
	    u->frees == 1 ? " calls" : "s call", u->spare ?
	    " or no volume has" : "");
	return u->frees == 0 && u->spare ? "that no volume has" : to;
}
