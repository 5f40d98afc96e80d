/*
 * FAT12, FAT16, FAT32: boot sector, tables, directories and names, in mock
 * images: damaged structures are not believed, and nothing that may be in use
 * is called free.
 */
#include "test.h"
#include "../../src/fs/fsfat.h"
#include "../../src/fs/fsread.h"
#include "fsimage.h"

#define SECTOR	((size_t)512)
#define ENTRY	((size_t)32)		/* of a directory */

enum {
	ROOM = 256 * SECTOR,
	B_SECTOR = 11, B_CLUSTER = 13, B_RESERVED = 14, B_FATS = 16,
	B_ROOT = 17, B_SECTORS = 19, B_MEDIA = 21, B_FAT = 22,
	B_SECTORS_BIG = 32, B_FAT_BIG = 36, B_STATE = 37, B_MIRROR = 40,
	B_VERSION = 42, B_LABEL = 43, B_ROOT_BIG = 44, B_STATE_BIG = 65,
	B_LABEL_BIG = 71,
	PLAIN = 3, LONG = 5, DIR = 6, INNER = 7, GONE = 9, TOP = 10,
	LOWER = 11, CLUSTERS = 200,
};

static unsigned char disk[ROOM];
static unsigned bits, fat_sectors, first, clusters;	/* sectors */

static unsigned
reserved(void)
{
	return bits == 32 ? 8 : 1;
}

static void
set(unsigned table, unsigned i, uint32_t v)
{
	unsigned char *p = disk + (size_t)(reserved() + table * fat_sectors) *
	    SECTOR;

	if (bits == 32)
		put(p + (size_t)i * 4, 4, v);
	else if (bits == 16)
		put(p + (size_t)i * 2, 2, v);
	else if (i % 2 == 0)
		put(p + (size_t)i * 3 / 2, 2, (fs_le(p + (size_t)i * 3 / 2, 2)
		    & 0xf000) | (v & 0xfff));
	else
		put(p + (size_t)i * 3 / 2, 2, (fs_le(p + (size_t)i * 3 / 2, 2)
		    & 0xf) | (v & 0xfff) << 4);
}

static void
set_both(unsigned i, uint32_t v)
{
	set(0, i, v);
	set(1, i, v);
}

static uint64_t
place(unsigned cluster)
{
	return ((uint64_t)first + cluster - 2) * SECTOR;
}

static unsigned char *
root(void)
{
	return disk + (bits == 32 ? place(TOP) : place(2) -
	    (uint64_t)2 * SECTOR);
}

static unsigned char *
add(unsigned char *p, const char *name, unsigned kind, unsigned cluster,
    uint64_t size)
{
	memcpy(p, name, 11);
	p[11] = (unsigned char)kind;
	put(p + 26, 2, cluster);
	put(p + 28, 4, size);
	return p;
}

static unsigned char
sum_of(const unsigned char *p)
{
	unsigned char sum = 0;
	int i;

	for (i = 0; i < 11; i++)
		sum = (unsigned char)(((sum & 1) << 7 | sum >> 1) + p[i]);
	return sum;
}

/* Part of a long name, of 13 characters or what is left of them. */
static void
add_part(unsigned char *p, unsigned number, const char *text, unsigned char sum)
{
	static const unsigned at[] = { 1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24,
		28, 30 };
	size_t n = strlen(text), i;

	p[0] = (unsigned char)number;
	p[11] = FAT_LONG;
	p[13] = sum;
	for (i = 0; i < 13; i++)
		put(p + at[i], 2, i < n ? (uint64_t)text[i] : i == n ? 0 :
		    UINT16_MAX);
}

