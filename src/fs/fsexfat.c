/*
 * exFAT: the allocation bitmap, which is found by an entry of the root
 * directory.
 *
 * Microsoft, "exFAT file system specification" (2019), 3 (boot regions), 4
 * (FAT), 6 and 7 (entries).  Chains of clusters are in the FAT, unless a file
 * or directory is marked as contiguous.
 */
#include "fsexfat.h"

#include <stdlib.h>
#include <string.h>

#include "fsclusters.h"
#include "fshits.h"

/*
 * exFAT: files that contain given bytes.  A file is a set of entries with a
 * checksum: its attributes, its chain, and parts of its name.
 */

enum {
	SET = 19,		/* entries per set, at most */
	N_LENGTH = 3, N_PART = 15, N_TEXT = 2,	/* units; units per entry; their
						 * offset */
	PART_BYTES = 2 * N_PART,
	E_COUNT = 1, E_SUM = 2,
};

struct set {
	size_t		 n, all;	/* entries read; expected, 0: no set */
	unsigned char	 p[SET * FS_ENTRY];
};

/* The checksum: figure 2 of the specification. */
static bool
exfat_set_checked(const struct set *s)
{
	uint16_t sum = 0;
	size_t i;

	for (i = 0; i < s->n * FS_ENTRY; i++)
		if (i != E_SUM && i != E_SUM + 1)
			sum = (uint16_t)((sum << 15 | sum >> 1) + s->p[i]);
	return fs_le(s->p + E_SUM, 2) == sum;
}

static void
exfat_set_file(struct clusters *c, const struct set *s)
{
	const unsigned char *stream = s->p + FS_ENTRY;
	struct clusters_file f = { .first = fs_le(stream + E_FIRST, 4),
		.size = fs_le(stream + E_SIZE, 8),
		.together = (stream[E_FLAGS] & TOGETHER) != 0,
		.directory = (s->p[E_KIND] & DIRECTORY) != 0 };
	unsigned char units[SET * PART_BYTES];
	char name[FS_NAME_MOST];
	size_t i, n = stream[N_LENGTH];

	if (s->n < 3 || !exfat_set_checked(s) || stream[0] != E_STREAM ||
	    n > (s->n - 2) * N_PART) {
		c->to->more = true;
		return;
	}
	for (i = 2; i < s->n; i++)
		memcpy(units + (i - 2) * (size_t)PART_BYTES,
		    s->p + i * FS_ENTRY + N_TEXT, PART_BYTES);
	fs_utf8(name, sizeof(name), units, n);
	clusters_file(c, &f, name);
}

static bool
exfat_set_entry(struct clusters *c, const unsigned char *p, bool begins)
{
	struct set *s = c->arg;
	bool belongs = (p[0] & (E_USED | E_BELONGS)) == (E_USED | E_BELONGS);

	if (begins || !belongs) {
		c->to->more |= s->all > 0;	/* it was cut off */
		s->all = 0;
	}
	if (p[0] == 0)
		return false;
	if (p[0] == E_FILE) {
		s->n = 0;
		s->all = p[E_COUNT] < SET ? (size_t)p[E_COUNT] + 1 : 0;
		c->to->more |= s->all == 0;
	}
	if (s->all == 0)
		return true;
	memcpy(s->p + s->n++ * FS_ENTRY, p, FS_ENTRY);
	if (s->n == s->all) {
		exfat_set_file(c, s);
		s->all = 0;
	}
	return true;
}

struct exfat {
	struct clusters	 c;
	unsigned char	 boot[EXFAT_BOOT];
	uint64_t	 bitmap, bitmap_size;	/* cluster; bytes */
	uint64_t	 upcase, upcase_size;	/* of the table of capitals */
	uint64_t	 lost;		/* sectors of the bitmap */
	unsigned char	*buf;		/* FS_PIECE */
	struct set	 set;		/* of the next file in a directory */
};

enum {				/* offsets in the boot sector */
	B_NAME = 3, B_LENGTH = 72, B_FAT = 80, B_FAT_SIZE = 84, B_HEAP = 88,
	B_CLUSTERS = 92, B_FLAGS = 106, B_SECTOR = 108,
	B_CLUSTER = 109, B_FATS = 110, B_PERCENT = 112,
	SECTORS = 12,		/* sectors of a boot region; the last has
				 * checksums */
	DIRTY = 2, FAILED = 4,
};

