/*
 * Signatures of file systems, RAID and tables, by libblkid.
 */
#include "part/parts.h"

#include <blkid/blkid.h>
#include <bsd/string.h>
#include <bsd/sys/endian.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

enum {
	SECTOR = 512,		/* bytes, unless the table says otherwise */
	EDGE = 512 << 10,	/* bytes at both ends that may have
				 * signatures */
	SIGNS_MOST = 256,	/* of a disk, at most */
	LARGE_SECTOR = 4096,	/* bytes */
	AREA_SIGNS = 16,	/* of an area: the whole disk, or a partition */
};

struct signs {
	struct sign	*sign;
	size_t		 n, room;
	uint64_t	 from, to;	/* bytes */
};

/* Copy a text from libblkid, which may be NULL. */
static void
signs_keep_text(char *to, size_t room, const char *text)
{
	strlcpy(to, text != NULL ? text : "", room);
}

static const char *
signs_value(blkid_probe pr, const char *name)
{
	const char *text;

	return blkid_probe_lookup_value(pr, name, &text, NULL) == 0 ? text :
	    NULL;
}

/* Add a signature: a file system, or a partition table. */
static void
note_sign(struct signs *s, blkid_probe pr, uint64_t start)
{
	bool table = signs_value(pr, "TYPE") == NULL;
	const char *type = signs_value(pr, table ? "PTTYPE" : "TYPE");
	const char *at = signs_value(pr, table ? "PTMAGIC_OFFSET" :
	    "SBMAGIC_OFFSET");
	struct sign *to = &s->sign[s->n];

	if (type == NULL || at == NULL || s->n == s->room)
		return;
	to->off = start + strtoull(at, NULL, 10);
	if (to->off < s->from || to->off >= s->to)
		return;
	to->table = table;
	signs_keep_text(to->type, sizeof(to->type), type);
	signs_keep_text(to->label, sizeof(to->label), signs_value(pr, "LABEL"));
	s->n++;
}

/* Examine one area: the whole disk, or a partition. */
static void
probe_area(const struct view *v, uint64_t start, uint64_t length,
    uint32_t sector, bool tables, struct signs *s)
{
	blkid_probe pr = blkid_new_probe();
	int refused;
	unsigned i;

	if (pr == NULL)
		return;
	refused = blkid_probe_set_device(pr, v->fd, (blkid_loff_t)start,
	    (blkid_loff_t)length);
	refused |= blkid_probe_set_sectorsize(pr, sector);
	refused |= blkid_probe_enable_superblocks(pr, 1);
	refused |= blkid_probe_set_superblocks_flags(pr, BLKID_SUBLKS_TYPE |
	    BLKID_SUBLKS_LABEL | BLKID_SUBLKS_MAGIC);
	refused |= blkid_probe_enable_partitions(pr, tables);
	refused |= blkid_probe_set_partitions_flags(pr, BLKID_PARTS_MAGIC);
	if (refused == 0)
		for (i = 0; i < AREA_SIGNS && blkid_do_probe(pr) == 0; i++)
			note_sign(s, pr, start);
	blkid_free_probe(pr);
}

static void
probe_part(const struct view *v, const struct part *p, uint32_t sector,
    struct signs *s)
{
	uint64_t end = part_end(p);

	if (p->container || p->start == 0 || end > v->size ||
	    p->start >= s->to || end <= s->from)
		return;
	view_fill_ends(v, p->start, p->length, EDGE);
	probe_area(v, p->start, p->length, sector, false, s);
}

/*
 * The size of a file system: a number of units, both in its first 2 KiB, or in
 * the first descriptor of an ISO 9660.  libblkid has it only from 2.39 on.
 */
static void
volume_measure(const struct view *view, uint64_t off, struct volume *v)
{
	const unsigned char *h = v->head, *ext = h + 1024;
	unsigned char iso[132];
	uint64_t units = 0, unit = 0;

	if (strncmp(v->type, "ext", 3) == 0 && le32dec(ext + 24) <= 6) {
		units = le32dec(ext + 4);
		if ((le32dec(ext + 96) & 0x80) != 0)	/* 64bit */
			units |= (uint64_t)le32dec(ext + 0x150) << 32;
		unit = 1024U << le32dec(ext + 24);
	} else if (strcmp(v->type, "xfs") == 0) {
		units = be64dec(h + 8);
		unit = be32dec(h + 4);
	} else if (strcmp(v->type, "exfat") == 0 && h[108] <= 12) {
		units = le64dec(h + 72);
		unit = 1U << h[108];
	} else if (strcmp(v->type, "ntfs") == 0) {
		units = le64dec(h + 40);
		unit = le16dec(h + 11);
	} else if (strcmp(v->type, "vfat") == 0) {
		units = le16dec(h + 19) != 0 ? le16dec(h + 19) : le32dec(h +
		    32);
		unit = le16dec(h + 11);
	} else if (strcmp(v->type, "iso9660") == 0 &&
	    view_read(view, off + (32 << 10), iso, sizeof(iso)) &&
	    memcmp(iso, "\1CD001", 6) == 0) {
		units = le32dec(iso + 80);
		unit = le16dec(iso + 128);
	}
	if (__builtin_mul_overflow(units, unit, &v->size))
		v->size = 0;
}