static void
make_files(void)
{
	unsigned char *p = root(), sum;

	add(p, "LABEL      ", FAT_VOLUME, 0, 0);
	add(p + 32, "PLAIN   TXT", 0, PLAIN, SECTOR + 1);
	add(p + 128, "LONGNA~1   ", 0, LONG, 9);
	sum = sum_of(p + 128);
	add_part(p + 64, 2 | 0x40, "tail", sum);
	add_part(p + 96, 1, "a long name, ", sum);
	add(p + 160, "DIR        ", FAT_DIR, DIR, 0);
	add(p + 192, "GONE       ", 0, GONE, 9)[0] = FAT_DELETED;
	add(p + 224, "\x05L0W{R  B1S", 0, LOWER, 9)[12] = 0x18;
	p = disk + place(DIR);
	add(p, ".          ", FAT_DIR, DIR, 0);
	add(p + 32, "..         ", FAT_DIR, 0, 0);
	add(p + 64, "INNER      ", 0, INNER, 1);
}

/* The boot sector, two tables, and what lies in its first clusters. */
static void
make(unsigned with_bits)
{
	static const unsigned ends[] = { 4, LONG, DIR, INNER, LOWER };

	bits = with_bits;
	memset(disk, 0, sizeof(disk));
	fat_sectors = bits == 16 ? 20 : 2;
	clusters = bits == 16 ? 4999 : CLUSTERS;
	first = reserved() + 2 * fat_sectors + (bits == 32 ? 0 : 2);
	image_begin("vfat", disk, sizeof(disk));
	src.length = (uint64_t)(first + clusters) * SECTOR;
	put(disk + B_SECTOR, 2, SECTOR);
	disk[B_CLUSTER] = 1;
	put(disk + B_RESERVED, 2, reserved());
	disk[B_FATS] = 2;
	put(disk + B_ROOT, 2, bits == 32 ? 0 : 32);
	put(disk + B_SECTORS, 2, bits == 32 ? 0 : first + clusters);
	disk[B_MEDIA] = 0xf8;
	put(disk + (bits == 32 ? B_FAT_BIG : B_FAT), 2, fat_sectors);
	if (bits == 32) {
		put(disk + B_SECTORS_BIG, 4, first + clusters);
		put(disk + B_ROOT_BIG, 4, TOP);
		set_both(TOP, 0x0fffffff);
	}
	memcpy(disk + (bits == 32 ? B_LABEL_BIG : B_LABEL), "MADE UP    ",
	    11);
	put(disk + 510, 2, 0xaa55);
	set_both(0, 0x0ffffff8);
	set_both(1, 0x0fffffff);
	set_both(PLAIN, 4);
	EACH_OF(i, ends)
		set_both(ends[i], 0x0fffffff);
	make_files();
	if (bits == 32)
		memcpy(disk + (size_t)6 * SECTOR, disk, SECTOR);
}

static int
set_up(void **state)
{
	make(16);
	return 0;
}

EACH(set_up, image_end)

/* -------------------------------------------------------- what is free */

/* Nothing that is in use may ever be free. */
static void
keeps_all(void)
{
	if (!image_used(0, place(2)) || !image_used(place(PLAIN), 2 *
	    SECTOR) || !image_used(place(LONG), 3 * SECTOR) ||
	    !image_used(place(LOWER), SECTOR) ||
	    (bits == 32 && !image_used(place(TOP), SECTOR)))
		fail_msg("what is used is free");
}

static bool
leaves(unsigned n)
{
	keeps_all();
	return map.free_bytes == (uint64_t)n * SECTOR;
}

/* All but what it has; a FAT32 has its root there. */
static unsigned
all(void)
{
	return clusters - 6 - (bits == 32);
}

struct spoilt {
	unsigned at;
	int	 bytes;
	uint64_t v;
	enum fs_state state;
};

static void
try(unsigned of, const struct spoilt *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		make(of);
		put(disk + s[i].at, s[i].bytes, s[i].v);
		if (image_read(0) != s[i].state ||
		    !leaves(s[i].state == FS_CLEAN ? all() : 0))
			fail_msg("case %zu of %u: %s, %llu free: %s", i, of,
			    fs_state_name(map.state), (unsigned long long)
			    map.free_bytes, map.reason);
	}
	make(of);
}

