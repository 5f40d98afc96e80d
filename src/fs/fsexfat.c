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

/* Report the files that have a byte of "lost"; ->name is the caller's. */
static void
exfat_hits(const struct exfat *x, const struct fs_extents *lost,
    struct fs_names *to)
{
	struct set s = { .all = 0 };
	struct clusters c = { .io = x->io, .lost = lost, .to = to,
		.table = { x->fat }, .table_size = x->fat_size, .bits = 32,
		.mask = UINT32_MAX, .end = UINT32_MAX, .sector = x->sector,
		.first = x->heap, .cluster = x->cluster,
		.clusters = x->clusters,
		.top = { .first = fs_le(x->boot + EXFAT_ROOT, 4),
			.size = UINT64_MAX },
		.entry = exfat_set_entry, .arg = &s };

	clusters_search(&c);
	to->more |= s.all > 0;
}

enum {				/* offsets in the boot sector */
	B_NAME = 3, B_LENGTH = 72, B_FAT = 80, B_FAT_SIZE = 84, B_HEAP = 88,
	B_CLUSTERS = 92, B_FLAGS = 106, B_SECTOR = 108,
	B_CLUSTER = 109, B_FATS = 110, B_PERCENT = 112,
	SECTORS = 12,		/* sectors of a boot region; the last has
				 * checksums */
	DIRTY = 2, FAILED = 4,
};

enum { DEEP_MOST = 64 << 20, WAITING = 1 << 15, LABEL_MOST = 11 };

/* ------------------------------------------------------------ geometry */

static bool
exfat_geometry(struct exfat *x)
{
	const unsigned char *b = x->boot;
	uint64_t sectors = fs_le(b + B_LENGTH, 8);

	if (memcmp(b + B_NAME, "EXFAT   ", 8) != 0 ||
	    fs_le(b + 510, 2) != 0xaa55 || b[B_SECTOR] < 9 ||
	    b[B_SECTOR] > 12 || b[B_CLUSTER] > 25 - b[B_SECTOR])
		return false;
	x->sector = UINT32_C(1) << b[B_SECTOR];
	x->cluster = (uint64_t)x->sector << b[B_CLUSTER];
	x->fat = fs_le(b + B_FAT, 4) * x->sector;
	x->fat_size = fs_le(b + B_FAT_SIZE, 4) * x->sector;
	x->heap = fs_le(b + B_HEAP, 4) * x->sector;
	x->clusters = fs_le(b + B_CLUSTERS, 4);
	return x->clusters > 0 && x->clusters <= 0xfffffff5 &&
	    b[B_FATS] == 1 && x->fat > 0 && x->fat < x->heap &&
	    x->fat_size <= x->heap - x->fat &&
	    (x->clusters + 2) * 4 <= x->fat_size &&
	    sectors <= INT64_MAX / x->sector &&
	    x->heap + x->clusters * x->cluster <= sectors * x->sector;
}

/* The checksum: figure 1 of the specification. */
static bool
exfat_checksum_right(struct exfat *x)
{
	size_t n = (SECTORS - 1) * (size_t)x->sector, i;
	uint32_t sum = 0;

	if (fs_get(x->io, 0, x->buf, n + x->sector) != 0)
		return false;
	for (i = 0; i < n; i++)
		if (i != B_FLAGS && i != B_FLAGS + 1 && i != B_PERCENT)
			sum = (sum << 31 | sum >> 1) + x->buf[i];
	for (i = 0; i < x->sector; i += 4)
		if (fs_le(x->buf + n + i, 4) != sum)
			return false;
	return true;
}

static bool
exfat_boot_sector(struct exfat *x, uint64_t at)
{
	return fs_get(x->io, at, x->boot, EXFAT_BOOT) == 0 && exfat_geometry(x);
}

static bool
exfat_backup(struct exfat *x)
{
	uint32_t sector;

	for (sector = 512; sector <= 4096; sector *= 2)
		if (exfat_boot_sector(x, (uint64_t)SECTORS * sector) &&
		    x->sector == sector)
			return true;
	return false;
}

/* Find the boot sector or, unless only proof counts, its backup. */
static bool
exfat_find_entry(struct exfat *x)
{
	if (fs_by_start(x->io) && exfat_boot_sector(x, 0))
		return true;
	if (!fs_by_copy(x->io) || !exfat_backup(x))
		return false;
	fs_doubt(x->io, FS_DAMAGED, "its boot sector is lost");
	return true;
}

