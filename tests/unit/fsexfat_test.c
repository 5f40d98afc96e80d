/*
 * exFAT: boot sectors, the bitmap, directories and names, in a mock image:
 * damaged structures are not believed, and nothing that may be in use is called
 * free.
 */
#include "test.h"
#include "../../src/fs/fsexfat.h"
#include "fsimage.h"

#define SECTOR	((size_t)512)
#define ENTRY	((size_t)32)		/* of a directory */

enum {
	FAT = 24, FAT_SECTORS = 40, HEAP = FAT + FAT_SECTORS,
	CLUSTERS = 5000, ROOM = 32,	/* clusters that have something */
	END = (HEAP + CLUSTERS) * SECTOR,
	B_LENGTH = 72, B_FAT = 80, B_FAT_SIZE = 84, B_HEAP = 88,
	B_CLUSTERS = 92, B_FLAGS = 106, B_SECTOR = 108, B_CLUSTER = 109,
	B_FATS = 110, B_PERCENT = 112,
	BITS = 2, ROOT = 4, PLAIN = 5, TOGETHER_AT = 7, DIR = 10, INNER = 11,
	WIDE = 12, DEEP = 14, NOBODY = 20,
};

static unsigned char disk[(HEAP + ROOM) * SECTOR];

static uint64_t
place(unsigned cluster)
{
	return (uint64_t)(HEAP + cluster - 2) * SECTOR;
}

static void
chain(unsigned cluster, uint64_t next)
{
	put(disk + FAT * SECTOR + (size_t)cluster * 4, 4, next);
}

static unsigned char *
bits(void)
{
	return disk + place(BITS);
}

/* The entries of a file: what it is, where it lies, its name. */
static unsigned char *
add(unsigned char *p, const char *name, unsigned kind, unsigned first,
    uint64_t size, bool together)
{
	size_t n = strlen(name), i;
	unsigned parts = (unsigned)(n + 14) / 15;

	p[0] = E_FILE;
	p[1] = (unsigned char)(1 + parts);
	p[E_KIND] = (unsigned char)kind;
	p[32] = E_STREAM;
	p[33] = together ? 3 : 1;
	p[35] = (unsigned char)n;
	put(p + 32 + E_FIRST, 4, first);
	put(p + ENTRY + E_SIZE, 8, size);
	for (i = 0; i < n; i++) {
		p[64 + i / 15 * 32] = 0xc1;
		put(p + 64 + i / 15 * 32 + 2 + i % 15 * 2, 2,
		    (uint64_t)name[i]);
	}
	return p + (size_t)(2 + parts) * 32;
}

/* The checksum of each set of a directory of one cluster. */
static void
seal_dir(unsigned cluster)
{
	unsigned char *p = disk + place(cluster), *end = p + SECTOR;
	size_t n, i;
	uint16_t sum;

	for (; p < end; p += 32) {
		n = p[0] == E_FILE ? ((size_t)p[1] + 1) * 32 : 0;
		if (n == 0 || n > (size_t)(end - p))
			continue;
		for (i = 0, sum = 0; i < n; i++)
			if (i != 2 && i != 3)
				sum = (uint16_t)((sum << 15 | sum >> 1) + p[i]);
		put(p + 2, 2, sum);
	}
}

/* The checksum of the boot sectors, and their copy. */
static void
seal_boot(void)
{
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < (size_t)11 * SECTOR; i++)
		if (i != 106 && i != 107 && i != 112)
			sum = (sum << 31 | sum >> 1) + disk[i];
	for (i = 0; i < SECTOR; i += 4)
		put(disk + 11 * SECTOR + i, 4, sum);
	memcpy(disk + 12 * SECTOR, disk, (size_t)12 * SECTOR);
}

static void
seal(void)
{
	seal_dir(ROOT);
	seal_dir(DIR);
	seal_dir(WIDE);
	seal_boot();
}

