/*
 * FAT12, FAT16, FAT32: clusters whose entry is zero in every copy of the table.
 *
 * Microsoft, "FAT: General Overview of On-Disk Format" 1.03 (fatgen103), part
 * of which is ECMA-107.  Two bits of the second entry, and one of the boot
 * sector that Windows and Linux set, say whether it was unmounted cleanly.
 */
#include "fsfat.h"

#include <stdlib.h>
#include <string.h>

#include "fsclusters.h"

/*
 * FAT12, FAT16, FAT32: files that contain given bytes, with their long names.
 *
 * A long name is in the entries before that of its file, last part first, each
 * with the checksum of the short name.  Parts that do not match are leftovers,
 * and then the short name counts.
 */

enum {				/* offsets in an entry */
	E_KIND = 11, E_CASE = 12, E_HIGH = 20, E_LOW = 26, E_SIZE = 28,
	LOWER_BASE = 0x08, LOWER_REST = 0x10,
	SHORT = 11, BASE = 8,	/* bytes of a short name; of its base */
	FOR_DELETED = 0x05,	/* replaces a first byte of that value */
};

enum {				/* offsets in a part of a long name */
	L_SUM = 13, L_LAST = 0x40, L_NUMBER = 0x1f, PARTS = 20, UNITS = 13,
};

/* Whether an entry is that of a directory itself, or of its parent. */
static bool
fat_dots(const unsigned char *entry)
{
	return memcmp(entry, ".          ", SHORT) == 0 ||
	    memcmp(entry, "..         ", SHORT) == 0;
}

struct long_name {
	unsigned	 next;		/* the part expected next; 0: none */
	unsigned	 units;		/* 0: there is no long name */
	unsigned char	 sum;
	unsigned char	 text[PARTS * UNITS * 2];
};

static void
fat_name_part(struct long_name *l, const unsigned char *p)
{
	static const unsigned char at[UNITS] = { 1, 3, 5, 7, 9, 14, 16, 18, 20,
		22, 24, 28, 30 };
	unsigned number = p[0] & L_NUMBER, i;

	if ((p[0] & L_LAST) != 0 && number >= 1 && number <= PARTS) {
		l->units = number * UNITS;
		l->sum = p[L_SUM];
		l->next = number;
	}
	if (l->units == 0 || number == 0 || number != l->next ||
	    p[L_SUM] != l->sum) {
		l->units = 0;
		return;
	}
	l->next--;
	for (i = 0; i < UNITS; i++)
		memcpy(l->text + ((size_t)(number - 1) * UNITS + i) * 2,
		    p + at[i], 2);
}

static unsigned char
fat_name_checksum(const unsigned char *p)
{
	unsigned char sum = 0;
	int i;

	for (i = 0; i < SHORT; i++)
		sum = (unsigned char)(((sum & 1) << 7 | sum >> 1) + p[i]);
	return sum;
}

static char *
fat_put_character(char *to, const unsigned char *p, int n, bool lower)
{
	while (n > 0 && p[n - 1] == ' ')
		n--;
	for (; n > 0; n--, p++)
		*to++ = (char)(lower && *p >= 'A' && *p <= 'Z' ?
		    *p + ('a' - 'A') : *p);
	return to;
}

static void
short_name(char *to, const unsigned char *p)
{
	char *rest, *dot = fat_put_character(to, p, BASE,
	    (p[E_CASE] & LOWER_BASE) != 0);

	if (p[0] == FOR_DELETED)
		*to = (char)FAT_DELETED;
	rest = fat_put_character(dot + 1, p + BASE, SHORT - BASE,
	    (p[E_CASE] & LOWER_REST) != 0);
	*dot = '.';
	*(rest > dot + 1 ? rest : dot) = '\0';
}

