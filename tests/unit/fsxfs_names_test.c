/*
 * XFS: which files contain given bytes, by inodes and directories of version 4
 * in a mock image of 64 KiB: damaged structures are not followed, but reported.
 */
#include "test.h"
#include "../../src/fs/fsxfs.h"
#include "fsimage.h"

#define BLOCK	((size_t)512)
#define INODE	((size_t)256)

enum {
	BLOCKS = 64, GROUPS = 2,
	TREE = 3, CHUNK = 8,		/* blocks */
	FIRST = CHUNK * 2,		/* its first inode */
	FILE_MODE = 0x8000, EXTENTS = 2, NODES = 3,
	/* inodes */
	ROOT = FIRST, SMALL, LARGE, PLAIN, INNER, DEEP, FAR, LAST,
	/* blocks */
	B_ROOT = 40, B_LARGE = 41, B_LARGE_2 = 43, B_PLAIN = 44, B_INNER = 46,
	B_DEEP = 47, B_NODE = 48, B_LAST = 49,
};

static unsigned char disk[BLOCK * GROUPS * BLOCKS];

static unsigned char *
block(unsigned i)
{
	return disk + (size_t)i * BLOCK;
}

static unsigned char *
inode(unsigned number)
{
	return block(CHUNK) + (size_t)(number - FIRST) * INODE;
}

static unsigned char *
add_inode(unsigned number, unsigned mode, int format, unsigned extents)
{
	unsigned char *p = inode(number);

	memcpy(p, "IN", 2);
	put_msb(p + XFS_D_MODE, 2, mode);
	p[4] = 2;
	p[XFS_D_FORMAT] = (unsigned char)format;
	put_msb(p + 76, 4, extents);
	return p + 100;
}

static void
extent(unsigned char *p, uint64_t from, uint64_t number, uint64_t blocks)
{
	put_msb(p, 8, from << 9 | number >> 43);
	put_msb(p + 8, 8, number << 21 | blocks);
}

/* An entry of a block; returns what is behind it. */
static unsigned char *
entry(unsigned char *p, unsigned number, const char *name)
{
	size_t n = strlen(name);

	put_msb(p, 8, number);
	p[8] = (unsigned char)n;
	memcpy(p + 9, name, n);
	return p + (9 + n + 2 + 7) / 8 * 8;
}

static void
unused(unsigned char *p, const unsigned char *end)
{
	put_msb(p, 2, 0xffff);
	put_msb(p + 2, 2, (uint64_t)(end - p));
}

static void
make_group(unsigned ag, unsigned records)
{
	unsigned char *p = block(ag * BLOCKS + 2);

	memcpy(p, "XAGI", 4);
	put_msb(p + 20, 4, TREE);
	put_msb(p + 24, 4, 1);
	p = block(ag * BLOCKS + TREE);
	memcpy(p, "IABT", 4);
	put_msb(p + 6, 2, records);
	put_msb(p + 16, 4, FIRST);
	put_msb(p + 24, 8, ~((UINT64_C(1) << (LAST + 1 - FIRST)) - 1));
}

static void
make_dirs(void)
{
	unsigned char *p = block(B_ROOT) + 16, *in;

	memcpy(block(B_ROOT), "XD2B", 4);
	p = entry(p, ROOT, ".");
	p = entry(p, ROOT, "..");
	p = entry(p, SMALL, "small");
	p = entry(p, LARGE, "large");
	p = entry(p, PLAIN, "plain");
	p = entry(p, FAR, "far");
	unused(p, block(B_ROOT) + BLOCK - 8 - 16);
	put_msb(block(B_ROOT) + BLOCK - 8, 4, 2);		/* hashes */
	/* within its inode: one entry, its parent, then that */
	in = add_inode(SMALL, XFS_DIR, XFS_INSIDE, 0);
	in[0] = 1;
	put_msb(in + 2, 4, ROOT);
	in[6] = 5;
	memcpy(in + 9, "inner", 5);
	put_msb(in + 14, 4, INNER);
	/* of two blocks, and more of hashes */
	in = add_inode(LARGE, XFS_DIR, EXTENTS, 3);
	extent(in, 0, B_LARGE, 1);
	extent(in + 16, 1, B_LARGE_2, 1);
	extent(in + 32, (UINT64_C(32) << 30) / BLOCK + 1, B_LARGE, 1);
	memcpy(block(B_LARGE), "XD2D", 4);
	p = entry(block(B_LARGE) + 16, LARGE, ".");
	p = entry(p, ROOT, "..");
	unused(p, block(B_LARGE) + BLOCK);
	memcpy(block(B_LARGE_2), "XD2D", 4);
	unused(block(B_LARGE_2) + 16, block(B_LARGE_2) + 48);
	p = entry(block(B_LARGE_2) + 48, DEEP, "deep");
	p = entry(p, LAST, "last");
	unused(p, block(B_LARGE_2) + BLOCK);
}