static void
make_files(void)
{
	unsigned char *p = disk + place(ROOT);

	p[0] = E_LABEL;
	p[1] = 4;
	memcpy(p + 2, "m\0a\0d\0e", 7);
	p[32] = E_BITMAP;
	put(p + 32 + E_FIRST, 4, BITS);
	put(p + ENTRY + E_SIZE, 8, CLUSTERS / 8);
	p = add(p + 64, "plain", 0, PLAIN, SECTOR + 1, false);
	p = add(p, "together", 0, TOGETHER_AT, 2 * SECTOR, true);
	p = add(p, "dir", DIRECTORY, DIR, SECTOR, false);
	add(p, "wide", DIRECTORY, WIDE, 2 * SECTOR, true);
	add(disk + place(DIR), "inner file's long name", 0, INNER, 1, false);
	memset(disk + place(WIDE), 1, SECTOR);		/* nobody's */
	add(disk + place(WIDE + 1), "deep", 0, DEEP, 1, false);
	seal_dir(WIDE + 1);
}

static int
unsealed(void **state)
{
	static const unsigned ends[] = { BITS + 1, ROOT, PLAIN + 1, DIR,
		INNER, DEEP };

	memset(disk, 0, sizeof(disk));
	image_begin("exfat", disk, sizeof(disk));
	src.length = END;
	memcpy(disk + 3, "EXFAT   ", 8);
	put(disk + B_LENGTH, 8, HEAP + CLUSTERS);
	put(disk + B_FAT, 4, FAT);
	put(disk + B_FAT_SIZE, 4, FAT_SECTORS);
	put(disk + B_HEAP, 4, HEAP);
	put(disk + B_CLUSTERS, 4, CLUSTERS);
	put(disk + EXFAT_ROOT, 4, ROOT);
	disk[B_SECTOR] = 9;
	disk[B_FATS] = 1;
	put(disk + 510, 2, 0xaa55);
	EACH_OF(i, ends)
		chain(ends[i], UINT32_MAX);
	chain(BITS, BITS + 1);
	chain(PLAIN, PLAIN + 1);
	put(bits(), 2, 0x1fff);			/* clusters 2 to 14 */
	make_files();
	return 0;
}

IMAGE_SEALED(seal)

/* -------------------------------------------------------- what is free */

enum { ALL = CLUSTERS - 13 };

/* Nothing that is in use may ever be free. */
static bool
leaves(unsigned n)
{
	if (!image_used(0, place(DEEP + 1)))
		fail_msg("what is used is free");
	return map.free_bytes == (uint64_t)n * SECTOR;
}

IMAGE_TRIES(image_spoilt, seal, leaves(s->n))

CASE(reads_it)
{
	static const unsigned how[] = { 0, FS_META, FS_DEEP, FS_ORDER,
		FS_ORDER | FS_DEEP };

	EACH_OF(i, how) {
		assert_int_equal(image_read(how[i]), FS_CLEAN);
		assert_true(leaves(ALL));
	}
	assert_string_equal(map.type, "exfat");
	assert_string_equal(map.label, "made");
	assert_int_equal(fs_among(&map.meta, place(DIR), place(DIR + 1)),
	    SECTOR);
	assert_int_equal(fs_among(&map.meta, place(WIDE), place(WIDE + 3)),
	    2 * SECTOR);
	assert_int_equal(fs_among(&map.meta, place(INNER), place(INNER + 1)),
	    0);
}

