/*
 * Damage: the ranges that a rescue could not read, by partition, and for file
 * systems with a suitable tool the command that finds the files they belong to.
 *
 * Everything is looked up on the target.  Ranges that were not read were not
 * written either, and may hold old data.  So a table counts only as far as the
 * map calls it finished, and a file system only if its head is.
 */
#include "part/damage.h"

#include <bsd/sys/endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/number.h"
#include "base/print.h"
#include "disk/disk.h"
#include "part/parts.h"
#include "used_survey.h"

enum {
	STEP = 512,		/* the smallest block of all */
	PIECES = 64,		/* ranges kept per area */
	EXT_MOST = 64,		/* blocks in a command */
	RANGES_MOST = 16,	/* ranges in a command */
	RUN_MOST = 1000,	/* blocks of a range that xfs_db can list */
};

struct hits {			/* the losses of an area */
	struct damage_area area;
	struct seg	piece[PIECES];	/* the first ones */
	size_t		n;
};

struct survey {
	const struct plan *p;
	struct map	*map;
	struct endpoint	 dst;	/* the target, opened again */
	struct parts	 parts;
	struct hits	*hits;	/* one per partition, and one for the rest */
};

/* --- the commands ------------------------------------------------------ */

static void
put_word(FILE *out, const char *name)
{
	char *word = shell_word(name);

	fputs(word != NULL ? word : "...", out);
	free(word);
}

/*
 * The blocks that a piece touches, except those shared with the piece before.
 */
static bool
damage_blocks(const struct hits *h, size_t i, uint64_t unit, uint64_t *first,
    uint64_t *last)
{
	const struct seg *s = &h->piece[i], *t = i > 0 ? s - 1 : NULL;
	uint64_t done = t == NULL ? 0 : (t->off + t->len - 1 - h->area.off) /
	    unit + 1;

	*first = (s->off - h->area.off) / unit;
	*last = (s->off + s->len - 1 - h->area.off) / unit;
	if (*first < done)
		*first = done;
	return *first <= *last;
}

/*
 * Each of these writes a command, and returns how many ranges it covers
 * completely, or -1 if the file system has impossible numbers.
 *
 * debugfs(8): from blocks to inodes, and from these, at least one, to names.
 * Does not read the bitmaps (-c), which may be lost; it can start at an offset
 * in a file.
 */
static int64_t
ext_command(FILE *out, const struct hits *h, const char *name, uint64_t at,
    const unsigned char *head)
{
	uint32_t log = le32dec(head + 1024 + 24);
	uint64_t unit = UINT64_C(1024) << (log < 7 ? log : 0), first, last;
	char where[32] = "", *device = NULL;
	bool cut = false;
	size_t i, n = 0;

	if (at > 0)
		snprintf(where, sizeof(where), "?offset=%llu", (ull)at);
	if (asprintf(&device, "%s%s", name, where) < 0)
		return -1;
	fputs("i=$(debugfs -c -R 'icheck", out);
	for (i = 0; i < h->n && !cut; i++) {
		if (!damage_blocks(h, i, unit, &first, &last))
			continue;
		for (; first <= last && n < EXT_MOST; first++, n++)
			fprintf(out, " %llu", (ull)first);
		cut = first <= last;
	}
	fputs("' ", out);
	put_word(out, device);
	fputs(" | awk '$2+0 {print $2}' | sort -u | tr '\\n' ' '); "
	    "if [ \"$i\" ]; then debugfs -c -R \"ncheck $i\" ", out);
	put_word(out, device);
	fputs("; else echo 'no file is affected'; fi", out);
	free(device);
	return (int64_t)i - cut;
}

/* ntfscluster(8): one range of clusters at a time. */
static int64_t
ntfs_command(FILE *out, const struct hits *h, const unsigned char *head)
{
	uint64_t sector = head[11] | (uint64_t)head[12] << 8;
	uint64_t unit = head[13] <= 128 ? sector * head[13] :
	    head[13] > 240 ? sector << (256 - head[13]) : 0;
	uint64_t first, last;
	size_t i;

	if (unit == 0)
		return -1;
	fputs("for c in", out);
	for (i = 0; i < h->n && i < RANGES_MOST; i++)
		if (damage_blocks(h, i, unit, &first, &last))
			fprintf(out, " %llu-%llu", (ull)first, (ull)last);
	fputs("; do ntfscluster -f -q -c $c ", out);
	return (int64_t)i;
}