CASE(reads_it)
{
	static const unsigned kinds[] = { 12, 16, 32 };

	EACH_OF(i, kinds) {
		make(kinds[i]);
		assert_int_equal(image_read(0), FS_CLEAN);
		assert_true(leaves(all()));
		assert_string_equal(map.type, "vfat");
		assert_string_equal(map.label, "MADE UP");
		assert_int_equal(image_read(FS_ORDER | FS_DEEP), FS_CLEAN);
		assert_true(leaves(all()));
		assert_int_equal(fs_among(&map.meta, place(DIR), place(DIR) +
		    1), 1);
		assert_int_equal(fs_among(&map.meta, place(INNER),
		    place(INNER) + 1), 0);
		/* the first of its two tables is as good */
		memset(disk + ((size_t)reserved() + fat_sectors) * SECTOR, 0,
		    (size_t)fat_sectors * SECTOR);
		assert_int_equal(image_read(FS_ORDER | FS_DEEP), FS_CLEAN);
		assert_true(leaves(all()));
		assert_int_equal(image_read(0), FS_DAMAGED);
		assert_true(leaves(all()));
	}
	memcpy(disk + B_LABEL_BIG, "NO NAME    ", 11);
	image_read(0);
	assert_string_equal(map.label, "");
	memset(disk + B_LABEL_BIG, ' ', 11);
	image_read(0);
	assert_string_equal(map.label, "");
}

CASE(knows_a_boot_sector)
{
	static const struct spoilt no[] = {
		{ B_SECTOR, 2, 0, FS_DAMAGED },
		{ B_SECTOR, 2, 500, FS_DAMAGED },
		{ B_SECTOR, 2, 256, FS_DAMAGED },
		{ B_SECTOR, 2, 8192, FS_DAMAGED },
		{ B_CLUSTER, 1, 0, FS_DAMAGED },
		{ B_CLUSTER, 1, 3, FS_DAMAGED },
		{ B_FATS, 1, 0, FS_DAMAGED }, { B_FATS, 1, 3, FS_DAMAGED },
		{ B_RESERVED, 2, 0, FS_DAMAGED },
		{ B_MEDIA, 1, 0xef, FS_DAMAGED }, { 510, 2, 0, FS_DAMAGED },
		{ B_FAT, 2, 0, FS_DAMAGED }, { B_FAT, 2, 1, FS_DAMAGED },
		{ B_SECTORS, 2, 43, FS_DAMAGED },
	};
	static const struct spoilt no_32[] = {
		{ B_FAT_BIG, 4, 0, FS_DAMAGED },
		{ B_VERSION, 2, 1, FS_DAMAGED },
		{ B_ROOT, 2, 16, FS_DAMAGED },
		{ B_SECTORS_BIG, 4, 12, FS_DAMAGED },
		{ B_SECTORS_BIG, 4, 1000, FS_DAMAGED },
	};

	try(16, no, COUNT(no));
	try(32, no_32, COUNT(no_32));
	put(disk + B_SECTORS_BIG, 4, UINT32_MAX);	/* too many clusters */
	put(disk + B_FAT_BIG, 4, 1 << 25);
	disk[B_FATS] = 1;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	make(16);
	put(disk + B_SECTORS_BIG, 4, 1 << 17);
	put(disk + B_SECTORS, 2, 0);
	put(disk + B_FAT, 2, 1 << 9);
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	make(16);
	put(disk + B_SECTORS, 2, first + 1);		/* none is whole */
	disk[B_CLUSTER] = 2;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	make(16);
	image.lost = 0;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_false(hits(place(LONG), 1, "", false));
	assert_false(names.known);
}

CASE(judges_it)
{
	static const struct spoilt is[] = {
		{ B_STATE, 1, 1, FS_DIRTY }, { B_STATE, 1, 2, FS_DIRTY },
		{ B_STATE, 1, 0x29, FS_DIRTY }, { B_STATE, 1, 4, FS_CLEAN },
		{ SECTOR, 1, 0xf0, FS_DAMAGED }, { SECTOR + 3, 1, 0x7f,
		    FS_DIRTY }, { SECTOR + 3, 1, 0xbf, FS_DIRTY },
		{ B_SECTORS, 2, 5043, FS_DAMAGED },
	};
	static const struct spoilt is_32[] = {
		{ B_STATE_BIG, 1, 1, FS_DIRTY },
		{ 8 * SECTOR + 7, 1, 0x07, FS_DIRTY },
		{ 8 * SECTOR + 7, 1, 0x0b, FS_DIRTY },
	};

	try(16, is, COUNT(is));
	try(32, is_32, COUNT(is_32));
	make(12);			/* it has no mark */
	set_both(1, 0);
	assert_int_equal(image_read(0), FS_CLEAN);
	image.lost = SECTOR;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
}