CASE(knows_a_boot_sector)
{
	const struct image_spoilt no[] = {
		{ disk + 3, 1, 'X', FS_DAMAGED, 0 },
		{ disk + 510, 2, 0, FS_DAMAGED, 0 },
		{ disk + B_SECTOR, 1, 8, FS_DAMAGED, 0 },
		{ disk + B_SECTOR, 1, 13, FS_DAMAGED, 0 },
		{ disk + B_CLUSTER, 1, 17, FS_DAMAGED, 0 },
		{ disk + B_CLUSTERS, 4, 0, FS_DAMAGED, 0 },
		{ disk + B_CLUSTERS, 4, 0xfffffff6, FS_DAMAGED, 0 },
		{ disk + B_FATS, 1, 2, FS_DAMAGED, 0 },
		{ disk + B_FAT, 4, 0, FS_DAMAGED, 0 },
		{ disk + B_FAT, 4, HEAP, FS_DAMAGED, 0 },
		{ disk + B_FAT_SIZE, 4, FAT_SECTORS + 1, FS_DAMAGED, 0 },
		{ disk + B_FAT_SIZE, 4, FAT_SECTORS - 1, FS_DAMAGED, 0 },
		{ disk + B_LENGTH, 8, UINT64_MAX, FS_DAMAGED, 0 },
		{ disk + B_LENGTH, 8, HEAP + CLUSTERS - 1, FS_DAMAGED, 0 },
	};

	try(no, COUNT(no));
	image.lost = 0;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	assert_true(hits(place(PLAIN), 1, "/plain", false));
	disk[12 * SECTOR + 3] = 'X';
	assert_false(hits(place(PLAIN), 1, "", false) || names.known);
}

CASE(judges_it)
{
	const struct image_spoilt is[] = {
		{ disk + B_FLAGS, 2, 1, FS_CLEAN, ALL },
		{ disk + B_FLAGS, 2, 2, FS_DIRTY, 0 },
		{ disk + B_FLAGS, 2, 4, FS_DAMAGED, 0 },
		{ disk + B_PERCENT, 1, 50, FS_CLEAN, ALL },
	};

	try(is, COUNT(is));
	src.length = END - 1;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
	set_up(NULL);
	disk[200]++;				/* its checksum is wrong */
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
	assert_int_equal(image_read(FS_ORDER), FS_CLEAN);
	set_up(NULL);
	image.lost = 11 * SECTOR;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
	image.lost = 0;				/* a guess has the copy */
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_string_equal(map.reason, "its boot sector is lost");
	assert_true(leaves(ALL));
	assert_true(hits(place(PLAIN + 1), 1, "/plain", false));
	disk[12 * SECTOR + B_SECTOR] = 10;	/* not of sectors of 512 */
	put(disk + 12 * SECTOR + B_LENGTH, 8, (size_t)2 * (HEAP + CLUSTERS));
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_string_equal(map.type, "");
}

/* More clusters than anybody has are not looked at. */
CASE(limits_clusters)
{
	unsealed(NULL);
	put(disk + B_CLUSTERS, 4, 70 << 20);
	put(disk + B_FAT_SIZE, 4, 1 << 20);
	put(disk + B_HEAP, 4, 2 << 20);
	put(disk + B_LENGTH, 8, 80 << 20);
	seal();
	src.length = UINT64_C(80) << 29;
	assert_int_equal(image_read(0), FS_UNKNOWN);
	assert_int_equal(map.free.n, 0);
	assert_true(hits(place(PLAIN), 1, "", true));
}

/* ---------------------------------------------------------- its bitmap */

