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
#include "fshits.h"

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

struct fat {
	struct clusters	 c;
	unsigned char	 boot[FAT_BOOT];
	uint64_t	 lost;		/* sectors of a table */
	bool		 differ;	/* the tables differ */
	unsigned char	*one, *two;	/* FS_PIECE */
	struct long_name long_name;	/* of the next file in a directory */
};

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

/* ------------------------------------------------------------ geometry */

static uint64_t
fat_either_field(const unsigned char *b, int at, int big)
{
	uint64_t v = fs_le(b + at, 2);

	return v != 0 ? v : fs_le(b + big, 4);
}

/* The number of clusters decides which of the three it is. */
static bool
fat_geometry(struct fat *f)
{
	const unsigned char *b = f->boot;
	uint64_t per = b[B_CLUSTER], fats = b[B_FATS], sectors, size;
	struct clusters *c = &f->c;

	c->sector = (uint32_t)fs_le(b + B_SECTOR, 2);
	if (!fs_power_of_two(c->sector) || c->sector < 512 ||
	    c->sector > 4096 || !fs_power_of_two(per) || fats < 1 ||
	    fats > 2 || fs_le(b + B_RESERVED, 2) == 0 ||
	    b[B_MEDIA] < 0xf0 || fs_le(b + 510, 2) != 0xaa55)
		return false;
	c->cluster = per * c->sector;
	size = c->table_size = fat_either_field(b, B_FAT, B_FAT_BIG) *
	    c->sector;
	c->table[0] = fs_le(b + B_RESERVED, 2) * c->sector;
	c->table[1] = fats == 2 ? c->table[0] + size : 0;
	c->root = c->table[0] + fats * size;
	c->root_size = (fs_le(b + B_ROOT, 2) * FAT_ENTRY + c->sector - 1) /
	    c->sector * c->sector;
	c->first = c->root + c->root_size;
	sectors = fat_either_field(b, B_SECTORS, B_SECTORS_BIG);
	if (size == 0 || c->first >= sectors * c->sector)
		return false;
	c->clusters = (sectors * c->sector - c->first) / c->cluster;
	c->bits = fs_le(b + B_FAT, 2) == 0 ? 32 : c->clusters < 4085 ? 12 : 16;
	c->mask = c->bits == 32 ? 0x0fffffff : (UINT64_C(1) << c->bits) - 1;
	c->end = c->mask - 7;
	if (c->bits == 32 && fats == 2 && (b[B_MIRROR] & ALONE) != 0) {
		c->table[0] = c->table[b[B_MIRROR] & 1];
		c->table[1] = 0;
	}
	c->top = c->bits == 32 ? fs_le(b + B_ROOT_BIG, 4) : 0;
	return c->clusters > 0 && c->clusters + 2 <= size * 8 / c->bits &&
	    c->clusters < (c->bits == 32 ? 0x0ffffff5 : 65525) &&
	    (c->bits != 32 || (fs_le(b + B_VERSION, 2) == 0 &&
	    c->root_size == 0));
}

static bool
fat_boot_sector(struct fat *f, uint64_t at)
{
	return fs_get(f->c.io, at, f->boot, FAT_BOOT) == 0 && fat_geometry(f);
}

static bool
fat_backup(struct fat *f)
{
	uint32_t sector;

	for (sector = 512; sector <= 4096; sector *= 2)
		if (fat_boot_sector(f, (uint64_t)BACKUP * sector) &&
		    f->c.bits == 32 && f->c.sector == sector)
			return true;
	return false;
}

/* Find the boot sector or, unless only proof counts, its backup. */
static bool
fat_find(void *state)
{
	struct fat *f = state;

	f->c.entry = fat_dir_entry;
	f->c.arg = &f->long_name;
	if (fs_by_start(f->c.io) && fat_boot_sector(f, 0))
		return true;
	if (!fs_by_copy(f->c.io) || !fat_backup(f))
		return false;
	fs_doubt(f->c.io, FS_DAMAGED, "its boot sector is lost");
	return true;
}

/* --------------------------------------------------------------- tables */

static uint64_t
fat_entry(const struct fat *f, const unsigned char *table, uint64_t i)
{
	if (f->c.bits == 32)
		return fs_le(table + i * 4, 4) & 0x0fffffff;
	if (f->c.bits == 16)
		return fs_le(table + i * 2, 2);
	return fs_le(table + i * 3 / 2, 2) >> (i & 1 ? 4 : 0) & 0xfff;
}

