/*
 * FAT12, FAT16, FAT32: files that contain given bytes, with their long names.
 *
 * A long name is in the entries before that of its file, last part first, each
 * with the checksum of the short name.  Parts that do not match are leftovers,
 * and then the short name counts.
 */
#include <stdlib.h>
#include <string.h>

#include "fsclusters.h"
#include "fsfat.h"

enum {				/* offsets in an entry */
	E_KIND = 11, E_CASE = 12, E_HIGH = 20, E_LOW = 26, E_SIZE = 28,
	LOWER_BASE = 0x08, LOWER_REST = 0x10,
	SHORT = 11, BASE = 8,	/* bytes of a short name; of its base */
	FOR_DELETED = 0x05,	/* replaces a first byte of that value */
};

enum {				/* offsets in a part of a long name */
	L_SUM = 13, L_LAST = 0x40, L_NUMBER = 0x1f, PARTS = 20, UNITS = 13,
};

bool
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

void
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