CASE(doubts_its_bitmap)
{
	unsigned char *p = disk + place(ROOT) + 32, *fat = disk + FAT * SECTOR;
	const struct image_spoilt is[] = {
		{ p, 1, 1, FS_DAMAGED, 0 },
		{ p + 1, 1, 1, FS_DAMAGED, 0 },
		{ p + E_SIZE, 8, CLUSTERS / 8 - 1, FS_DAMAGED, 0 },
		{ p + E_SIZE, 8, CLUSTERS, FS_CLEAN, ALL },
		{ p + E_FIRST, 4, 1, FS_DAMAGED, 0 },
		{ p + E_FIRST, 4, CLUSTERS + 2, FS_DAMAGED, 0 },
		{ p + E_FIRST, 4, ROOT, FS_DAMAGED, 0 },
		/* its second part is nowhere, or the first once more */
		{ fat + (size_t)4 * BITS, 4, 1, FS_DAMAGED, 4083 },
		{ fat + (size_t)4 * BITS, 4, CLUSTERS + 2, FS_DAMAGED, 4083 },
		{ fat + (size_t)4 * BITS, 4, BITS, FS_DAMAGED, 4083 },
		/* what a file or a directory has */
		{ bits(), 2, 0x1fff & ~(1 << (PLAIN + 1 - 2)), FS_DIRTY, 0 },
		{ bits(), 2, 0x1fff & ~(1 << (TOGETHER_AT + 1 - 2)), FS_DIRTY,
		    0 },
		{ bits(), 2, 0x1fff & ~(1 << (INNER - 2)), FS_DIRTY, 0 },
		{ bits(), 2, 0x1fff & ~(1 << (DEEP - 2)), FS_DIRTY, 0 },
		{ bits(), 2, 0x1fff & ~(1 << (WIDE - 2)), FS_DIRTY, 0 },
		{ bits(), 2, 0x1fff & ~(1 << (ROOT - 2)), FS_DAMAGED, 0 },
		{ bits(), 2, 0x1fff & ~1, FS_DAMAGED, 0 },
	};

	try(is, COUNT(is));
	bits()[0] &= (unsigned char)~(1 << (DIR - 2));
	bits()[1] &= (unsigned char)~(1 << (DIR - 10));
	assert_int_equal(image_read(FS_DEEP), FS_DAMAGED);
	assert_int_equal(map.free.n, 0);
	set_up(NULL);
	image.lost = place(BITS + 1);
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(4083));
	image.lost = place(ROOT);
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
	set_up(NULL);
	/* where it goes on */
	image.lost = FAT * SECTOR + (size_t)4 * BITS;
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_true(leaves(4083));
}

/* A table of capital letters is no file, and no less in use. */
CASE(knows_its_upcase_table)
{
	unsigned char *p = disk + place(ROOT) + 14 * ENTRY;
	unsigned used;

	for (used = 4; used-- > 0; ) {
		unsealed(NULL);
		p[0] = 0x82;
		put(p + E_FIRST, 4, NOBODY);
		put(p + E_SIZE, 8, SECTOR + 1);
		chain(NOBODY, NOBODY + 2);
		chain(NOBODY + 2, UINT32_MAX);
		bits()[2] = (unsigned char)((used & 1) << (NOBODY - 18) |
		    (used >> 1) << (NOBODY - 16));
		seal();
		assert_int_equal(image_read(0), used == 3 ? FS_CLEAN :
		    FS_DAMAGED);
		assert_true(leaves(used == 3 ? ALL - 2 : 0));
	}
}

/* Nor does a directory that cannot be read leave anything free. */
CASE(needs_all_dirs)
{
	static const unsigned of[] = { DIR, WIDE + 1 };

	EACH_OF(i, of) {
		set_up(NULL);
		bits()[i == 0 ? (INNER - 2) / 8 : (DEEP - 2) / 8] &=
		    (unsigned char)~(1 << (i == 0 ? (INNER - 2) % 8 :
		    (DEEP - 2) % 8));
		image.lost = place(of[i]);
		assert_int_equal(image_read(0), FS_UNKNOWN);
		assert_int_equal(map.free_bytes, 0);
	}
}

/* What one sector of it is of counts as used, and not all of a cluster's. */
CASE(loses_a_sector)
{
	unsigned char *p = disk + place(4);

	unsealed(NULL);
	disk[B_CLUSTER] = 1;
	put(disk + B_LENGTH, 8, HEAP + 2 * CLUSTERS);
	src.length = (uint64_t)(HEAP + 2 * CLUSTERS) * SECTOR;
	memset(disk + place(2), 0, ROOM * SECTOR);
	bits()[0] = 3;
	p[0] = E_BITMAP;
	put(p + E_FIRST, 4, BITS);
	put(p + E_SIZE, 8, CLUSTERS / 8);
	put(disk + EXFAT_ROOT, 4, 3);
	chain(BITS, UINT32_MAX);
	chain(3, UINT32_MAX);
	seal_boot();
	image.lost = place(3);
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_int_equal(map.free_bytes, SECTOR * 4094 * 2);
}

/* Its last byte stands for fewer clusters than it has bits. */
CASE(ends_within_a_byte)
{
	unsigned n;

	for (n = 7; n > 0; n--) {
		unsealed(NULL);
		put(disk + B_CLUSTERS, 4, CLUSTERS - n);
		seal();
		assert_int_equal(image_read(0), FS_CLEAN);
		assert_true(leaves(ALL - n));
	}
}