static void
fat_dir_file(struct clusters *c, const unsigned char *p,
    const struct long_name *l)
{
	struct clusters_file f = { .first = fs_le(p + E_LOW, 2),
		.size = fs_le(p + E_SIZE, 4),
		.directory = (p[E_KIND] & FAT_DIR) != 0 };
	char name[FS_NAME_MOST + UNITS * 3];

	if (c->bits == 32)
		f.first |= fs_le(p + E_HIGH, 2) << 16;
	if (f.directory)
		f.size = UINT64_MAX;
	if (l->units > 0 && l->next == 0 && l->sum == fat_name_checksum(p))
		fs_utf8(name, sizeof(name), l->text, l->units);
	else
		short_name(name, p);
	clusters_file(c, &f, name);
}

static bool
fat_dir_entry(struct clusters *c, const unsigned char *p, bool begins)
{
	struct long_name *l = c->arg;

	if (begins)
		l->units = 0;
	if (p[0] == 0)
		return false;
	if ((p[E_KIND] & FAT_KINDS) == FAT_LONG && p[0] != FAT_DELETED) {
		fat_name_part(l, p);
		return true;
	}
	if (p[0] != FAT_DELETED && !fat_dots(p) &&
	    (p[E_KIND] & FAT_VOLUME) == 0)
		fat_dir_file(c, p, l);
	l->units = 0;
	return true;
}

/* Report the files that have a byte of "lost"; ->name is the caller's. */
static void
fat_hits(const struct fat *f, const struct fs_extents *lost,
    struct fs_names *to)
{
	struct long_name l = { .units = 0 };
	uint64_t mask = f->bits == 32 ? 0x0fffffff :
	    (UINT64_C(1) << f->bits) - 1;
	struct clusters c = { .io = f->io, .lost = lost, .to = to,
		.table_size = f->fat_size, .bits = f->bits, .mask = mask,
		.end = mask - 7, .sector = f->sector, .first = f->first,
		.cluster = f->cluster, .clusters = f->clusters,
		.root = f->root, .root_size = f->root_size,
		.top = { .first = f->first_root, .size = UINT64_MAX },
		.entry = fat_dir_entry, .arg = &l };

	c.table[0] = f->fat;
	c.table[1] = f->fats == 2 ? f->fat + f->fat_size : 0;
	clusters_search(&c);
}

enum {				/* offsets and values in the boot sector */
	B_SECTOR = 11, B_CLUSTER = 13, B_RESERVED = 14, B_FATS = 16,
	B_ROOT = 17, B_SECTORS = 19, B_MEDIA = 21, B_FAT = 22,
	B_SECTORS_BIG = 32, B_STATE = 37, B_LABEL = 43,
	B_FAT_BIG = 36, B_MIRROR = 40, B_VERSION = 42, B_ROOT_BIG = 44,
	B_STATE_BIG = 65, B_LABEL_BIG = 71,
	LABEL = 11,
	ALONE = 0x80,		/* B_MIRROR: only one table is used */
	IN_USE = 3,		/* B_STATE: dirty, or errors */
	BACKUP = 6,		/* FAT32: sector of the backup */
};

enum { DEEP_MOST = 64 << 20, WAITING = 1 << 16 };

/* ------------------------------------------------------------ geometry */

static uint64_t
fat_either_field(const unsigned char *b, int at, int bytes, int big)
{
	uint64_t v = fs_le(b + at, bytes);

	return v != 0 ? v : fs_le(b + big, 4);
}