/* What a file or directory has, and a table calls free. */
CASE(asks_dirs)
{
	static const unsigned of[] = { PLAIN, 4, LONG, DIR, INNER, LOWER };

	EACH_OF(i, of) {
		make(i % 2 == 0 ? 32 : 16);
		set_both(of[i], 0);
		assert_int_equal(image_read(0), FS_DIRTY);
		assert_true(leaves(0));
		set(0, of[i], 0x0fffffff);	/* one of them does not */
		set(1, of[i], 0);
		image_read(0);
		assert_false(fs_among(&map.free, place(of[i]), place(of[i]) +
		    SECTOR) > 0);
	}
	make(16);
	set_both(DIR, 0);
	assert_int_equal(image_read(0), FS_DIRTY);
	assert_int_equal(image_read(FS_DEEP), FS_DAMAGED);
	assert_true(leaves(0));
}

/* Only two names that begin with a dot are no files. */
CASE(knows_its_dots)
{
	static const char *const dotted[] = { ".X         ", "..X        ",
		"...        " };

	EACH_OF(i, dotted) {
		make(16);
		add(root() + 256, dotted[i], i == 1 ? FAT_DIR : 0, 30, 1);
		assert_int_equal(image_read(0), FS_DIRTY);
		assert_true(leaves(0));
		set_both(30, 0xffff);
		assert_int_equal(image_read(FS_ORDER | FS_DEEP), FS_CLEAN);
		assert_int_equal(fs_among(&map.meta, place(30), place(31)),
		    i == 1 ? SECTOR : 0);
	}
	assert_true(hits(place(30), 1, "/...", false));
}

/* A directory that cannot be read may have what a table calls free. */
CASE(needs_all_dirs)
{
	static const unsigned kinds[] = { 12, 16, 32 };

	EACH_OF(i, kinds) {
		make(kinds[i]);
		set_both(INNER, 0);
		image.lost = place(DIR);
		assert_int_equal(image_read(0), FS_UNKNOWN);
		assert_string_equal(map.reason,
		    "not all of its files could be looked at");
		assert_true(leaves(0));
		image.lost = (uint64_t)(root() - disk);
		assert_int_equal(image_read(0), FS_UNKNOWN);
		assert_true(leaves(0));
		set_both(PLAIN, 0);
		image.lost = place(DIR);
		assert_int_equal(image_read(0), FS_DIRTY);
		assert_true(leaves(0));
	}
}

/* One of two tables counts, or there is one only. */
CASE(knows_its_tables)
{
	unsigned i;

	make(32);
	put(disk + B_MIRROR, 2, 0x81);
	for (i = 2; i < CLUSTERS; i++)		/* this one does not */
		set(0, i, 0);
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(all()));
	assert_true(hits(place(4), 1, "/PLAIN.TXT", false));
	set(1, TOP, 12);			/* where its root goes on */
	set(1, 12, 0x0fffffff);
	image_read(FS_ORDER | FS_META);
	assert_int_equal(fs_among(&map.meta, place(12), place(13)), SECTOR);
	put(disk + B_MIRROR, 2, 0x80);
	assert_int_equal(image_read(0), FS_DIRTY);
	assert_true(leaves(0));
	make(32);
	disk[B_FATS] = 1;			/* its other one is a gap */
	put(disk + B_RESERVED, 2, 10);
	put(disk + B_MIRROR, 2, 0x81);
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(all()));
	make(16);
	disk[B_FATS] = 1;
	memmove(disk + 21 * SECTOR, disk + 41 * SECTOR, 32 * SECTOR);
	put(disk + B_SECTORS, 2, first + clusters - fat_sectors);
	first -= fat_sectors;
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(all()));
	assert_true(hits(place(4), 1, "/PLAIN.TXT", false));
	image.lost = 2 * SECTOR;		/* 256 of its entries */
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.reason, "a part of its FAT cannot be read");
	assert_true(leaves(all() - 256));
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_true(leaves(all() - 256));
}