/* xfs_db(8): first collects the use of all blocks, which takes a while. */
static int64_t
xfs_command(FILE *out, const struct hits *h, const unsigned char *head)
{
	uint64_t unit = be32dec(head + 4), first, last;
	int64_t cut = 0;
	size_t i;

	if (unit < STEP || unit > 65536)
		return -1;
	fputs("xfs_db -r -c 'blockget -n'", out);
	for (i = 0; i < h->n && i < RANGES_MOST; i++) {
		if (!damage_blocks(h, i, unit, &first, &last))
			continue;
		if (last - first >= RUN_MOST) {
			last = first + RUN_MOST - 1;
			cut++;
		}
		fprintf(out, " -c 'daddr %llu' -c 'blockuse -n -c %llu'",
		    (ull)(first * (unit / 512)), (ull)(last - first + 1));
	}
	fputs(" ", out);
	return (int64_t)i - cut;
}

/* Tools that need a device get a loop device for a part of one. */
static int64_t
on_device(FILE *out, const struct hits *h, const char *name, uint64_t at,
    const unsigned char *head)
{
	bool ntfs = strcmp(h->area.type, "ntfs") == 0;
	int64_t n;

	if (at > 0) {
		fprintf(out, "d=$(losetup -r -f --show -o %llu --sizelimit "
		    "%llu ", (ull)at, (ull)h->area.len);
		put_word(out, name);
		fputs(") && { ", out);
	}
	n = ntfs ? ntfs_command(out, h, head) : xfs_command(out, h, head);
	if (at > 0)
		fputs("\"$d\"", out);
	else
		put_word(out, name);
	if (ntfs)
		fputs("; done", out);
	if (at > 0)
		fputs("; losetup -d \"$d\"; }", out);
	return n;
}

static void
make_command(struct survey *s, struct hits *h, const unsigned char *head)
{
	uint64_t at = s->p->dst_off + h->area.off;
	char *text = NULL;
	int64_t n;
	size_t room;
	FILE *out;

	if (strcmp(h->area.type, "ext2") != 0 &&
	    strcmp(h->area.type, "ext3") != 0 &&
	    strcmp(h->area.type, "ext4") != 0 &&
	    strcmp(h->area.type, "ntfs") != 0 &&
	    strcmp(h->area.type, "xfs") != 0)
		return;
	out = open_memstream(&text, &room);
	if (out == NULL)
		return;
	n = h->area.type[0] == 'e' ?
	    ext_command(out, h, s->p->dst->name, at, head) :
	    on_device(out, h, s->p->dst->name, at, head);
	if (!print_close(out, &text) || n < 0) {
		free(text);
		return;
	}
	h->area.command = text;
	h->area.more = h->area.ranges - (uint64_t)n;
}

/* --- the areas --------------------------------------------------------- */

static void
damage_describe(struct survey *s, struct hits *h)
{
	uint64_t at = s->p->dst_off + h->area.off;
	struct volume v;

	if (h->area.outside || !map_all(s->map, h->area.off, sizeof(v.head),
	    FINISHED))
		return;
	parts_volume(&s->dst, at, h->area.len, &v);
	if (!map_all(s->map, v.at - s->p->dst_off, 1, FINISHED))
		return;
	memcpy(h->area.type, v.type, sizeof(v.type));
	memcpy(h->area.label, v.label, sizeof(v.label));
	make_command(s, h, v.head);
}

/*
 * The area that a byte is in: the index of its partition, or one more for the
 * rest.  *until is where that may change.
 */
static size_t
area_at(const struct parts *t, uint64_t off, uint64_t *until)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		const struct part *q = &t->part[i];

		if (q->container)
			continue;
		if (q->start <= off && off < part_end(q)) {
			if (part_end(q) < *until)
				*until = part_end(q);
			return i;
		}
		if (off < q->start && q->start < *until)
			*until = q->start;
	}
	return t->n;
}