/* The number of clusters decides which of the three it is. */
static bool
fat_geometry(struct fat *f)
{
	const unsigned char *b = f->boot;
	uint64_t per = b[B_CLUSTER], sectors, most;

	f->sector = (uint32_t)fs_le(b + B_SECTOR, 2);
	f->fats = b[B_FATS];
	if (!fs_power_of_two(f->sector) || f->sector < 512 ||
	    f->sector > 4096 || !fs_power_of_two(per) || f->fats < 1 ||
	    f->fats > 2 || fs_le(b + B_RESERVED, 2) == 0 ||
	    b[B_MEDIA] < 0xf0 || fs_le(b + 510, 2) != 0xaa55)
		return false;
	f->cluster = per * f->sector;
	f->fat = fs_le(b + B_RESERVED, 2) * f->sector;
	f->fat_size = fat_either_field(b, B_FAT, 2, B_FAT_BIG) * f->sector;
	f->root = f->fat + f->fats * f->fat_size;
	f->root_size = (fs_le(b + B_ROOT, 2) * FAT_ENTRY + f->sector - 1) /
	    f->sector * f->sector;
	f->first = f->root + f->root_size;
	sectors = fat_either_field(b, B_SECTORS, 2, B_SECTORS_BIG);
	if (f->fat_size == 0 || f->first >= sectors * f->sector)
		return false;
	f->clusters = (sectors * f->sector - f->first) / f->cluster;
	f->bits = fs_le(b + B_FAT, 2) == 0 ? 32 : f->clusters < 4085 ? 12 : 16;
	most = f->fat_size * 8 / f->bits;
	if (f->bits == 32 && f->fats == 2 && (b[B_MIRROR] & ALONE) != 0) {
		f->fats = 1;
		f->fat += (b[B_MIRROR] & 1) * f->fat_size;
	}
	f->first_root = f->bits == 32 ? (uint32_t)fs_le(b + B_ROOT_BIG, 4) : 0;
	return f->clusters > 0 && f->clusters + 2 <= most &&
	    f->clusters < (f->bits == 32 ? 0x0ffffff5 : 65525) &&
	    (f->bits != 32 || (fs_le(b + B_VERSION, 2) == 0 &&
	    f->root_size == 0));
}

static bool
fat_boot_sector(struct fat *f, uint64_t at)
{
	return fs_get(f->io, at, f->boot, FAT_BOOT) == 0 && fat_geometry(f);
}

static bool
fat_backup(struct fat *f)
{
	uint32_t sector;

	for (sector = 512; sector <= 4096; sector *= 2)
		if (fat_boot_sector(f, (uint64_t)BACKUP * sector) &&
		    f->bits == 32 && f->sector == sector)
			return true;
	return false;
}

/* Find the boot sector or, unless only proof counts, its backup. */
static bool
fat_find(struct fat *f)
{
	if (fs_by_start(f->io) && fat_boot_sector(f, 0))
		return true;
	if (!fs_by_copy(f->io) || !fat_backup(f))
		return false;
	fs_doubt(f->io, FS_DAMAGED, "its boot sector is lost");
	return true;
}

static uint64_t
fat_cluster_offset(const struct fat *f, uint64_t cluster)
{
	return f->first + (cluster - 2) * f->cluster;
}

/* --------------------------------------------------------------- tables */

static uint64_t
fat_entry(const struct fat *f, const unsigned char *table, uint64_t i)
{
	if (f->bits == 32)
		return fs_le(table + i * 4, 4) & 0x0fffffff;
	if (f->bits == 16)
		return fs_le(table + i * 2, 2);
	return fs_le(table + i * 3 / 2, 2) >> (i & 1 ? 4 : 0) & 0xfff;
}

static void
fat_judge(struct fat *f)
{
	int at = f->bits == 32 ? B_STATE_BIG : B_STATE;
	unsigned char head[8];
	uint64_t good;

	f->io->map->end = fat_either_field(f->boot, B_SECTORS, 2,
	    B_SECTORS_BIG) * f->sector;
	if (f->first + f->clusters * f->cluster > f->io->src->length)
		fs_too_long(f->io);
	if (fs_get(f->io, f->fat, head, sizeof(head)) != 0 ||
	    (fat_entry(f, head, 0) & 0xff) != f->boot[B_MEDIA]) {
		fs_doubt(f->io, FS_DAMAGED, "the beginning of its FAT is "
		    "wrong");
		return;
	}
	good = f->bits == 32 ? 3 << 26 : f->bits == 16 ? 3 << 14 : 0;
	if ((f->boot[at] & IN_USE) != 0 || (fat_entry(f, head, 1) & good) !=
	    good)
		fs_doubt(f->io, FS_DIRTY, "it is marked dirty: fsck.fat");
}