/* What a guess takes of the second, where the first cannot be read. */
CASE(reads_another_table)
{
	image.lost = SECTOR;
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_true(leaves(all()));
	assert_true(hits(place(4), 1, "/PLAIN.TXT", false));
	assert_true(hits(place(INNER), 1, "/DIR/INNER", false));
	image.lost_2 = 21 * SECTOR;
	/* both are lost: what they would lead to may be */
	assert_true(hits(place(GONE), 1, "/DIR /PLAIN.TXT", true));
	assert_true(hits(place(INNER), 1, "/DIR /DIR/INNER /PLAIN.TXT",
	    true));
}

/* For a guess only: where a copy of the boot sector counts. */
CASE(takes_a_copy)
{
	make(32);
	image.lost = 0;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
	assert_int_equal(image_read(FS_ORDER | FS_DEEP), FS_DAMAGED);
	assert_string_equal(map.reason, "its boot sector is lost");
	assert_true(leaves(all()));
	assert_true(hits(place(INNER), 1, "/DIR/INNER", false));
	memcpy(disk + (size_t)6 * 4096, disk + 6 * SECTOR, SECTOR);
	memset(disk + 6 * SECTOR, 0, SECTOR);
	put(disk + (size_t)6 * 4096 + B_SECTOR, 2, 4096);	/* larger sectors */
	put(disk + (size_t)6 * 4096 + B_SECTORS_BIG, 4, 26);
	image_read(FS_ORDER);
	assert_string_equal(map.type, "vfat");
	memset(disk + (size_t)6 * 4096, 0, SECTOR);
	memcpy(disk + 6 * SECTOR, disk, SECTOR);
	put(disk + 6 * SECTOR + B_SECTOR, 2, 1024);
	put(disk + 6 * SECTOR + B_SECTORS_BIG, 4, 100);
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_string_equal(map.type, "");
	make(16);
	memcpy(disk + 6 * SECTOR, disk, SECTOR);
	image.lost = 0;
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_string_equal(map.type, "");
}

/* Directories that are not what they seem. */
CASE(walks_dirs)
{
	make(12);
	set_both(DIR, DIR);			/* without an end */
	assert_int_equal(image_read(FS_ORDER | FS_DEEP), FS_CLEAN);
	set_both(DIR, 13);			/* an odd one behind it */
	set_both(13, 14);
	memset(disk + place(DIR) + 96, FAT_DELETED, SECTOR - 96);
	memset(disk + place(13), FAT_DELETED, SECTOR);
	image_read(FS_ORDER | FS_DEEP);
	assert_int_equal(fs_among(&map.meta, place(13), place(15)),
	    2 * SECTOR);
	put(root() + 160 + 26, 2, 1);		/* nowhere */
	image_read(FS_ORDER | FS_DEEP);
	assert_int_equal(fs_among(&map.meta, place(DIR), place(DIR) + 1), 0);
	put(root() + 160 + 26, 2, CLUSTERS + 2);
	image_read(FS_ORDER | FS_DEEP);
	assert_int_equal(fs_among(&map.meta, place(DIR), place(DIR) + 1), 0);
	image.lost = place(2) - 1;		/* the root cannot be read */
	image_read(FS_ORDER | FS_DEEP);
	assert_int_equal(fs_among(&map.meta, place(2) - 1, place(2)), 1);
	make(32);
	image.lost = (uint64_t)reserved() * SECTOR + (size_t)4 * DIR;
	image_read(FS_ORDER | FS_DEEP);
	assert_int_equal(fs_among(&map.meta, place(DIR), place(DIR) + 1), 1);
}

