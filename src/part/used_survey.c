/*
 * What to examine on a source, its partitions or the whole, and doubts about
 * its table.
 */
#include "used_survey.h"

#include <bsd/string.h>
#include <bsd/sys/endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/number.h"
#include "disk/disk.h"
#include "disk/mbr.h"
#include "part/parts.h"

/*
 * Lists of ranges: in order, disjoint, none adjacent.
 */

enum {
	SECTOR = 512,
	LEAST_MOST = 1 << 20,	/* bytes: a longer range is always left out */
	ALONG = 100,		/* at most 1/ALONG more is copied */
};

int
used_list_add(struct used_list *l, uint64_t off, uint64_t end)
{
	struct seg *last = l->n > 0 ? &l->seg[l->n - 1] : NULL, *more;
	size_t room = l->room * 2 + 64;

	if (last != NULL && off >= last->off)
		off = MAX(off, last->off + last->len);
	if (off >= end)
		return 0;
	if (last != NULL && last->off + last->len == off) {
		last->len += end - off;
		return 0;
	}
	if (l->seg == NULL || l->n == l->room) {
		more = reallocarray(l->seg, room, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		l->seg = more;
		l->room = room;
	}
	l->seg[l->n++] = (struct seg){ off, end - off, OUTSIDE };
	return 0;
}

static int
used_list_order(const void *a, const void *b)
{
	const struct seg *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

void
used_list_sort(struct used_list *l)
{
	size_t i, n = l->n;

	if (n > 1)
		qsort(l->seg, n, sizeof(*l->seg), used_list_order);
	for (i = l->n = 0; i < n; i++)		/* there is room */
		(void)used_list_add(l, l->seg[i].off, l->seg[i].off +
		    l->seg[i].len);
}

int
used_list_free(struct used_list *l, const struct plan *p, uint64_t off,
    uint64_t end)
{
	uint64_t unit = p->grain;

	off = MAX(off, p->src_off);
	end = MIN(end, p->src_off + p->length);
	if (off >= end)
		return 0;
	off = round_up(off - p->src_off + p->dst_off, unit);
	end = end - p->src_off + p->dst_off;
	end -= end % unit;
	return off < end ? used_list_add(l, off - p->dst_off + p->src_off,
	    end - p->dst_off + p->src_off) : 0;
}

uint64_t
used_list_bytes(const struct used_list *l, uint64_t shorter)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->seg[i].len < shorter)
			sum += l->seg[i].len;
	return sum;
}

void
used_list_trim(struct used_list *l, uint64_t length)
{
	uint64_t used = length - used_list_bytes(l, UINT64_MAX);
	uint64_t least = LEAST_MOST;
	size_t i, n = 0;

	while (least > SECTOR && used_list_bytes(l, least) > used / ALONG)
		least /= 2;
	for (i = 0; i < l->n; i++)
		if (l->seg[i].len >= least)
			l->seg[n++] = l->seg[i];
	l->n = n;
}

const struct seg *
used_list_uncovered(const struct used_list *l, const struct used_list *by)
{
	size_t i, k = 0;

	for (i = 0; i < l->n; i++) {
		const struct seg *s = &l->seg[i], *t;

		while (k < by->n && by->seg[k].off + by->seg[k].len <= s->off)
			k++;
		t = &by->seg[k];
		if (k == by->n || t->off > s->off ||
		    t->off + t->len < s->off + s->len)
			return s;
	}
	return NULL;
}

/*
 * Whether the free space of a file system is left out, and which of its ranges
 * come first.
 */

enum {				/* what may lie behind a file system */
	TREE_UNIT = 4096,	/* bytes of a block of a hash tree */
	AVB_FOOTER = 64,	/* bytes, the last ones of a partition */
};

/* Copy it as a whole, for this reason.  Returns -1. */
static int __attribute__((format(printf, 2, 3)))
used_whole(struct used_fs *fs, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fs->reason, sizeof(fs->reason), fmt, ap);
	va_end(ap);
	fs->treated = TREATED_WHOLE;
	return -1;
}