static void
exfat_judge(struct exfat *x)
{
	uint64_t flags = fs_le(x->boot + B_FLAGS, 2);

	x->io->map->end = fs_le(x->boot + B_LENGTH, 8) * x->sector;
	if (x->heap + x->clusters * x->cluster > x->io->src->length)
		fs_too_long(x->io);
	if (fs_exact(x->io) && !exfat_checksum_right(x))
		fs_doubt(x->io, FS_DAMAGED, "the checksum of its boot sectors "
		    "is wrong");
	if ((flags & DIRTY) != 0)
		fs_doubt(x->io, FS_DIRTY, "it is marked dirty: fsck.exfat");
	if ((flags & FAILED) != 0)
		fs_doubt(x->io, FS_DAMAGED, "it is marked as failing");
}

/* --------------------------------------------------------------- chains */

static uint64_t
exfat_cluster_offset(const struct exfat *x, uint64_t cluster)
{
	return x->heap + (cluster - 2) * x->cluster;
}

static bool
exfat_visit(struct exfat *x, uint64_t c)
{
	unsigned char bit = (unsigned char)(1 << (c % 8));

	if (c < 2 || c >= x->clusters + 2 || (x->seen[c / 8] & bit) != 0)
		return false;
	x->seen[c / 8] |= bit;
	return true;
}

/* The next cluster of a chain, or 0. */
static uint64_t
exfat_follow(struct exfat *x, uint64_t c)
{
	unsigned char p[4];

	return fs_get(x->io, x->fat + c * 4, p, sizeof(p)) == 0 ? fs_le(p, 4) :
	    0;
}

/* ---------------------------------------------------------- directories */

static void
one_entry(struct exfat *x, const unsigned char *p, bool root)
{
	uint64_t size = fs_le(p + E_SIZE, 8), n;

	if (root && p[0] == E_BITMAP && (p[1] & 1) == 0) {
		x->bitmap = fs_le(p + E_FIRST, 4);
		x->bitmap_size = size;
	} else if (root && p[0] == E_UPCASE) {
		x->upcase = fs_le(p + E_FIRST, 4);
		x->upcase_size = size;
	} else if (root && p[0] == E_LABEL && p[1] <= LABEL_MOST) {
		fs_label_utf16(x->io, p + 2, p[1]);
	} else if (p[0] == E_STREAM && x->file && x->n < WAITING &&
	    fs_deep(x->io)) {
		n = (size + x->cluster - 1) / x->cluster;
		if ((p[E_FLAGS] & TOGETHER) == 0 || n > x->clusters)
			n = 0;
		x->waiting[x->n++] = (struct exfat_dir){
			.first = (uint32_t)fs_le(p + E_FIRST, 4),
			.clusters = (uint32_t)n };
	}
	x->file = p[0] == E_FILE && (p[E_KIND] & DIRECTORY) != 0;
}

/* List a cluster of a directory; false after its last entry. */
static bool
exfat_list(struct exfat *x, uint64_t c, bool root)
{
	uint64_t off = exfat_cluster_offset(x, c), left = x->cluster, n, i;

	fs_note_meta(x->io, off, left);
	for (; left > 0; left -= n, off += n) {
		n = left < FS_PIECE ? left : FS_PIECE;
		if (fs_get(x->io, off, x->buf, (size_t)n) != 0)
			continue;
		for (i = 0; i < n; i += EXFAT_ENTRY) {
			if (x->buf[i] == 0)
				return false;
			one_entry(x, x->buf + i, root);
		}
	}
	return true;
}

static void
exfat_directory(struct exfat *x, struct exfat_dir at, bool root)
{
	uint64_t c = at.first, n = at.clusters;

	while (exfat_visit(x, c)) {
		if (!exfat_list(x, c, root) && root && !fs_deep(x->io))
			return;
		if (at.clusters > 0 && --n == 0)
			return;
		c = at.clusters > 0 ? c + 1 : exfat_follow(x, c);
	}
}

/* --------------------------------------------------------------- bitmap */