enum { LABEL_MOST = 11 };

/* ------------------------------------------------------------ geometry */

static bool
exfat_geometry(struct exfat *x)
{
	const unsigned char *b = x->boot;
	uint64_t sectors = fs_le(b + B_LENGTH, 8);
	struct clusters *c = &x->c;

	if (memcmp(b + B_NAME, "EXFAT   ", 8) != 0 ||
	    fs_le(b + 510, 2) != 0xaa55 || b[B_SECTOR] < 9 ||
	    b[B_SECTOR] > 12 || b[B_CLUSTER] > 25 - b[B_SECTOR])
		return false;
	c->sector = UINT32_C(1) << b[B_SECTOR];
	c->cluster = (uint64_t)c->sector << b[B_CLUSTER];
	c->table[0] = fs_le(b + B_FAT, 4) * c->sector;
	c->table_size = fs_le(b + B_FAT_SIZE, 4) * c->sector;
	c->bits = 32;
	c->mask = c->end = UINT32_MAX;
	c->first = fs_le(b + B_HEAP, 4) * c->sector;
	c->clusters = fs_le(b + B_CLUSTERS, 4);
	c->top = fs_le(b + EXFAT_ROOT, 4);
	return c->clusters > 0 && c->clusters <= 0xfffffff5 &&
	    b[B_FATS] == 1 && c->table[0] > 0 && c->table[0] < c->first &&
	    c->table_size <= c->first - c->table[0] &&
	    (c->clusters + 2) * 4 <= c->table_size &&
	    sectors <= INT64_MAX / c->sector &&
	    c->first + c->clusters * c->cluster <= sectors * c->sector;
}

/* The checksum: figure 1 of the specification. */
static bool
exfat_checksum_right(struct exfat *x)
{
	size_t n = (SECTORS - 1) * (size_t)x->c.sector, i;
	uint32_t sum = 0;

	if (fs_get(x->c.io, 0, x->buf, n + x->c.sector) != 0)
		return false;
	for (i = 0; i < n; i++)
		if (i != B_FLAGS && i != B_FLAGS + 1 && i != B_PERCENT)
			sum = (sum << 31 | sum >> 1) + x->buf[i];
	for (i = 0; i < x->c.sector; i += 4)
		if (fs_le(x->buf + n + i, 4) != sum)
			return false;
	return true;
}

static bool
exfat_boot_sector(struct exfat *x, uint64_t at)
{
	return fs_get(x->c.io, at, x->boot, EXFAT_BOOT) == 0 &&
	    exfat_geometry(x);
}

static bool
exfat_backup(struct exfat *x)
{
	uint32_t sector;

	for (sector = 512; sector <= 4096; sector *= 2)
		if (exfat_boot_sector(x, (uint64_t)SECTORS * sector) &&
		    x->c.sector == sector)
			return true;
	return false;
}

/* Find the boot sector or, unless only proof counts, its backup. */
static bool
exfat_open(void *state)
{
	struct exfat *x = state;

	x->c.arg = &x->set;
	if (fs_by_start(x->c.io) && exfat_boot_sector(x, 0))
		return true;
	if (!fs_by_copy(x->c.io) || !exfat_backup(x))
		return false;
	fs_doubt(x->c.io, FS_DAMAGED, "its boot sector is lost");
	return true;
}

static void
exfat_judge(struct exfat *x)
{
	uint64_t flags = fs_le(x->boot + B_FLAGS, 2);

	x->c.io->map->end = fs_le(x->boot + B_LENGTH, 8) * x->c.sector;
	if (x->c.first + x->c.clusters * x->c.cluster > x->c.io->src->length)
		fs_too_long(x->c.io);
	if (fs_exact(x->c.io) && !exfat_checksum_right(x))
		fs_doubt(x->c.io, FS_DAMAGED, "the checksum of its boot "
		    "sectors is wrong");
	if ((flags & DIRTY) != 0)
		fs_doubt(x->c.io, FS_DIRTY, "it is marked dirty: fsck.exfat");
	if ((flags & FAILED) != 0)
		fs_doubt(x->c.io, FS_DAMAGED, "it is marked as failing");
}

/* ------------------------------------------------- the root directory */