/* Refuse a file system that somebody may write to during the copy. */
static int
used_idle(struct used_fs *fs, struct used *u, const struct endpoint *ep)
{
	char why[IDLE_WHY];

	return part_idle(ep, fs->off, fs->off + fs->length, fs->partition > 0,
	    &u->opened, why) == 0 ? 0 : used_whole(fs, "%s", why);
}

/* Refuse a file system whose bytes others may claim, or that is incomplete. */
static int
used_placed(struct used_fs *fs, const struct used *u, const struct plan *p)
{
	uint64_t end = fs->off + fs->length, to = p->src_off + p->length;
	size_t i;

	if (end > (uint64_t)p->src->geo.size)
		return used_whole(fs, "it goes beyond the end of %s",
		    p->src->name);
	for (i = 0; i < u->n; i++)
		if (&u->fs[i] != fs && u->fs[i].within == 0 &&
		    u->fs[i].off < end &&
		    fs->off < u->fs[i].off + u->fs[i].length)
			return used_whole(fs, "partition %u lies on the same "
			    "bytes", u->fs[i].partition);
	if (fs->off < p->src_off || end > to)
		return used_whole(fs, "only a part of it is copied");
	return 0;
}

/* Copy its own account. */
static void
used_take_account(struct used_fs *fs, const struct fs_map *m)
{
	if (m->type[0] != '\0')
		strlcpy(fs->type, m->type, sizeof(fs->type));
	if (m->label[0] != '\0')
		strlcpy(fs->label, m->label, sizeof(fs->label));
	strlcpy(fs->group, m->container, sizeof(fs->group));
	fs->stamp = m->stamp;
	fs->used = m->used;
	fs->free = m->free_bytes;
	fs->state = m->state;
}

/* Objections to a file system that calls itself clean. */
static int
used_convinced(struct used_fs *fs, const struct fs_map *m,
    const struct volume *v)
{
	used_take_account(fs, m);
	if (m->state == FS_UNKNOWN && m->type[0] == '\0')
		return used_whole(fs, "its free space is not known");
	if (m->state != FS_CLEAN)
		return used_whole(fs, "%s", m->reason);
	if (m->volumes == 1 && m->volume->n == 1 &&
	    m->volume->piece->off == 0 &&
	    strcmp(v->first, m->type) == 0)
		return 0;		/* they are looked at in there */
	if (v->type[0] == '\0')
		return used_whole(fs, "there may be more than it in "
		    "that place");
	if (v->signs > 1 || strcmp(v->type, m->type) != 0)
		return strcmp(v->first, m->type) == 0 ?
		    used_whole(fs, "it has the signatures of "
		    "several file systems") :
		    used_whole(fs, "it has the signature of %s, too", v->first);
	return 0;
}

/*
 * Whether a sector has partitions, as the kernel sees it.  libblkid does not
 * look for them where a FAT or an NTFS begins, though that may be a leftover.
 */
static bool
has_table(const unsigned char *mbr)
{
	const unsigned char *e;
	bool any = false;
	size_t i;

	for (i = 0; i < 4; i++) {
		e = mbr_entry(mbr, i);
		if ((e[0] & 0x7f) != 0)
			return false;		/* the text of a boot sector */
		any |= e[4] != 0 && mbr_start(e) != 0 && mbr_length(e) != 0;
	}
	return any && mbr_is(mbr);
}

/* Refuse a file system with a partition table in its first sector. */
static int
used_undivided(struct used_fs *fs, struct look *l)
{
	unsigned char mbr[MBR_SIZE];

	if (used_read(l, 0, mbr, MBR_SIZE) != 0)
		return used_whole(fs, "its first sector cannot be read");
	return !has_table(mbr) ? 0 :
	    used_whole(fs, "its first sector has a partition table, too");
}

/*
 * Refuse a file system with something behind it that may be made from all of
 * its blocks: a tree of dm-verity, of Android with its footer (AVB), or any
 * other that begins there.  Such a tree covers free blocks, too.
 */