/* Clusters that are larger than what is read at once. */
CASE(reads_large_clusters)
{
	enum { LARGE = 1 << 20, FEW = 100 };
	static unsigned char large[32];

	unsealed(NULL);
	disk[B_CLUSTER] = 11;
	put(disk + B_CLUSTERS, 4, FEW);
	put(disk + B_LENGTH, 8, HEAP + FEW * (LARGE / SECTOR));
	src.length = (uint64_t)HEAP * SECTOR + (uint64_t)FEW * LARGE;
	memset(disk + place(2), 0, (size_t)ROOM * SECTOR);
	bits()[0] = 3;
	put(disk + EXFAT_ROOT, 4, 3);
	chain(BITS, UINT32_MAX);
	chain(3, UINT32_MAX);
	large[0] = E_BITMAP;
	put(large + E_FIRST, 4, BITS);
	put(large + E_SIZE, 8, (FEW + 7) / 8);
	image.far_at = (uint64_t)HEAP * SECTOR + LARGE;
	image.far_size = image.period = sizeof(large);
	image.far = large;
	seal_boot();
	assert_int_equal(image_read(FS_DEEP), FS_CLEAN);
	assert_int_equal(map.free_bytes, (uint64_t)(FEW - 2) * LARGE);
}

/* -------------------------------------------------------------- directories */

CASE(walks_dirs)
{
	unsigned char *p = disk + place(ROOT) + 8 * ENTRY;

	chain(DIR, DIR);			/* it has no end */
	assert_int_equal(image_read(FS_ORDER | FS_DEEP), FS_CLEAN);
	set_up(NULL);
	put(p + 32 + E_FIRST, 4, 1);
	assert_int_equal(image_read(FS_ORDER | FS_DEEP), FS_CLEAN);
	assert_int_equal(fs_among(&map.meta, place(DIR), place(DIR + 1)), 0);
	p += 96;				/* its checksum is wrong now */
	put(p + ENTRY + E_SIZE, 8, UINT64_C(1) << 50);
	image_read(FS_ORDER | FS_DEEP);
	assert_int_equal(fs_among(&map.meta, place(WIDE), place(WIDE + 3)), 0);
	set_up(NULL);
	disk[place(ROOT) + 1] = 12;		/* no such label */
	image_read(FS_ORDER);
	assert_string_equal(map.label, "");
	image.lost = place(DIR);
	assert_int_equal(image_read(FS_ORDER | FS_DEEP), FS_CLEAN);
	assert_true(leaves(ALL));
	/* a root of two clusters, the second of which has its bitmap */
	set_up(NULL);
	memcpy(disk + place(NOBODY), disk + place(ROOT), SECTOR);
	memset(disk + place(ROOT), 1, SECTOR);
	chain(ROOT, NOBODY);
	chain(NOBODY, UINT32_MAX);
	bits()[2] |= 1 << (NOBODY - 2 - 16);
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(ALL - 1));
	image.lost = FAT * SECTOR + (size_t)4 * ROOT;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
}

/* A directory with more directories than are kept. */
CASE(limits_dirs)
{
	static unsigned char part[SECTOR];
	unsigned char *p = part;
	unsigned i;

	for (i = 0; i < 5; i++)
		p = add(p, "many", DIRECTORY, NOBODY, SECTOR, false);
	memset(p, 1, 32);
	unsealed(NULL);
	disk[B_CLUSTER] = 3;
	put(disk + B_LENGTH, 8, HEAP + 8 * CLUSTERS);
	memset(disk + FAT * SECTOR, 0, sizeof(disk) - FAT * SECTOR);
	src.length = (uint64_t)(HEAP + 8 * CLUSTERS) * SECTOR;
	for (i = 2; i < 900; i++)
		chain(i, i + 1);
	put(disk + EXFAT_ROOT, 4, 2);
	seal_boot();
	image.far_at = HEAP * SECTOR;
	image.size = image.far_at;
	image.far_size = src.length;
	image.period = sizeof(part);
	image.far = part;
	image_read(FS_ORDER | FS_DEEP);
	assert_int_equal(map.free.n, 0);
	assert_true(map.meta.n > 0);
}