static void
fat_judge(struct fat *f)
{
	int at = f->c.bits == 32 ? B_STATE_BIG : B_STATE;
	unsigned char head[8];
	uint64_t good;

	f->c.io->map->end = fat_either_field(f->boot, B_SECTORS,
	    B_SECTORS_BIG) * f->c.sector;
	if (f->c.first + f->c.clusters * f->c.cluster > f->c.io->src->length)
		fs_too_long(f->c.io);
	if (fs_get(f->c.io, f->c.table[0], head, sizeof(head)) != 0 ||
	    (fat_entry(f, head, 0) & 0xff) != f->boot[B_MEDIA]) {
		fs_doubt(f->c.io, FS_DAMAGED, "the beginning of its FAT is "
		    "wrong");
		return;
	}
	good = f->c.bits == 32 ? 3 << 26 : f->c.bits == 16 ? 3 << 14 : 0;
	if ((f->boot[at] & IN_USE) != 0 || (fat_entry(f, head, 1) & good) !=
	    good)
		fs_doubt(f->c.io, FS_DIRTY, "it is marked dirty: fsck.fat");
}

/* Read a piece of a table; false if any of it cannot be read. */
static bool
get_piece(struct fat *f, unsigned char *to, uint64_t at, size_t len)
{
	size_t lost = fs_get_units(f->c.io, at, to, f->c.sector,
	    len / f->c.sector, 0xff);

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

	if (get_piece(f, f->one, f->c.table[0] + at, len) && !fs_exact(f->c.io))
		return;
	if (f->c.table[1] == 0)
		return;
	get_piece(f, f->two, f->c.table[1] + at, len);
	if (!fs_exact(f->c.io)) {
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
		fs_note_free(f->c.io, clusters_place(&f->c, i),
		    run * f->c.cluster);
		run += run == 0;
	}
}

static void
fat_table(struct fat *f)
{
	uint64_t last = f->c.clusters + 2, at, begin, end;
	uint64_t need = (last * f->c.bits + 7) / 8;
	size_t len;

	need = (need + f->c.sector - 1) / f->c.sector * f->c.sector;
	for (at = 0; at < need; at += len) {
		len = need - at < FS_PIECE ? (size_t)(need - at) : FS_PIECE;
		fat_load(f, at, len);
		begin = at * 8 / f->c.bits;
		end = (at + len) * 8 / f->c.bits;
		fat_take_table(f, begin, begin < 2 ? 2 : begin, end < last ?
		    end : last);
	}
	if (f->differ)
		fs_hurt(f->c.io, "its two FATs differ: what either calls "
		    "used is copied");
	else if (f->lost > 0)
		fs_hurt(f->c.io, "a part of its FAT cannot be read");
}

static void
fat_label(struct fat *f)
{
	unsigned char text[LABEL + 1] = { 0 };
	size_t n = LABEL;

	memcpy(text, f->boot + (f->c.bits == 32 ? B_LABEL_BIG : B_LABEL),
	    LABEL);
	while (n > 0 && text[n - 1] == ' ')
		text[--n] = 0;
	if (strcmp((const char *)text, "NO NAME") != 0)
		fs_label(f->c.io, text, n);
}

static void
fat_read(void *state)
{
	struct fat *f = state;
	struct fs_io *io = f->c.io;

	f->one = fs_alloc(io, FS_PIECE);
	f->two = fs_alloc(io, FS_PIECE);
	if (io->no_memory)
		return;
	fat_label(f);
	fat_judge(f);
	if (fs_exact(io) && io->whole)
		return;
	fs_note_meta(io, 0, f->c.first);
	fat_table(f);
	/*
	 * Many writers of FAT never mark it as dirty (mtools, cameras), and
	 * FAT12 has no mark.  So nothing that a file has may be free.
	 */
	clusters_check(&f->c, "its FAT calls a directory free",
	    "its FAT and its directories differ: fsck.fat");
}

static void
fat_names(void *state, struct fs_hits *hits)
{
	struct fat *f = state;

	clusters_names(&f->c, hits->lost, hits->to);
}

static void
fat_close(void *state)
{
	struct fat *f = state;

	free(f->one);
	free(f->two);
}

const struct fs_kind fs_fat = { { "vfat" }, sizeof(struct fat), fat_find,
	fat_read, fat_names, fat_close };