static int
used_uncovered(struct used_fs *fs, struct look *l, const struct fs_map *m)
{
	unsigned char b[TREE_UNIT];

	if (fs->length >= AVB_FOOTER) {
		if (used_read(l, fs->length - AVB_FOOTER, b, AVB_FOOTER) != 0)
			return used_whole(fs, "its end cannot be read");
		if (memcmp(b, "AVBf", 4) == 0)
			return used_whole(fs, "its free blocks have digests, "
			    "too (Android Verified Boot)");
	}
	if (m->end == 0 || m->end > fs->length ||
	    fs->length - m->end < TREE_UNIT)
		return 0;
	if (used_read(l, m->end, b, TREE_UNIT) != 0)
		return used_whole(fs, "what is behind it cannot be read");
	return all_zero(b, TREE_UNIT) ? 0 : used_whole(fs, "something is "
	    "behind it, which may have digests of its free blocks");
}

/* Add its free ranges, or its metadata, to those of the source. */
static int
used_take(struct used *u, const struct plan *p, const struct used_fs *fs,
    const struct fs_extents *list, bool spare)
{
	const struct fs_extent *x, *end = list->at + list->n;
	uint64_t off, at, n;
	int err = 0;

	for (x = list->at; x < end; x++)
		for (off = 0; off < x->len && err == 0; off += n) {
			n = x->len - off;
			at = used_place(u, fs, x->off + off, &n);
			err = spare ? used_list_free(&u->free, p, at, at + n) :
			    used_list_add(&u->meta, at, at + n);
		}
	return err;
}

/* Look into what is encrypted there by *mapper. */
static bool
used_opened(struct used_fs *fs, struct look *l, struct fs_map *m, dev_t *mapper)
{
	char why[IDLE_WHY];

	if (used_open(l, m, mapper, why) >= 0)
		return true;
	used_take_account(fs, m);
	return used_whole(fs, "%s", why) == 0;
}

/* Whether its free ranges are proven, and may be left out. */
static bool
used_proven(struct used_fs *fs, struct used *u, struct look *l,
    const struct fs_source *source, struct fs_map *m, dev_t *mapper, int *err)
{
	struct volume v;

	used_identify(l, &v);
	strlcpy(fs->type, v.type, sizeof(fs->type));
	strlcpy(fs->label, v.label, sizeof(fs->label));
	if (fs->within == 0 && used_placed(fs, u, l->p) != 0)
		return false;
	*err = fs_map_read(strcmp(v.first, "linux_raid_member") == 0 ?
	    v.first : v.type, source, l->how, m);
	return *err == 0 && used_opened(fs, l, m, mapper) &&
	    used_convinced(fs, m, &v) == 0 &&
	    used_undivided(fs, l) == 0 && used_uncovered(fs, l, m) == 0 &&
	    (fs->within > 0 || used_idle(fs, u, l->p->src) == 0);
}

/* Whether it can at least show what to read first; this need not be true. */
static bool
used_guessed(struct used_fs *fs, struct look *l,
    const struct fs_source *source, struct fs_map *m, dev_t *mapper, int *err)
{
	if (fs->within == 0 &&
	    fs->off + fs->length > (uint64_t)l->p->src->geo.size) {
		used_whole(fs, "it goes beyond the end of %s", l->p->src->name);
		return false;
	}
	*err = fs_map_read("", source, l->how, m);
	if (*err != 0)
		return false;
	if (!used_opened(fs, l, m, mapper)) {
		m->free.n = 0;		/* its keys come first */
		return true;
	}
	used_take_account(fs, m);
	fs->treated = TREATED_ORDERED;
	if (m->state == FS_UNKNOWN)
		used_whole(fs, "its free space is not known");
	return m->state != FS_UNKNOWN;
}