/* ---------------------------------------------------------------- names */

#define AT(c)	place(c), 1

CASE(names_files)
{
	assert_true(hits(AT(ROOT), "/", false));
	assert_true(hits(AT(PLAIN), "/plain", false));
	assert_true(hits(AT(PLAIN + 1), "/plain", false));
	assert_true(hits(place(PLAIN + 1) + 1, 1, "", false));
	assert_true(hits(AT(TOGETHER_AT + 1), "/together", false));
	assert_true(hits(AT(TOGETHER_AT + 2), "", false));
	assert_true(hits(AT(DIR), "/dir", false));
	assert_true(hits(AT(INNER), "/dir/inner file's long name", false));
	assert_true(hits(AT(WIDE + 1), "/wide", false));
	assert_true(hits(AT(DEEP), "/wide/deep", false));
	assert_true(hits(AT(NOBODY), "", false));
	assert_true(hits(AT(BITS), "", false));
}

CASE(names_what_is_spoilt)
{
	unsigned char *p = disk + place(ROOT) + 64, *dir = disk + place(DIR);
	unsigned char *wide = p + 9 * ENTRY;
	const struct misnamed no[] = {
		{ dir + 1, 1, 1, AT(INNER), "", true },
		{ dir + 1, 1, 2, AT(INNER), "", true },
		{ dir + 1, 1, 19, AT(INNER), "", true },
		{ dir + 32, 1, 0xc1, AT(INNER), "", true },
		{ dir + 35, 1, 31, AT(INNER), "", true },
		{ dir + 64, 1, E_FILE, AT(INNER), "", true },
		{ dir + 64, 1, 5, AT(INNER), "", true },
		{ dir + 96, 1, 0, AT(INNER), "", true },
		{ dir + 96, 1, E_FILE, AT(INNER), "", true },
		{ p + 32 + E_FIRST, 4, 1, AT(PLAIN), "", true },
		{ p + ENTRY + E_SIZE, 8, 3 * SECTOR, AT(NOBODY), "", true },
		{ p + ENTRY + E_SIZE, 8, 0, AT(PLAIN), "", false },
		{ p + 4 * ENTRY + E_FIRST, 4, 0, AT(TOGETHER_AT), "",
		    true },
		{ p + 4 * ENTRY + E_SIZE, 8, UINT64_MAX, AT(TOGETHER_AT),
		    "/together", true },
		{ p + 4 * ENTRY + E_SIZE, 8, UINT64_MAX, AT(BITS), "",
		    true },
		{ wide + 32 + E_SIZE, 8, SECTOR, AT(DEEP), "", false },
		{ wide + 32 + E_FIRST, 4, CLUSTERS + 1, AT(DEEP), "", true },
	};

	image_misnamed(unsealed, seal, no, COUNT(no));
	set_up(NULL);
	dir[40]++;				/* its checksum is wrong */
	assert_true(hits(AT(INNER), "", true));
	assert_int_equal(image_read(0), FS_DIRTY);
	assert_true(leaves(0));
	/* it is cut off by the end of its directory, the last one or not */
	set_up(NULL);
	memmove(dir + SECTOR - 64, dir, 64);
	memset(dir, 1, SECTOR - 64);
	assert_true(hits(AT(INNER), "", true));
	set_up(NULL);
	dir = disk + place(WIDE + 1);
	memmove(dir + SECTOR - 64, dir, 64);
	memset(dir, 1, SECTOR - 64);
	assert_true(hits(AT(DEEP), "", true));
	assert_int_equal(image_read(0), FS_DIRTY);
}

CASE(fails_anywhere)
{
	image_fails(place(2), END - place(2));
}

CASE(needs_memory)
{
	image_needs_memory(place(2), END - place(2), FS_DEEP);
}