/* Take a cluster of the bitmap, which begins at its byte "at". */
static void
exfat_take_bits(struct exfat *x, uint64_t c, uint64_t at)
{
	uint64_t off = exfat_cluster_offset(x, c), left = x->bitmap_size - at,
	    n, last;

	fs_note_meta(x->io, off, x->cluster);
	left = left < x->cluster ? left : x->cluster;
	for (; left > 0; left -= n, off += n, at += n) {
		n = left < FS_PIECE ? left : FS_PIECE;
		x->lost += fs_get_units(x->io, off, x->buf, x->sector,
		    (size_t)(n + x->sector - 1) / x->sector, 0xff);
		last = n * 8 < x->clusters - at * 8 ? n * 8 :
		    x->clusters - at * 8;
		fs_note_bits(x->io, x->buf, 0, last,
		    exfat_cluster_offset(x, at * 8 + 2), x->cluster);
	}
}

static void
exfat_bitmap(struct exfat *x)
{
	uint64_t need = (x->clusters + 7) / 8, at, c = x->bitmap;

	if (x->bitmap_size < need) {
		fs_doubt(x->io, FS_DAMAGED, "its bitmap is not found");
		return;
	}
	x->bitmap_size = need;
	for (at = 0; at < need && exfat_visit(x, c); at += x->cluster) {
		exfat_take_bits(x, c, at);
		if (at + x->cluster < need)
			c = exfat_follow(x, c);
	}
	if (at < need || x->lost > 0)
		fs_hurt(x->io, "a part of its bitmap cannot be read");
}

static void
note_upcase(struct exfat *x)
{
	uint64_t left = x->upcase_size, c = x->upcase;

	for (; left > 0 && exfat_visit(x, c); c = exfat_follow(x, c)) {
		fs_note_meta(x->io, exfat_cluster_offset(x, c), x->cluster);
		left -= left < x->cluster ? left : x->cluster;
	}
}

/* Not all writers mark it as dirty; nothing that a file has is free. */
static void
exfat_check_dirs(struct exfat *x)
{
	struct fs_names has;

	if (!fs_names_open(x->io, &has))
		return;
	x->io->failed = false;
	exfat_hits(x, &x->io->map->free, &has);
	fs_doubt_files(x->io, has.n, has.more,
	    "its bitmap and its directories differ: fsck.exfat");
	fs_names_free(&has);
}

static void
exfat_walk(struct exfat *x)
{
	struct exfat_dir root = { .first = (uint32_t)fs_le(x->boot +
		EXFAT_ROOT, 4) };

	fs_note_meta(x->io, 0, x->heap);
	exfat_directory(x, root, true);
	exfat_bitmap(x);
	note_upcase(x);
	while (x->n > 0)
		exfat_directory(x, x->waiting[--x->n], false);
	if (fs_contradicts(x->io))
		fs_doubt(x->io, FS_DAMAGED, "its bitmap calls itself free");
	if (fs_exact(x->io) && !x->io->whole)
		exfat_check_dirs(x);
}

static void
exfat_read(struct exfat *x)
{
	x->buf = fs_alloc(x->io, FS_PIECE);
	x->waiting = fs_alloc(x->io, WAITING * sizeof(*x->waiting));
	if (x->io->no_memory)
		return;
	exfat_judge(x);
	if (fs_exact(x->io) && x->io->whole)
		return;
	if (x->clusters > DEEP_MOST) {
		fs_doubt(x->io, FS_UNKNOWN, "it has too many clusters");
		return;
	}
	x->seen = fs_alloc(x->io, (size_t)(x->clusters + 2) / 8 + 1);
	if (x->seen != NULL)
		exfat_walk(x);
}

bool
fs_read_exfat(struct fs_io *io)
{
	struct exfat x = { .io = io };

	if (!exfat_find_entry(&x))
		return false;
	memcpy(io->map->type, "exfat", sizeof("exfat"));
	exfat_read(&x);
	free(x.buf);
	free(x.waiting);
	free(x.seen);
	return true;
}

bool
fs_names_exfat(struct fs_io *io, const struct fs_extents *lost,
    struct fs_names *to)
{
	struct exfat x = { .io = io };

	if (!exfat_find_entry(&x))
		return false;
	io->failed = false;		/* the backup was good */
	exfat_hits(&x, lost, to);
	return true;
}