/* Judge one of them, and add its volumes.  Returns 0 or an errno value. */
static int
used_judge(struct used *u, size_t i, struct look *l)
{
	struct used_fs *fs = &u->fs[i];
	struct fs_source source = { .read = used_read, .arg = l,
		.length = fs->length };
	struct fs_map m = { .type = "" };
	size_t n = u->n;
	dev_t mapper = 0;
	int err = 0;

	l->u = u;
	l->fs = fs;
	if ((l->how & FS_ORDER) != 0 ?
	    used_guessed(fs, l, &source, &m, &mapper, &err) :
	    used_proven(fs, u, l, &source, &m, &mapper, &err)) {
		err = used_take(u, l->p, fs, &m.free, true);
		if (err == 0)
			err = used_take(u, l->p, fs, &m.meta, false);
		u->stamp = u->stamp * 31 + m.stamp;
		if (err == 0 && fs->treated != TREATED_WHOLE)
			err = used_add_volumes(u, i, &m);
		if (u->n > n && mapper != 0) {
			u->fs[i + 1].mapper = mapper;
			u->opened = true;
			if (u->fs[i].type[0] == '\0')
				strlcpy(u->fs[i].type, "dm-crypt",
				    sizeof(u->fs[i].type));
		}
	}
	fs_map_free(&m);
	return err;
}

enum {
	TABLE = 1 << 20,	/* bytes that contain any partition table */
	TABLE_ROOM = 34 * 512,	/* bytes that are read of it: MBR and GPT */
	GPT_HEAD = 92,		/* bytes of a header, of which we read: */
	GPT_OTHER = 32,		/* the block of the other header */
	GPT_SUM = 88, SUM = 4,	/* the CRC-32 of the entries */
};

/* Add the one partition that the source is limited to. */
static int
used_add_one(struct used *u, const struct endpoint *ep)
{
	return used_add(u, ep->lim.part, ep->lim.base,
	    (uint64_t)ep->geo.size - ep->lim.base);
}

static int
used_order_by_place(const void *a, const void *b)
{
	const struct used_fs *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

static bool
is_gpt(const unsigned char *head)
{
	return memcmp(head, "EFI PART", 8) == 0;
}

/* Add the partitions that overlap the copy. */
static int
used_add_parts(struct used *u, const struct plan *p, const struct parts *t)
{
	int err = used_list_add(&u->meta, 0, t->n == 0 ? 0 :
	    MIN(t->part[0].start, TABLE));
	size_t i;

	for (i = 0; i < t->n && err == 0; i++)
		if (!t->part[i].container &&
		    t->part[i].start < p->src_off + p->length &&
		    part_end(&t->part[i]) > p->src_off)
			err = used_add(u, t->part[i].number, t->part[i].start,
			    t->part[i].length);
	if (u->n > 1)
		qsort(u->fs, u->n, sizeof(*u->fs), used_order_by_place);
	return err;
}

/* Leave out nothing at all, for this reason. */
static void __attribute__((format(printf, 2, 3)))
doubt_all(struct used *u, const char *fmt, ...)
{
	char why[IDLE_WHY];
	va_list ap;
	size_t i;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	u->free.n = 0;
	for (i = 0; i < u->n; i++)
		used_whole(&u->fs[i], "%s", why);
}

/*
 * If a partitioned disk as a whole has the signature of a file system or a
 * RAID, one of the two is a leftover, and nobody knows which.
 */
static void
doubt_table(struct used *u, const struct plan *p)
{
	struct volume v;

	parts_volume(p->src, 0, (uint64_t)p->src->geo.size, &v);
	if (v.signs > 0)
		doubt_all(u, "the whole of %s has the signature of %s",
		    p->src->name, v.first);
}

/*
 * The MBR before a GPT may have partitions too (hybrid): they must be
 * partitions of the GPT, or one of the two tables is a leftover.
 */
static int
doubt_mbr(struct used *u, struct look *l, uint32_t sector)
{
	const unsigned char *e;
	unsigned char mbr[MBR_SIZE];
	uint64_t from, to;
	int err;
	size_t i, k;

	l->base = 0;
	err = look_read(l, 0, mbr, sizeof(mbr));
	for (k = 0; err == 0 && k < 4; k++) {
		e = mbr_entry(mbr, k);
		from = (uint64_t)mbr_start(e) * sector;
		to = from + (uint64_t)mbr_length(e) * sector;
		for (i = 0; i < u->n && e[4] != 0 && e[4] != MBR_GPT; i++)
			if (u->fs[i].off < to &&
			    from < u->fs[i].off + u->fs[i].length &&
			    (u->fs[i].off != from ||
			    u->fs[i].length != to - from))
				used_whole(&u->fs[i], "the MBR has another "
				    "partition on the same bytes");
	}
	return err == ENOMEM ? err : 0;
}

/*
 * The backup GPT must agree with the one at the start, or one of the two is a
 * leftover.  Only the checksums of their entries are compared; a backup that is
 * unreadable or missing says nothing.
 */
static int
doubt_backup(struct used *u, struct look *l, uint32_t sector)
{
	unsigned char head[GPT_HEAD], other[GPT_HEAD];
	uint64_t at, size = (uint64_t)l->p->src->geo.size;
	int err;

	l->base = 0;
	err = look_read(l, sector, head, sizeof(head));
	if (err == 0 && is_gpt(head) && !__builtin_mul_overflow(le64dec(head +
	    GPT_OTHER), (uint64_t)sector, &at) && at < size &&
	    size - at >= sizeof(other)) {
		err = look_read(l, at, other, sizeof(other));
		if (err == 0 && is_gpt(other) &&
		    memcmp(head + GPT_SUM, other + GPT_SUM, SUM) != 0)
			doubt_all(u, "the GPT at the end has other partitions");
	}
	return err == ENOMEM ? err : 0;
}

/*
 * The partition table, from the target if that has it.  If part of it could not
 * be read, the source is not read again.
 */
static int
used_survey_table(struct look *l, struct parts *t)
{
	const struct plan *p = l->p;
	struct fault f;

	if (l->target && p->src_off == 0 && p->dst_off == 0) {
		if (parts_rescued(p->dst, p->src, l->known, t, &f) == 0 &&
		    (t->n > 0 || look_lost(l, 0, TABLE_ROOM)))
			return 0;
		parts_free(t);
	}
	return parts_read(p->src, t, &f);
}

/*
 * Add the partitions, or the whole, which may have a table that cannot be used.
 */
static int
used_add_all(struct used *u, const struct plan *p, const struct parts *t)
{
	int err;

	/* The boot sector of a file system looks like an empty table. */
	if (t->n > 0 || (t->wrong[0] == '\0' && strcmp(t->type, "gpt") == 0))
		return used_add_parts(u, p, t);
	err = used_add(u, 0, 0, (uint64_t)p->src->geo.size);
	if (err == 0 && t->wrong[0] != '\0')
		used_whole(&u->fs[0], "its partition table cannot be used: %s",
		    t->wrong);
	return err;
}

static void
doubt_spans(struct used *u, const struct parts *t, bool spans)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		spans |= part_spans(&t->part[i]);
	if (spans)
		doubt_all(u, "it is on a Windows dynamic disk, whose volumes "
		    "may span several");
}

