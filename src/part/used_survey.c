/*
 * What to examine on a source, its partitions or the whole, and doubts about
 * its table.
 */
#include "used_survey.h"

#include <bsd/sys/endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

#include "look.h"
#include "part/parts.h"
#include "used_judge.h"
#include "used_list.h"

enum {
	SECTOR = 512,
	TABLE = 1 << 20,	/* bytes that contain any partition table */
	TABLE_ROOM = 34 * 512,	/* bytes that are read of it: MBR and GPT */
	MBR_ROWS = 446,		/* offset of the first of four rows */
	PROTECTIVE = 0xee,	/* type of the row that stands for a GPT */
	GPT_HEAD = 92,		/* bytes of a header, of which we read: */
	GPT_OTHER = 32,		/* the block of the other header */
	GPT_SUM = 88, SUM = 4,	/* the CRC-32 of the entries */
};

static int
used_add(struct used *u, unsigned partition, uint64_t off, uint64_t length)
{
	size_t room = u->room * 2 + 8;
	struct used_fs *more;

	if (u->n == u->room) {
		more = reallocarray(u->fs, room, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		u->fs = more;
		u->room = room;
	}
	u->fs[u->n++] = (struct used_fs){ .partition = partition,
		.off = off, .length = length, .state = FS_UNKNOWN };
	return 0;
}

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

/*
 * If a partitioned disk as a whole has the signature of a file system or a
 * RAID, one of the two is a leftover, and nobody knows which.
 */
static void
doubt_table(struct used *u, const struct plan *p)
{
	struct volume v;
	size_t i;

	parts_volume(p->src, 0, (uint64_t)p->src->geo.size, &v);
	for (i = 0; i < u->n && v.signs > 0; i++)
		used_whole(&u->fs[i], "the whole of %s has the signature of %s",
		    p->src->name, v.first);
}

/*
 * The MBR before a GPT may have partitions too (hybrid): they must be
 * partitions of the GPT, or one of the two tables is a leftover.
 */
static int
doubt_mbr(struct used *u, struct look *l, uint32_t sector)
{
	unsigned char mbr[SECTOR], *e;
	uint64_t from, to;
	int err;
	size_t i;

	l->base = 0;
	err = look_read(l, 0, mbr, sizeof(mbr));
	for (e = mbr + MBR_ROWS; err == 0 && e < mbr + SECTOR - 2; e += 16) {
		from = (uint64_t)le32dec(e + 8) * sector;
		to = from + (uint64_t)le32dec(e + 12) * sector;
		for (i = 0; i < u->n && e[4] != 0 && e[4] != PROTECTIVE; i++)
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
	size_t i;

	l->base = 0;
	err = look_read(l, sector, head, sizeof(head));
	if (err == 0 && is_gpt(head) && !__builtin_mul_overflow(le64dec(head +
	    GPT_OTHER), (uint64_t)sector, &at) && at < size &&
	    size - at >= sizeof(other)) {
		err = look_read(l, at, other, sizeof(other));
		for (i = 0; i < u->n && err == 0 && is_gpt(other) &&
		    memcmp(head + GPT_SUM, other + GPT_SUM, SUM) != 0; i++)
			used_whole(&u->fs[i], "the GPT at the end has other "
			    "partitions");
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

/*
 * Volumes of Windows dynamic disks (LDM) span partitions and disks: where a
 * file system begins says nothing about where its other blocks lie.
 */
static void
doubt_spans(struct used *u, const struct parts *t)
{
	static const char *const ldm[] = { "0x42",
		"af9b60a0-1431-4f62-bc68-3311714a69ad",
		"5808c8aa-7e8f-42e0-85d2-e1e90434cfb3" };
	bool spans = false;
	size_t i, k;

	for (i = 0; i < t->n; i++)
		for (k = 0; k < sizeof(ldm) / sizeof(*ldm); k++)
			spans |= strcasecmp(t->part[i].type, ldm[k]) == 0;
	for (i = 0; i < u->n && spans; i++)
		used_whole(&u->fs[i], "it is on a Windows dynamic disk, whose "
		    "volumes may span several");
}

/*
 * A hash tree (dm-verity) covers free blocks, too, and does not say of which
 * partition.
 */
static void
doubt_trees(struct used *u, const struct plan *p, const struct parts *t)
{
	struct volume v;
	size_t i, k;

	for (k = 0; k < t->n; k++) {
		parts_volume(p->src, t->part[k].start, t->part[k].length, &v);
		if (strcmp(v.type, "DM_verity_hash") != 0)
			continue;
		for (i = 0; i < u->n; i++)
			used_whole(&u->fs[i], "partition %u may have digests "
			    "of its free blocks (dm-verity)",
			    t->part[k].number);
	}
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
		doubt_spans(u, &t);
		doubt_trees(u, p, &t);
		if (gpt)
			err = doubt_mbr(u, l, t.sector);
		if (gpt && err == 0)
			err = doubt_backup(u, l, t.sector);
	}
	parts_free(&t);
	return err;
}

int
used_look(struct used *u, const struct plan *p, unsigned how, struct map *known)
{
	struct look l;
	int err = look_open(&l, p, how, known);
	size_t i;

	if (err != 0)
		return err;
	err = used_survey_parts(u, &l);
	for (i = 0; i < u->n && err == 0; i++)
		if (u->fs[i].treated != TREATED_WHOLE)
			err = used_judge(u, &u->fs[i], &l);
	look_close(&l);
	return err;
}