/* Read a piece of a table; false if any of it cannot be read. */
static bool
get_piece(struct fat *f, unsigned char *to, uint64_t at, size_t len)
{
	size_t lost = fs_get_units(f->io, at, to, f->sector, len / f->sector,
	    0xff);

	f->lost += lost;
	return lost == 0;
}

/*
 * Read a piece of the table into f->one.  A cluster is free only if it is in
 * both tables; for a guess, the second one is read only if the first cannot be.
 */
static void
fat_load(struct fat *f, uint64_t at, size_t len)
{
	size_t i;

	if (get_piece(f, f->one, f->fat + at, len) && !fs_exact(f->io))
		return;
	if (f->fats < 2)
		return;
	get_piece(f, f->two, f->fat + f->fat_size + at, len);
	if (!fs_exact(f->io)) {
		memcpy(f->one, f->two, len);
		return;
	}
	if (memcmp(f->one, f->two, len) != 0) {
		f->differ = true;
		for (i = 0; i < len; i++)
			f->one[i] |= f->two[i];
	}
}

/* Take the entries "from" to "to" of a piece that begins at entry "begin". */
static void
fat_take_table(struct fat *f, uint64_t begin, uint64_t from, uint64_t to)
{
	uint64_t i, run;

	for (i = from; i < to; i += run) {
		for (run = 0; i + run < to &&
		    fat_entry(f, f->one, i + run - begin) == 0; run++)
			;
		fs_note_free(f->io, fat_cluster_offset(f, i), run * f->cluster);
		run += run == 0;
	}
}

static void
fat_table(struct fat *f)
{
	uint64_t last = f->clusters + 2, at, begin, end;
	uint64_t need = (last * f->bits + 7) / 8;
	size_t len;

	need = (need + f->sector - 1) / f->sector * f->sector;
	for (at = 0; at < need; at += len) {
		len = need - at < FS_PIECE ? (size_t)(need - at) : FS_PIECE;
		fat_load(f, at, len);
		begin = at * 8 / f->bits;
		end = (at + len) * 8 / f->bits;
		fat_take_table(f, begin, begin < 2 ? 2 : begin, end < last ?
		    end : last);
	}
	if (f->differ)
		fs_hurt(f->io, "its two FATs differ: what either calls used is "
		    "copied");
	else if (f->lost > 0)
		fs_hurt(f->io, "a part of its FAT cannot be read");
}

/* ---------------------------------------------------------- directories */

struct directories {		/* a walk that visits each cluster once */
	struct fat	*f;
	unsigned char	*seen;		/* a bit per cluster */
	uint32_t	*waiting;	/* first clusters */
	size_t		 n;
};

static bool
fat_visit(struct directories *w, uint64_t c)
{
	unsigned char bit = (unsigned char)(1 << (c % 8));

	if (c < 2 || c >= w->f->clusters + 2 || (w->seen[c / 8] & bit) != 0)
		return false;
	w->seen[c / 8] |= bit;
	return true;
}

/* List part of a directory, "len" bytes. */
static void
fat_list(struct directories *w, const unsigned char *p, uint64_t len)
{
	uint64_t i, c;

	for (i = 0; i + FAT_ENTRY <= len && p[i] != 0; i += FAT_ENTRY) {
		c = fs_le(p + i + E_LOW, 2);
		if (w->f->bits == 32)
			c |= fs_le(p + i + E_HIGH, 2) << 16;
		if (p[i] != FAT_DELETED && !fat_dots(p + i) && (p[i + E_KIND] &
		    (FAT_DIR | FAT_VOLUME)) == FAT_DIR && w->n < WAITING)
			w->waiting[w->n++] = (uint32_t)c;
	}
}