/*
 * A hash tree (dm-verity) covers free blocks, too, and does not say of which
 * partition.
 */
static void
doubt_trees(struct used *u, const struct plan *p, const struct parts *t)
{
	struct volume v;
	size_t k;

	for (k = 0; k < t->n; k++) {
		parts_volume(p->src, t->part[k].start, t->part[k].length, &v);
		if (strcmp(v.type, "DM_verity_hash") == 0)
			doubt_all(u, "partition %u may have digests of its "
			    "free blocks (dm-verity)", t->part[k].number);
	}
}

/*
 * Whether a node has these 8 bytes there, "verity\0\0" of a hash tree, or
 * "PRIVHEAD" of a Windows dynamic disk; what cannot be read may.
 */
static bool
node_has(dev_t node, const char *name, uint64_t at, const char *magic)
{
	char path[300], there[8];
	bool is = false;
	int fd;

	if (!disk_path(node, name, path, sizeof(path)))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)		/* EACCES: after the copy, when confined */
		return errno != EACCES && errno != ENOENT;
	is = pread(fd, there, sizeof(there), (off_t)at) != sizeof(there) ||
	    memcmp(there, magic, sizeof(there)) == 0;
	close(fd);
	return is;
}

/*
 * A source that is a partition by its own node: the same for those beside.  A
 * dynamic disk says so in the seventh sector of 512 bytes of an MBR disk, or in
 * the last one of a partition of a GPT.
 */