static int
set_up(void **state)
{
	unsigned char *s = disk, *p;

	memset(disk, 0, sizeof(disk));
	image_begin("xfs", disk, sizeof(disk));
	memcpy(s, "XFSB", 4);
	put_msb(s + 4, 4, BLOCK);
	put_msb(s + 8, 8, (uint64_t)GROUPS * BLOCKS);
	put_msb(s + 56, 8, ROOT);
	put_msb(s + 84, 4, BLOCKS);
	put_msb(s + 88, 4, GROUPS);
	put_msb(s + 100, 2, 4);
	put_msb(s + 102, 2, BLOCK);
	put_msb(s + 104, 2, INODE);
	s[120] = 9;
	s[123] = 1;
	s[124] = 6;
	make_group(0, 1);
	make_group(1, 0);
	extent(add_inode(ROOT, XFS_DIR, EXTENTS, 1), 0, B_ROOT, 1);
	make_dirs();
	extent(add_inode(PLAIN, FILE_MODE, EXTENTS, 1), 0, B_PLAIN, 2);
	extent(add_inode(INNER, FILE_MODE, EXTENTS, 1), 0, B_INNER, 1);
	extent(add_inode(DEEP, FILE_MODE, EXTENTS, 1), 0, B_DEEP, 1);
	extent(add_inode(FAR, FILE_MODE, EXTENTS, 1), 0, B_PLAIN, 2);
	put_msb(inode(FAR) + XFS_D_FLAGS, 2, XFS_ELSEWHERE);
	/* by a tree of one leaf */
	p = add_inode(LAST, FILE_MODE, NODES, 0);
	put_msb(p, 2, 1);
	put_msb(p + 2, 2, 1);
	put_msb(p + 4 + (ptrdiff_t)(152 / 16 * 8), 8, B_NODE);
	memcpy(block(B_NODE), "BMAP", 4);
	put_msb(block(B_NODE) + 6, 2, 1);
	extent(block(B_NODE) + 24, 0, B_LAST, 1);
	return 0;
}

EACH(set_up, image_end)

#define AT(b)	((uint64_t)(b) * BLOCK), 1
#define AT_INODE(i) ((uint64_t)CHUNK * BLOCK + (uint64_t)((i) - FIRST) * INODE), 1

CASE(names_files)
{
	assert_true(hits(AT(B_ROOT), "/", false));
	assert_true(hits(AT(B_LARGE_2), "/large", false));
	assert_true(hits(AT(B_PLAIN + 1), "/plain", false));
	assert_true(hits(AT(B_PLAIN + 2), "/small/inner", false));
	assert_true(hits(AT(B_DEEP), "/large/deep", false));
	assert_true(hits(AT(B_NODE), "/large/last", false));
	assert_true(hits(AT(B_LAST), "/large/last", false));
	assert_true(hits(AT(B_LAST + 1), "", false));
	/* inodes that are lost: their names are in directories */
	assert_true(hits(AT_INODE(PLAIN), "/plain", false));
	assert_true(hits(AT_INODE(FAR), "/far", false));
	assert_true(hits(AT_INODE(DEEP), "/large/deep", false));
	assert_true(hits(AT_INODE(LAST + 1), "", false));
	image.lost = B_LARGE * BLOCK;
	assert_true(hits(AT(B_DEEP), "<18>/deep", true));
	image.lost = B_LARGE_2 * BLOCK;
	assert_true(hits(AT(B_DEEP), "<21>", true));
	image.lost = (uint64_t)CHUNK * BLOCK + (LARGE - FIRST) * INODE;
	assert_true(hits(AT(B_DEEP), "<21>", true));
	image.lost = 2 * BLOCK;
	assert_true(hits(AT(B_DEEP), "", true));
	image.lost = 0;
	assert_false(hits(AT(B_DEEP), "", false) || names.known);
}