/* ---------------------------------------------------------------- names */

#define AT(c)	place(c), 1

CASE(names_files)
{
	static const unsigned kinds[] = { 12, 16, 32 };

	EACH_OF(i, kinds) {
		make(kinds[i]);
		assert_true(hits(AT(PLAIN), "/PLAIN.TXT", false));
		assert_true(hits(place(4), 1, "/PLAIN.TXT", false));
		assert_true(hits(place(4) + 1, 1, "", false));
		assert_true(hits(AT(LONG), "/a long name, tail", false));
		assert_true(hits(AT(DIR), "/DIR", false));
		assert_true(hits(AT(INNER), "/DIR/INNER", false));
		assert_true(hits(AT(GONE), "", false));
		assert_true(hits(AT(LOWER), "/\xe5l0w{r.b1s", false));
		assert_true(hits((uint64_t)(root() - disk), 1, "/", false));
	}
}

CASE(names_what_is_spoilt)
{
	unsigned char *p = root();
	const struct misnamed no[] = {
		/* parts of a long name that do not fit */
		{ p + 96, 1, 2, AT(LONG), "/LONGNA~1", false },
		{ p + 96, 1, 0, AT(LONG), "", false },
		{ p + 96, 1, 0x40, AT(LONG), "/LONGNA~1", false },
		{ p + 64, 1, 0x40, AT(LONG), "/LONGNA~1", false },
		{ p + 64, 1, 0x40 | 21, AT(LONG), "/LONGNA~1", false },
		{ p + 64, 1, 2, AT(LONG), "/LONGNA~1", false },
		{ p + 64, 1, 0x43, AT(LONG), "/LONGNA~1", false },
		{ p + 64, 1, FAT_DELETED, AT(LONG), "/LONGNA~1", false },
		{ p + 96 + 13, 1, 0, AT(LONG), "/LONGNA~1", false },
		{ p + 128, 1, 'X', AT(LONG), "/XONGNA~1", false },
		{ p + 64 + 11, 1, FAT_VOLUME, AT(LONG), "/LONGNA~1", false },
		{ p + 224 + 12, 1, 0x08, AT(LOWER), "/\xe5l0w{r.B1S", false },
		{ p + 224 + 12, 1, 0x10, AT(LOWER), "/\xe5L0W{R.b1s", false },
		{ p + 32 + 8, 3, 0x202020, AT(PLAIN), "/PLAIN", false },
		/* chains that lead nowhere, or end too early */
		{ p + 32 + 26, 2, 1, AT(4), "", true },
		{ p + 32 + 26, 2, 5001, AT(4), "", true },
		{ p + ENTRY + 28, 4, 0, AT(4), "", false },
		{ p + ENTRY + 28, 4, 3 * SECTOR, AT(GONE), "", true },
		{ disk + SECTOR + (size_t)2 * PLAIN, 2, 1, AT(4), "", true },
		{ disk + SECTOR + (size_t)2 * PLAIN, 2, 5001, AT(4), "", true },
		{ disk + SECTOR + (size_t)2 * PLAIN, 2, 0xfff8, AT(4), "",
		    true },
		{ disk + SECTOR + 8, 2, PLAIN, AT(4), "/PLAIN.TXT",
		    false },
		{ p + 160 + 26, 2, 0, AT(INNER), "", true },
		{ p + 160, 1, 0, AT(LOWER), "", false },
		{ disk + place(DIR) + 3 * ENTRY, 4, 0, AT(INNER), "/DIR/INNER",
		    false },
	};

	image_misnamed(set_up, image_keep, no, COUNT(no));
	p[64] = 0x43;				/* the first is missing */
	p[96] = 2;
	assert_true(hits(AT(LONG), "/LONGNA~1", false));
	set_both(4, PLAIN);			/* it has no end */
	put(p + ENTRY + 28, 4, INT32_MAX);
	assert_true(hits(AT(GONE), "", true));
	make(16);
	/* a directory that is followed has one cluster twice, or a wrong one */
	memset(disk + place(DIR) + 96, FAT_DELETED, SECTOR - 96);
	set_both(DIR, DIR);
	assert_true(hits(AT(INNER), "/DIR/INNER", true));
	set_both(DIR, 1);
	assert_true(hits(AT(INNER), "/DIR/INNER", true));
	set_both(DIR, 13);
	assert_true(hits(AT(13), "/DIR", false));
}