/* Add a lost range; or that it, of those, may yet be read. */
static void
damage_add(struct survey *s, const struct seg *lost, bool later)
{
	uint64_t at, end = lost->off + lost->len, until;

	for (at = lost->off; at < end; at = until) {
		struct hits *h;

		until = end;
		h = &s->hits[area_at(&s->parts, at, &until)];
		if (later) {
			h->area.later += until - at;
			continue;
		}
		if (h->n < PIECES)
			h->piece[h->n++] = (struct seg){ at, until - at, BAD };
		h->area.bytes += until - at;
		h->area.ranges++;
	}
}

static void
damage_add_all(struct survey *s)
{
	struct seg *seg, run = { 0, 0, BAD };
	size_t n = map_copy(s->map, &seg), i;

	for (i = 0; i < n; i++) {
		if (loss_is(seg[i].status)) {
			if (seg[i].status != BAD)
				damage_add(s, &seg[i], true);
			if (run.len == 0)
				run.off = seg[i].off;
			run.len += seg[i].len;
			continue;
		}
		damage_add(s, &run, false);
		run.len = 0;
	}
	damage_add(s, &run, false);
	free(seg);
}

/* A partition may contain a table of its own, but need not. */
static void
read_table(struct survey *s, struct damage *d)
{
	struct fault f;
	struct disk disk;

	if (s->p->src->lim.part > 0 || s->p->dst_off > 0 ||
	    parts_rescued(&s->dst, s->p->src, s->map, &s->parts, &f) != 0)
		return;
	if (s->parts.left != TABLE_LOST || !endpoint_disk(s->p->src, &disk) ||
	    disk.partition == 0)
		d->table = (int)s->parts.left;
}

/* Set up the areas, without losses. */
static void
damage_outline(struct survey *s)
{
	struct damage_area *rest = &s->hits[s->parts.n].area;
	size_t i;

	for (i = 0; i < s->parts.n; i++) {
		const struct part *q = &s->parts.part[i];

		s->hits[i].area.number = q->number;
		s->hits[i].area.off = q->start;
		s->hits[i].area.len = q->length;
	}
	rest->outside = s->parts.n > 0;
	rest->number = s->p->src->lim.part;
	rest->len = rest->outside ? 0 : s->p->length;
}

static void
damage_collect(struct survey *s, struct damage *d)
{
	size_t i;

	s->hits = calloc(s->parts.n + 1, sizeof(*s->hits));
	d->area = calloc(s->parts.n + 1, sizeof(*d->area));
	if (s->hits == NULL || d->area == NULL)
		return;
	damage_outline(s);
	damage_add_all(s);
	for (i = 0; i <= s->parts.n; i++) {
		if (s->hits[i].area.ranges == 0)
			continue;
		damage_describe(s, &s->hits[i]);
		if (!s->hits[i].area.outside)
			loss_sort(&s->hits[i].area, s->p, s->map);
		d->area[d->n] = s->hits[i].area;
		d->area[d->n++].off += s->p->src_off;
	}
}

void
damage_make(struct damage *d, const struct plan *p, struct map *map)
{
	struct survey s = { .p = p, .map = map, .dst = *p->dst };
	struct map_totals t = map_totals(map);
	uint64_t start = p->src->lim.part > 0 ? p->src->lim.base : 0;

	*d = (struct damage){ .n = 0 };
	if (p->work != WORK_RESCUE ||
	    t.bad + t.failed == 0 || p->src_off != start)
		return;
	s.dst.is.absent = false;
	s.dst.lim.part = 0;
	s.dst.geo.size = (int64_t)(p->dst_off + p->length);
	read_table(&s, d);
	damage_collect(&s, d);
	parts_free(&s.parts);
	free(s.hits);
}

void
damage_free(struct damage *d)
{
	size_t i;

	for (i = 0; i < d->n; i++) {
		free(d->area[i].command);
		fs_names_free(&d->area[i].files);
	}
	free(d->area);
}