/* Note a range of a directory, and queue the directories that it lists. */
static void
fat_walk_range(struct directories *w, uint64_t off, uint64_t len)
{
	struct fat *f = w->f;
	uint64_t n;

	fs_note_meta(f->io, off, len);
	for (; fs_deep(f->io) && len > 0; off += n, len -= n) {
		n = len < FS_PIECE ? len : FS_PIECE;
		if (fs_get(f->io, off, f->one, (size_t)n) == 0)
			fat_list(w, f->one, n);
	}
}

static uint64_t
fat_follow(struct fat *f, uint64_t c)
{
	unsigned char p[4] = { 0 };
	uint64_t at = c * f->bits / 8;

	if (fs_get(f->io, f->fat + at, p, f->bits == 32 ? 4 : 2) != 0)
		return 0;
	if (f->bits == 12)
		return fs_le(p, 2) >> (c & 1 ? 4 : 0) & 0xfff;
	return fat_entry(f, p, 0);
}

static void
fat_walk(struct directories *w)
{
	struct fat *f = w->f;
	uint64_t c;

	if (f->bits == 32)
		w->waiting[w->n++] = f->first_root;
	else
		fat_walk_range(w, f->root, f->root_size);
	while (w->n > 0)
		for (c = w->waiting[--w->n]; fat_visit(w, c); c =
		    fat_follow(f, c))
			fat_walk_range(w, fat_cluster_offset(f, c), f->cluster);
}

static void
fat_directories(struct fat *f)
{
	struct directories w = { .f = f };

	if (f->clusters > DEEP_MOST)
		return;
	w.seen = fs_alloc(f->io, (size_t)(f->clusters + 2) / 8 + 1);
	w.waiting = fs_alloc(f->io, WAITING * sizeof(*w.waiting));
	if (w.seen != NULL && w.waiting != NULL)
		fat_walk(&w);
	free(w.seen);
	free(w.waiting);
}

static void
fat_label(struct fat *f)
{
	unsigned char text[LABEL + 1] = { 0 };
	size_t n = LABEL;

	memcpy(text, f->boot + (f->bits == 32 ? B_LABEL_BIG : B_LABEL), LABEL);
	while (n > 0 && text[n - 1] == ' ')
		text[--n] = 0;
	if (strcmp((const char *)text, "NO NAME") != 0)
		fs_label(f->io, text, n);
}

/*
 * Many writers of FAT never mark it as dirty (mtools, cameras), and FAT12 has
 * no mark.  So nothing that a file has may be free.
 */
static void
fat_check_dirs(struct fat *f)
{
	struct fs_names has;

	if (!fs_names_open(f->io, &has))
		return;
	f->io->failed = false;
	fat_hits(f, &f->io->map->free, &has);
	fs_doubt_files(f->io, has.n, has.more,
	    "its FAT and its directories differ: fsck.fat");
	fs_names_free(&has);
}

static void
fat_read(struct fat *f)
{
	f->one = fs_alloc(f->io, FS_PIECE);
	f->two = fs_alloc(f->io, FS_PIECE);
	if (f->one == NULL || f->two == NULL)
		return;
	fat_label(f);
	fat_judge(f);
	if (fs_exact(f->io) && f->io->whole)
		return;
	fs_note_meta(f->io, 0, f->first);
	fat_table(f);
	if ((f->io->how & (FS_META | FS_DEEP)) != 0)
		fat_directories(f);
	if (fs_contradicts(f->io))
		fs_doubt(f->io, FS_DAMAGED, "its FAT calls a directory free");
	if (fs_exact(f->io) && !f->io->whole)
		fat_check_dirs(f);
}

bool
fs_read_fat(struct fs_io *io)
{
	struct fat f = { .io = io };

	if (!fat_find(&f))
		return false;
	memcpy(io->map->type, "vfat", sizeof("vfat"));
	fat_read(&f);
	free(f.one);
	free(f.two);
	return true;
}

bool
fs_names_fat(struct fs_io *io, const struct fs_extents *lost,
    struct fs_names *to)
{
	struct fat f = { .io = io };

	if (!fat_find(&f))
		return false;
	io->failed = false;		/* the backup was good */
	fat_hits(&f, lost, to);
	return true;
}