/* Names that are listed have an end, and so have paths and directories. */
CASE(names_only_so_many)
{
	unsigned char *p = disk + place(20);
	unsigned i, k;

	for (i = 0; i < 80; i++) {		/* 1280 files of one cluster */
		for (k = 0; k < 16; k++)
			add(p + ((size_t)i * 16 + k) * 32, "MANY       ", 0,
			    GONE, 1);
		set_both(20 + i, i < 79 ? 21 + i : 0xffff);
	}
	put(root() + 160 + 26, 2, 20);
	add(root() + 256, "OTHER      ", FAT_DIR, 15, 0);
	hits(AT(GONE), "", true);
	assert_int_equal(names.n, FS_NAMES_MOST);
	assert_true(names.more);
}

/* Of directories in each other the path is told as far as there is room. */
CASE(names_deep_ones)
{
	unsigned char *p;
	unsigned i, k, n;

	put(root() + 160 + 26, 2, 20);
	for (i = 0; i < 24; i++) {		/* 195 characters each */
		p = disk + place(20 + i);
		add(p + (size_t)15 * 32, "DEEP       ", FAT_DIR, 21 + i,
		    0);
		if (i == 23)
			add(p + (size_t)15 * 32, "END        ", 0, GONE, 1);
		for (k = 0, n = 15; k < 15; k++, n--)
			add_part(p + (size_t)k * 32, n | (k == 0 ? 0x40 : 0),
			    "0123456789abc", sum_of(p + (size_t)15 * 32));
		set_both(20 + i, 0xffff);
	}
	hits(AT(GONE), "", false);
	assert_int_equal(names.n, 1);
	assert_int_equal(names.name[0][0], '<');
	assert_true(strlen(names.name[0]) > 3900);
}

/* An entry of 12 bits lies in two sectors. */
CASE(follows_across)
{
	make(12);
	put(disk + B_SECTORS, 2, first + 400);
	src.length = (uint64_t)(first + 400) * SECTOR;
	add(root() + 256, "ACROSS     ", 0, 341, (uint64_t)2 * SECTOR);
	set_both(341, 342);
	set_both(342, 0xfff);
	assert_true(hits(AT(342), "/ACROSS", false));
	assert_true(hits(AT(343), "", false));
	image.lost = (uint64_t)2 * SECTOR;
	image.lost_2 = (uint64_t)4 * SECTOR;
	assert_true(hits(AT(343), "/ACROSS", true));
}

/* Of a large table as much is kept as there is room. */
CASE(follows_far)
{
	enum { FAR = 3145728 };			/* its number, 12 MiB behind */
	static unsigned char end[2 * SECTOR];

	make(32);
	disk[B_FATS] = 1;
	put(disk + B_FAT_BIG, 4, FAR / 128 + 1);
	put(disk + B_SECTORS_BIG, 4, UINT64_C(8) + FAR / 128 + 1 + FAR + 100);
	put(disk + B_ROOT_BIG, 4, 2);
	memset(disk + 10 * SECTOR, 0, sizeof(disk) - 10 * SECTOR);
	set(0, 2, 0x0fffffff);
	set(0, PLAIN, FAR + 5);
	put(end + (size_t)5 * 4, 4, 4);
	set(0, 4, 0x0fffffff);
	add(end + SECTOR, "PLAIN   TXT", 0, PLAIN, (uint64_t)3 * SECTOR);
	first = 8 + FAR / 128 + 1;
	src.length = ((uint64_t)first + FAR) * SECTOR;
	image.far_at = (uint64_t)(first - 1) * SECTOR;
	image.far_size = image.period = sizeof(end);
	image.far = end;
	assert_true(hits(place(4), 1, "/PLAIN.TXT", false));
	assert_true(hits(place(FAR + 5), 1, "/PLAIN.TXT", false));
	assert_true(hits(place(FAR + 6), 1, "", false));
	set(0, PLAIN, 20000);
	set(0, 20000, 4);
	image.n = 0;			/* it is read in few parts */
	assert_true(hits(place(4), 1, "/PLAIN.TXT", false));
	assert_true(image.n < 50);
}