CASE(names_what_is_spoilt)
{
	unsigned char *root = block(B_ROOT) + 16, *small = inode(SMALL) + 100;
	unsigned char *first = block(B_LARGE) + 16;
	unsigned char *second = block(B_LARGE_2);
	const struct misnamed no[] = {
		{ inode(PLAIN), 1, 'X', AT(B_PLAIN), "", true },
		{ inode(PLAIN) + XFS_D_FORMAT, 1, 9, AT(B_PLAIN), "", true },
		{ inode(PLAIN) + 100 + 8, 1, 0xff, AT(B_PLAIN), "", true },
		{ inode(FAR) + XFS_D_FORMAT, 1, 9, AT(B_PLAIN), "/plain",
		    false },
		{ inode(FAR) + XFS_D_FLAGS, 2, 0, AT(B_PLAIN), "/far /plain",
		    false },
		{ block(TREE) + 16, 1, 0xff, AT(B_PLAIN), "", true },
		{ block(BLOCKS + 2), 1, 'Y', AT(B_PLAIN), "/plain", true },
		/* a directory within an inode */
		{ small, 1, 0, AT(B_INNER), "<20>", false },
		{ small, 1, 9, AT(B_INNER), "/small/inner", false },
		{ small + 1, 1, 1, AT(B_INNER), "<20>", false },
		{ small + 2, 4, 0, AT(B_INNER), "<17>/inner", false },
		{ small + 2, 4, 0x13000000, AT(B_INNER), "<17>/inner",
		    false },
		{ small + 6, 1, 200, AT(B_INNER), "<20>", false },
		{ inode(SMALL) + 82, 1, 1, AT(B_INNER), "<20>", false },
		{ inode(SMALL) + XFS_D_MODE, 2, 0x80, AT(B_INNER), "<20>",
		    false },
		/* one in blocks */
		{ block(B_ROOT), 1, 'Y', AT(B_PLAIN), "<19>", false },
		{ block(B_ROOT) + BLOCK - 8, 4, 0xffffffff, AT(B_PLAIN), "<19>",
		    false },
		{ root + 8, 1, 0, AT(B_PLAIN), "<19>", false },
		{ root + 8, 1, 8, AT(B_PLAIN), "<19>", false },
		{ second + 16 + 2, 2, 0, AT(B_DEEP), "<21>", false },
		{ second + 16 + 2, 2, 0x0c00, AT(B_DEEP), "<21>", false },
		{ second + 16 + 2, 2, 0x00f8, AT(B_DEEP), "<21>", false },
		{ second, 4, 0x33444458, AT(B_DEEP), "/large/deep", false },
		{ first + 16, 8, 0, AT(B_DEEP), "<18>/deep", false },
		{ first + 16, 8, UINT64_MAX, AT(B_DEEP), "<18>/deep", false },
		/* its directory ends in the midst of a block of directories */
		{ disk + 192, 1, 1, AT(B_DEEP), "<21>", true },
	};

	image_misnamed(set_up, image_keep, no, COUNT(no));
	/* an entry is longer than what is left of its block */
	unused(second + 16, second + 480);
	entry(second + 480, DEEP, "deep")[-16 + 8] = 200;
	assert_true(hits(AT(B_DEEP), "<21>", false));
	/* its parent alone does not fit, or its entries just do */
	inode(SMALL)[82] = small[1] = 1;
	assert_true(hits(AT(B_INNER), "<20>", false));
	set_up(NULL);
	inode(SMALL)[82] = 4;
	small[0] = 9;
	assert_true(hits(AT(B_INNER), "/small/inner", false));
}

/* A directory whose blocks are found by a tree. */
CASE(names_by_a_tree)
{
	unsigned char *in = inode(LARGE) + 100;

	inode(LARGE)[XFS_D_FORMAT] = NODES;
	memset(in, 0, INODE - 100);
	put_msb(in, 2, 1);
	put_msb(in + 2, 2, 1);
	put_msb(in + 4 + (ptrdiff_t)(152 / 16 * 8), 8, B_NODE);
	put_msb(block(B_NODE) + 6, 2, 2);
	extent(block(B_NODE) + 24, 0, B_LARGE, 1);
	extent(block(B_NODE) + 40, 1, B_LARGE_2, 1);
	assert_true(hits(AT(B_DEEP), "/large/deep", false));
	assert_true(hits(AT(B_LARGE_2), "/large /large/last", false));
}

CASE(names_until_time_is_up)
{
	image.lost = B_NODE * BLOCK;
	assert_true(hits(AT(B_DEEP), "/large/deep", true));
	assert_true(image.reads > 0);
	image.err = ETIMEDOUT;
	image.failed = false;
	hits(AT(B_DEEP), "", true);
	assert_true(names.more);
	assert_int_equal(image.reads, 0);
}

/* In each way of reading, wherever that fails, or memory is refused. */
CASE(fails_anywhere)
{
	struct fs_extent e = { B_PLAIN * BLOCK, 6 * BLOCK };
	struct fs_extents all = { .at = &e, .n = 1 };
	unsigned n;
	bool on;

	for (on = false, n = 1; n > 0; n = !on, on = true)
		for (image.on = on, image.fails = image.n = 0;
		    image.fails <= image.n; ) {
			image.fails++;
			hits(e.off, e.len, "", false);
			assert_true(names.more || !names.known ||
			    names.n == 4);
		}
	image.fails = 0;
	image.on = false;
	n = 0;
	do {
		fs_names_free(&names);
		poor_after(n++);
		on = fs_names_read("xfs", &src, &all, &names) == 0;
		assert_int_equal(on, !poor_was());
	} while (!on);
	assert_int_equal(names.n, 4);
}