static bool
exfat_root_entry(struct clusters *c, const unsigned char *p, bool begins)
{
	struct exfat *x = c->arg;

	(void)begins;
	if (p[0] == E_BITMAP && (p[1] & 1) == 0) {
		x->bitmap = fs_le(p + E_FIRST, 4);
		x->bitmap_size = fs_le(p + E_SIZE, 8);
	} else if (p[0] == E_UPCASE) {
		x->upcase = fs_le(p + E_FIRST, 4);
		x->upcase_size = fs_le(p + E_SIZE, 8);
	} else if (p[0] == E_LABEL && p[1] <= LABEL_MOST) {
		fs_label_utf16(c->io, p + 2, p[1]);
	}
	return p[0] != 0;
}

/* --------------------------------------------------------------- bitmap */

/* Take a cluster of the bitmap, which begins at its byte "at". */
static void
exfat_take_bits(struct exfat *x, uint64_t n, uint64_t at)
{
	const struct clusters *c = &x->c;
	uint64_t off = clusters_place(c, n), left = x->bitmap_size - at, len,
	    last;

	fs_note_meta(c->io, off, c->cluster);
	left = left < c->cluster ? left : c->cluster;
	for (; left > 0; left -= len, off += len, at += len) {
		len = left < FS_PIECE ? left : FS_PIECE;
		x->lost += fs_get_units(c->io, off, x->buf, c->sector,
		    (size_t)(len + c->sector - 1) / c->sector, 0xff);
		last = len * 8 < c->clusters - at * 8 ? len * 8 :
		    c->clusters - at * 8;
		fs_note_bits(c->io, x->buf, 0, last,
		    clusters_place(c, at * 8 + 2), c->cluster);
	}
}

static void
exfat_bitmap(struct exfat *x)
{
	struct clusters *c = &x->c;
	uint64_t need = (c->clusters + 7) / 8, at, n = x->bitmap;

	if (x->bitmap_size < need) {
		fs_doubt(c->io, FS_DAMAGED, "its bitmap is not found");
		return;
	}
	x->bitmap_size = need;
	for (at = 0; at < need && clusters_visit(c, n); at += c->cluster) {
		exfat_take_bits(x, n, at);
		if (at + c->cluster < need)
			clusters_follow(c, &n);
	}
	if (at < need || x->lost > 0)
		fs_hurt(c->io, "a part of its bitmap cannot be read");
}

static void
exfat_upcase(struct exfat *x)
{
	struct clusters *c = &x->c;
	uint64_t left = x->upcase_size, n = x->upcase;

	for (; left > 0 && clusters_visit(c, n); clusters_follow(c, &n)) {
		fs_note_meta(c->io, clusters_place(c, n), c->cluster);
		left -= left < c->cluster ? left : c->cluster;
	}
}

static void
exfat_root(struct exfat *x)
{
	struct clusters *c = &x->c;
	struct fs_names none = { .n = 0 };

	fs_note_meta(c->io, 0, c->first);
	c->entry = exfat_root_entry;
	c->arg = x;
	c->to = &none;
	c->note = true;
	clusters_search(c);
	exfat_bitmap(x);
	exfat_upcase(x);
	c->entry = exfat_set_entry;
	c->arg = &x->set;
}

static void
exfat_read(void *state)
{
	struct exfat *x = state;
	struct fs_io *io = x->c.io;

	x->buf = fs_alloc(io, FS_PIECE);
	if (x->buf == NULL)
		return;
	exfat_judge(x);
	if (fs_exact(io) && io->whole)
		return;
	if (clusters_open(&x->c))
		exfat_root(x);
	else if (!io->no_memory)
		fs_doubt(io, FS_UNKNOWN, "it has too many clusters");
	clusters_close(&x->c);
	/* not all writers mark it as dirty; nothing that a file has is free */
	clusters_check(&x->c, "its bitmap calls itself free",
	    "its bitmap and its directories differ: fsck.exfat");
}

static void
exfat_names(void *state, struct fs_hits *hits)
{
	struct exfat *x = state;

	x->c.entry = exfat_set_entry;
	clusters_names(&x->c, hits->lost, hits->to);
	hits->to->more |= x->set.all > 0;
}

static void
exfat_close(void *state)
{
	struct exfat *x = state;

	free(x->buf);
}

const struct fs_kind fs_exfat = { { "exfat" }, sizeof(struct exfat), exfat_open,
	exfat_read, exfat_names, exfat_close };