/* A directory with more directories than are kept, or more of their names. */
CASE(limits_dirs)
{
	static unsigned char part[21 * 16 * 32], *p;
	unsigned i, k, wide;

	for (wide = 0; wide < 2; wide++) {
		make(16);
		memset(part, 0, sizeof(part));
		p = part;
		for (i = 0; i < 16; i++) {
			for (k = 20; wide > 0 && k > 0; k--, p += 32) {
				add_part(p, k | (k == 20 ? 0x40 : 0), "", 0x90);
				memset(p + 1, 0x77, 10);
				memset(p + 14, 0x77, 12);
				memset(p + 28, 0x77, 4);
				p[13] = sum_of((const unsigned char *)
				    "MANY       ");
			}
			add(p, "MANY       ", FAT_DIR, GONE, 0);
			p += 32;
		}
		disk[B_CLUSTER] = 8;
		put(disk + B_SECTORS, 2, first + 8 * 4999);
		src.length = (uint64_t)(first + 8 * 4999) * SECTOR;
		put(root() + 160 + 26, 2, 20);
		for (i = 20; i < 5001; i++)
			set_both(i, i < 5000 ? i + 1 : 0xffff);
		image.far_at = (first + 144) * SECTOR;
		image.far_size = src.length;
		image.period = (size_t)(p - part);
		image.far = part;
		hits(src.length - SECTOR, 1, "/DIR", true);
		assert_int_equal(names.n, 1);
		assert_string_equal(names.name[0], "/DIR");
		assert_true(names.more);
		image_read(FS_ORDER | FS_DEEP);
		assert_true(map.meta.n > 0);
	}
}

/* One with more directories than are kept is not said to be wrong. */
CASE(does_not_blame_many)
{
	static unsigned char part[SECTOR];
	unsigned i;

	make(16);
	for (i = 0; i < SECTOR; i += ENTRY)
		add(part + i, "MANY       ", FAT_DIR, LOWER, 0);
	put(root() + 160 + 26, 2, 20);
	for (i = 20; i < 5001; i++)
		set_both(i, i < 5000 ? i + 1 : 0xffff);
	image.far_at = place(20);
	image.far_size = (uint64_t)4981 * SECTOR;
	image.period = sizeof(part);
	image.far = part;
	assert_int_equal(image_read(0), FS_UNKNOWN);
	assert_string_equal(map.reason,
	    "not all of its files could be looked at");
	assert_int_equal(map.free_bytes, 0);
}

/* More clusters than anybody has are not looked at. */
CASE(limits_clusters)
{
	make(32);
	put(disk + B_SECTORS_BIG, 4, 0x0a000000);
	put(disk + B_FAT_BIG, 4, 1 << 21);
	assert_true(hits(AT(GONE), "", true));
}

CASE(names_until_time_is_up)
{
	image.lost = place(DIR);
	assert_true(hits(AT(INNER), "", true));
	assert_true(image.reads == 0);
	add(root() + 256, "OTHER      ", FAT_DIR, 30, 0);
	set_both(30, 0xffff);
	image.failed = false;
	hits(AT(INNER), "", true);
	assert_int_equal(image.reads, 1);
	image.failed = false;
	image.err = ETIMEDOUT;
	assert_true(hits(AT(INNER), "", true));
	assert_int_equal(image.reads, 0);
}

CASE(fails_anywhere)
{
	static const unsigned kinds[] = { 12, 32 };

	EACH_OF(i, kinds) {
		make(kinds[i]);
		image_fails(place(2), src.length - place(2));
	}
}

CASE(needs_memory)
{
	image_needs_memory(place(2), src.length - place(2), FS_DEEP);
}