/* Identify what a range of a view has. */
static void
volume_identify(const struct view *v, uint64_t off, uint64_t length,
    struct volume *to)
{
	struct sign sign[AREA_SIGNS];
	struct signs s = { .sign = sign, .room = AREA_SIGNS, .from = off,
		.to = UINT64_MAX };
	size_t i = 0;

	probe_area(v, off, length, parts_sector_of(v), false, &s);
	/* a shorter end leaves zeros after its last byte */
	to->read &= pread(v->fd, to->head, sizeof(to->head), (off_t)off) > 0;
	to->signs = s.n;
	if (s.n > 0)
		signs_keep_text(to->first, sizeof(to->first), sign[0].type);
	while (i < s.n && sign[i].off - off >= EDGE)
		i++;
	if (i == s.n)
		return;
	signs_keep_text(to->type, sizeof(to->type), sign[i].type);
	signs_keep_text(to->label, sizeof(to->label), sign[i].label);
	to->at = sign[i].off;
	volume_measure(v, off, to);
}

/* Tables that libblkid does not know, of a disk without another. */
static void
note_old_table(const struct view *v, struct signs *s)
{
	unsigned char b[SECTOR];
	bool amiga;
	uint64_t at;

	for (at = 0; s->n == 0 && at < UINT64_C(16) * SECTOR &&
	    view_read(v, at, b, SECTOR); at += SECTOR) {
		amiga = memcmp(b, "RDSK", 4) == 0;
		if (at < s->from || at >= s->to || (!amiga &&
		    memcmp(b + 64, "WEV\x82", 4) != 0))
			continue;
		s->sign[s->n] = (struct sign){ .off = at, .table = true };
		signs_keep_text(s->sign[s->n++].type, sizeof(s->sign->type),
		    amiga ? "amiga" : "bsd");
	}
}

void
parts_volume(struct endpoint *ep, uint64_t off, uint64_t length,
    struct volume *to)
{
	struct view v;

	*to = (struct volume){ .type = "" };
	if (!parts_possible(ep))
		return;
	if (view_open(&v, ep) == 0 && off < v.size && length <= v.size - off) {
		to->read = view_fill_ends(&v, off, length, EDGE) == 0;
		volume_identify(&v, off, length, to);
	}
	view_close(&v);
}

void
parts_contents(int fd, uint64_t length, struct volume *to)
{
	const struct view v = { .fd = fd, .from = -1, .size = length,
		.sector = SECTOR };

	*to = (struct volume){ .read = true };
	volume_identify(&v, 0, length, to);
}

size_t
parts_signs(struct endpoint *ep, uint64_t from, uint64_t to, struct sign **sign)
{
	struct signs s = { .room = SIGNS_MOST, .from = from, .to = to };
	struct parts t = { .sector = SECTOR };
	struct view v = { .fd = -1 };
	size_t i;

	*sign = NULL;
	if (!parts_possible(ep))
		return 0;
	s.sign = calloc(SIGNS_MOST, sizeof(*s.sign));
	if (s.sign != NULL && view_open(&v, ep) == 0 &&
	    view_edges(&v, EDGE) == 0 && parts_read_table(&v, &t) == 0) {
		probe_area(&v, 0, v.size, t.sector, t.wrong[0] == '\0', &s);
		for (i = 0; i < t.n; i++)
			probe_part(&v, &t.part[i], t.sector, &s);
		note_old_table(&v, &s);
	}
	parts_free(&t);
	view_close(&v);
	*sign = s.sign;
	return s.n;
}

/* The backup, in the last sector, of a GPT that does not outlive the copy. */
static void
note_backup(const struct view *v, uint32_t sector, struct signs *s)
{
	uint64_t at = v->size - v->size % sector - sector;
	unsigned char h[8];

	if (s->n < s->room && s->from > sector && at >= s->from &&
	    view_read(v, at, h, 8) && memcmp(h, "EFI PART", 8) == 0)
		s->sign[s->n++] = (struct sign){ .off = at, .table = true,
			.type = "gpt" };
}

size_t
parts_remains(struct endpoint *ep, uint64_t from, struct sign **sign)
{
	struct signs s = { .room = AREA_SIGNS, .from = from,
		.to = UINT64_MAX };
	struct view v = { .fd = -1, .from = -1 };
	uint64_t edge;

	*sign = NULL;
	if (!parts_possible(ep) || ep->lim.part > 0 ||
	    (uint64_t)ep->geo.size <= from)
		return 0;
	s.sign = calloc(AREA_SIGNS + 2, sizeof(*s.sign));
	edge = MIN((uint64_t)ep->geo.size - from, EDGE);
	if (s.sign != NULL && view_bare(&v, ep) == 0 &&
	    view_fill(&v, v.size - edge, edge) == 0) {
		probe_area(&v, 0, v.size, parts_sector_of(&v), false, &s);
		s.room = AREA_SIGNS + 2;
		note_backup(&v, SECTOR, &s);
		note_backup(&v, LARGE_SECTOR, &s);
	}
	view_close(&v);
	*sign = s.sign;
	return s.n;
}