static void
doubt_beside(struct used *u, const struct plan *p)
{
	const struct parts none = { .n = 0 };
	struct disk_part *part = NULL;
	uint64_t block = p->src->geo.block;
	struct disk d;
	size_t n = 0, k;
	bool spans;

	if (!endpoint_disk(p->src, &d) || d.partition == 0 ||
	    disk_parts(d.whole, &part, &n) != 0)
		return;
	spans = node_has(d.whole, d.whole_name, UINT64_C(6) * 512, "PRIVHEAD");
	for (k = 0; k < n; k++) {
		spans |= part[k].length > block && node_has(part[k].node,
		    part[k].name, part[k].length - block, "PRIVHEAD");
		if (part[k].node != d.node &&
		    node_has(part[k].node, part[k].name, 0, "verity\0"))
			doubt_all(u, "%s may have digests of its free blocks "
			    "(dm-verity)", part[k].name);
	}
	doubt_spans(u, &none, spans);
	free(part);
}

/* Find out what to examine.  Returns 0 or an errno value. */
static int
used_survey_parts(struct used *u, struct look *l)
{
	const struct plan *p = l->p;
	const struct endpoint *ep = p->src;
	struct parts t;
	bool gpt, alone;
	int err;

	alone = ep->lim.part > 0;
	if (alone && (l->how & FS_ORDER) != 0)
		return used_add_one(u, ep);
	if (used_survey_table(l, &t) != 0)
		return 0;		/* the copy will report it */
	gpt = !alone && strcmp(t.type, "gpt") == 0;
	err = alone ? used_add_one(u, ep) : used_add_all(u, p, &t);
	if (err == 0 && (l->how & FS_ORDER) == 0) {
		if (t.n > 0 && !alone)
			doubt_table(u, p);
		doubt_spans(u, &t, false);
		doubt_trees(u, p, &t);
		doubt_beside(u, p);
		if (gpt)
			err = doubt_mbr(u, l, t.sector);
		if (gpt && err == 0)
			err = doubt_backup(u, l, t.sector);
	}
	parts_free(&t);
	return err;
}

const char *
used_name(char *to, size_t room, const struct used_fs *fs)
{
	bool in = fs->partition > 0, of = fs->volume[0] != '\0';
	char part[32] = "", what[176] = "";

	if (fs->label[0] != '\0')
		snprintf(what, sizeof(what), " (%s \"%s\")", fs->type,
		    fs->label);
	else if (fs->type[0] != '\0')
		snprintf(what, sizeof(what), " (%s)", fs->type);
	if (in)
		snprintf(part, sizeof(part), "partition %u%s", fs->partition,
		    of ? ": " : "");
	snprintf(to, room, "%s%s%s", part, in || of ? fs->volume :
	    "the file system", what);
	return to;
}

/*
 * A hash tree in a volume is like one in a partition.  Of two physical volumes
 * of a group whose metadata differs LVM believes the newer one, which may have
 * another volume where the older one has none.
 */
static void
doubt_volumes(struct used *u)
{
	const struct used_fs *a, *b;
	char one[300], other[300];

	for (a = u->fs; a < u->fs + u->n; a++) {
		if (a->within > 0 && strcmp(a->type, "DM_verity_hash") == 0)
			doubt_all(u, "%s may have digests of its free blocks "
			    "(dm-verity)", a->volume);
		for (b = u->fs; b < a; b++)
			if (a->group[0] != '\0' && a->stamp != b->stamp &&
			    strcmp(a->group, b->group) == 0)
				doubt_all(u, "%s and %s have different "
				    "metadata of one group of LVM",
				    used_name(one, sizeof(one), b),
				    used_name(other, sizeof(other), a));
	}
}

int
used_look(struct used *u, const struct plan *p, unsigned how, struct map *known)
{
	struct look l;
	int err = look_open(&l, p, how, known, false);
	size_t i;

	if (err != 0)
		return err;
	err = used_survey_parts(u, &l);
	for (i = 0; i < u->n && err == 0; i++)
		if (u->fs[i].treated != TREATED_WHOLE)
			err = used_judge(u, i, &l);
	look_close(&l);
	used_list_sort(&u->free);
	used_list_sort(&u->meta);
	doubt_volumes(u);
	return err;
}
