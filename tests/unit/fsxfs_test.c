/*
 * XFS: the forks of an inode, the trees of a group, and its chunks of inodes,
 * in a mock image of 64 KiB: damaged structures are reported, and not followed.
 */
#include "test.h"
#include "../../src/fs/fsxfs.h"
#include "fsimage.h"

enum {
	BLOCK = 512, BLOCKS = 64, GROUPS = 2,	/* blocks of a group */
	INODE = 256, MOST = 16,
	IN_LIST = 2, IN_TREE = 3,		/* formats of a fork */
	LEAF = 20, NODE = 21, OTHER = 22,	/* blocks */
};

static unsigned char disk[GROUPS * BLOCKS * BLOCK];
static unsigned char nodes[2 * XFS_LEVELS * BLOCK], buf[FS_PIECE];

static struct fs_io io;
static struct xfs x;

static struct {				/* what was taken */
	uint64_t from, at, len;
	bool	 leads;
} taken[MOST];
static size_t n;

static int
set_up(void **state)
{
	memset(disk, 0, sizeof(disk));
	image_begin("xfs", disk, sizeof(disk));
	n = 0;
	map = (struct fs_map){ .state = FS_CLEAN };
	io = (struct fs_io){ .src = &src, .map = &map, .budget = 1 << 20 };
	x = (struct xfs){ .io = &io, .block = BLOCK, .sector = BLOCK,
		.inode = INODE, .block_log = 9, .ag_log = 6, .inode_log = 1,
		.blocks = (uint64_t)GROUPS * BLOCKS, .ag_blocks = BLOCKS,
		.ags = GROUPS, .nodes = nodes, .buf = buf };
	return 0;
}

EACH(set_up, image_end)

static unsigned char *
block(unsigned i)
{
	return disk + (size_t)i * BLOCK;
}

/* ---------------------------------------------------------------- forks */

static void
take(void *arg, uint64_t from, uint64_t at, uint64_t len, bool leads)
{
	assert_true(n < MOST);
	taken[n].from = from;
	taken[n].at = at;
	taken[n].len = len;
	taken[n++].leads = leads;
}

static void
took(size_t i, uint64_t from, uint64_t at, uint64_t blocks, bool leads)
{
	assert_int_equal(taken[i].from, from);
	assert_int_equal(taken[i].at, at * BLOCK);
	assert_int_equal(taken[i].len, blocks * BLOCK);
	assert_int_equal(taken[i].leads, leads);
}

static void
extent(unsigned char *p, uint64_t from, uint64_t number, uint64_t blocks)
{
	put_msb(p, 8, from << 9 | number >> 43);
	put_msb(p + 8, 8, number << 21 | blocks);
}

/* An inode of version 2; its extents or its tree begin at 100. */
static unsigned char *
inode(int format, unsigned extents)
{
	static unsigned char p[INODE];

	memset(p, 0, sizeof(p));
	p[4] = 2;
	p[5] = (unsigned char)format;
	put_msb(p + 76, 4, extents);
	return p;
}

static bool
forked(const unsigned char *p, bool leaves)
{
	n = 0;
	return xfs_fork(&x, p, false, leaves, take, NULL);
}

CASE(lists_extents)
{
	unsigned char *p = inode(IN_LIST, 2);

	extent(p + 100, 7, 40, 3);
	extent(p + 116, UINT64_C(1) << 53, 64 + 9, 1);	/* not written yet */
	assert_true(forked(p, true));
	assert_int_equal(n, 2);
	took(0, 7, 40, 3, false);
	took(1, UINT64_C(1) << 53, 64 + 9, 1, false);
	extent(p + 100, 7, 128, 3);			/* no such group */
	assert_false(forked(p, true));
	assert_int_equal(n, 1);
}

/* More than fit are wrong; those that fit are taken. */
CASE(counts_extents)
{
	unsigned char *p = inode(IN_LIST, 10);
	int i;

	for (i = 0; i < 9; i++)
		extent(p + 100 + (ptrdiff_t)16 * i, (unsigned)i, 30, 1);
	assert_false(forked(p, true));
	assert_int_equal(n, 9);
	p[82] = 4;		/* what is beside begins behind 32 bytes, */
	assert_false(forked(p, true));
	assert_int_equal(n, 2);
	p[82] = 255;		/* ... or there is no such place */
	assert_false(forked(p, true));
	assert_int_equal(n, 9);
	assert_true(xfs_fork(&x, p, true, true, take, NULL));
	assert_int_equal(n, 9);
}

CASE(knows_what_is_beside)
{
	unsigned char *p = inode(0, 0);

	p[82] = 4;
	p[83] = IN_LIST;
	put_msb(p + 80, 2, 1);
	extent(p + 132, 0, 33, 2);
	assert_true(xfs_fork(&x, p, true, true, take, NULL));
	assert_int_equal(n, 1);
	took(0, 0, 33, 2, false);
}

/* Version 3 has a longer head, and where it has many, other counts. */
CASE(knows_many)
{
	unsigned char *p = inode(IN_LIST, 0);

	p[4] = 3;
	p[82] = 4;
	p[83] = IN_LIST;
	extent(p + 176, 5, 33, 2);
	extent(p + 176 + 32, 6, 34, 1);
	put_msb(p + 120, 8, 0x10);
	put_msb(p + 24, 8, 1);
	put_msb(p + 76, 4, 1);
	assert_true(forked(p, true));
	assert_true(xfs_fork(&x, p, true, true, take, NULL));
	assert_int_equal(n, 2);
	took(0, 5, 33, 2, false);
	took(1, 6, 34, 1, false);
	put_msb(p + 24, 8, UINT64_MAX);
	assert_false(forked(p, true));
	assert_int_equal(n, 2);
}

/* A block of a file's tree; its entries begin at "head". */
static unsigned char *
tree_block(unsigned i, unsigned level, unsigned records)
{
	unsigned char *p = block(i);

	memcpy(p, x.v5 ? "BMA3" : "BMAP", 4);
	put_msb(p + 4, 2, level);
	put_msb(p + 6, 2, records);
	return p + (x.v5 ? 72 : 24);
}

/* An inode with a tree: its root, a node, a leaf of two extents. */
static unsigned char *
file_tree(void)
{
	unsigned char *p = inode(IN_TREE, 0), *q;
	size_t most = ((size_t)BLOCK - (x.v5 ? 72 : 24)) / 16;

	put_msb(p + 100, 2, 2);			/* level */
	put_msb(p + 102, 2, 1);
	put_msb(p + 104 + (ptrdiff_t)(152 / 16 * 8), 8, NODE);
	put_msb(tree_block(NODE, 1, 1) + most * 8, 8, LEAF);
	q = tree_block(LEAF, 0, 2);
	extent(q, 0, 40, 3);
	extent(q + 16, 3, 50, 4);
	return p;
}

CASE(follows_a_tree)
{
	const unsigned char *p;
	int v5;

	for (v5 = 0; v5 < 2; v5++) {
		x.v5 = v5 != 0;
		p = file_tree();
		assert_true(forked(p, true));
		assert_int_equal(n, 4);
		took(0, 0, NODE, 1, true);
		took(1, 0, LEAF, 1, true);
		took(2, 0, 40, 3, false);
		took(3, 3, 50, 4, false);
		image.lost = (uint64_t)LEAF * BLOCK;	/* it need not be read */
		assert_true(forked(p, false));
		assert_int_equal(n, 2);
		assert_false(forked(p, true));
		assert_int_equal(n, 2);
		image.lost = UINT64_MAX;
	}
}

/* How many are taken of a file's tree that is wrong. */
static size_t
wrong_tree(unsigned char *at, int bytes, uint64_t v)
{
	unsigned char was[8];
	unsigned char *p = file_tree();

	if (at == NULL)
		at = p + 100;
	memcpy(was, at, sizeof(was));
	put_msb(at, bytes, v);
	assert_false(forked(p, true));
	return n;
}

CASE(doubts_a_tree)
{
	size_t most = (BLOCK - 24) / 16;

	assert_int_equal(wrong_tree(NULL, 2, 0), 0);	/* its level */
	assert_int_equal(wrong_tree(NULL, 2, XFS_LEVELS), 0);
	assert_int_equal(wrong_tree(NULL, 4, 2 << 16 | 10), 0);	/* count */
	assert_int_equal(wrong_tree(block(NODE), 1, 'X'), 1);
	assert_int_equal(wrong_tree(block(NODE) + 4, 2, 2), 1);
	assert_int_equal(wrong_tree(block(NODE) + 6, 2, most + 1), 1);
	assert_int_equal(wrong_tree(block(NODE) + 24 + most * 8, 8, 128), 1);
	assert_int_equal(wrong_tree(block(LEAF) + 4, 2, 1), 2);
	assert_int_equal(wrong_tree(block(LEAF) + 24 + 8, 8,
	    UINT64_C(128) << 21 | 1), 3);
}

CASE(doubts_a_fork)
{
	unsigned char *p = file_tree();

	p[82] = 2;			/* no room for a root */
	assert_false(forked(p, true));
	assert_int_equal(n, 0);
	p[5] = IN_TREE + 1;
	assert_false(forked(p, true));
	p[83] = IN_TREE;
	p[82] = 17;
	assert_false(xfs_fork(&x, p, true, true, take, NULL));
	p[82] = 0;			/* nothing is beside */
	assert_true(xfs_fork(&x, p, true, true, take, NULL));
	for (p[5] = 0; p[5] < IN_LIST; p[5]++)
		assert_true(forked(p, true));
	assert_int_equal(n, 0);
}

/* --------------------------------------------------------------- groups */

static unsigned records, refused;

static bool
take_record(void *arg, const unsigned char *record)
{
	return records++ + 1 != refused;
}

static const struct xfs_tree of_eight = { .magic = { "ABTB", "AB3B" },
	.key = 8, .record = 8, .leaves = true, .take = take_record };
static const struct xfs_tree inner = { .magic = { "ABTB", "AB3B" },
	.key = 8, .record = 8 };

/* A block of a group's tree, which is in the second group. */
static unsigned char *
group_block(unsigned i, unsigned level, unsigned entries)
{
	unsigned char *p = block(BLOCKS + i);

	memcpy(p, x.v5 ? "AB3B" : "ABTB", 4);
	put_msb(p + 4, 2, level);
	put_msb(p + 6, 2, entries);
	return p + (x.v5 ? 56 : 16);
}

static void
check_sum(unsigned i)
{
	unsigned char *p = block(BLOCKS + i);
	uint32_t crc;
	int k;

	memset(p + 52, 0, 4);
	crc = ~fs_crc32c(~UINT32_C(0), p, BLOCK);
	for (k = 0; k < 4; k++)
		p[52 + k] = (unsigned char)(crc >> 8 * k);
}

/* ... gets its place, its owner and its checksum. */
static void
seal(unsigned i)
{
	put_msb(block(BLOCKS + i) + 16, 8, BLOCKS + i);
	put_msb(block(BLOCKS + i) + 48, 4, 1);
	check_sum(i);
}

static bool
walked(const struct xfs_tree *t, unsigned levels)
{
	records = 0;
	return xfs_tree(&x, t, 1, NODE, levels);
}

/* A root with two leaves, of three records and of one. */
static void
group_tree(void)
{
	size_t most = ((size_t)BLOCK - (x.v5 ? 56 : 16)) / 12;
	unsigned char *p = group_block(NODE, 1, 2);

	put_msb(p + most * 8, 4, LEAF);
	put_msb(p + most * 8 + 4, 4, OTHER);
	group_block(LEAF, 0, 3);
	group_block(OTHER, 0, 1);
	seal(LEAF);
	seal(OTHER);
	seal(NODE);
}

CASE(walks_a_tree)
{
	int v5;

	for (v5 = 0; v5 < 2; v5++) {
		x.v5 = v5 != 0;
		group_tree();
		assert_true(walked(&of_eight, 2));
		assert_int_equal(records, 4);
	}
	assert_false(walked(&of_eight, 0));
	assert_false(walked(&of_eight, XFS_LEVELS + 1));
	assert_false(walked(&of_eight, 1));		/* another level */
	refused = 2;
	assert_false(walked(&of_eight, 2));
	assert_int_equal(records, 2);
	io.how = FS_ORDER;		/* what else is there helps all the same */
	assert_false(walked(&of_eight, 2));
	assert_int_equal(records, 3);
	refused = 0;
	image.lost = (uint64_t)(BLOCKS + LEAF) * BLOCK;	/* its leaves are only noted */
	assert_true(walked(&inner, 2));
	assert_false(walked(&of_eight, 2));
	assert_int_equal(records, 1);
}

/* Whether this number, in a block of version 5, is seen to be wrong. */
static bool
seen(unsigned i, unsigned at, int bytes, uint64_t v, bool sealed)
{
	group_tree();
	put_msb(block(BLOCKS + i) + at, bytes, v);
	if (sealed)
		check_sum(i);
	return !walked(&of_eight, 2);
}

CASE(doubts_a_block)
{
	unsigned most;

	x.v5 = true;
	most = (BLOCK - 56) / 12;
	assert_false(seen(LEAF, 100, 1, 1, true));
	assert_true(seen(LEAF, 100, 1, 2, false));	/* checksum */
	assert_true(seen(LEAF, 0, 1, 'X', true));
	assert_true(seen(LEAF, 48, 4, 0, true));	/* of another group, */
	assert_true(seen(LEAF, 16, 8, LEAF, true));	/* ... from elsewhere */
	assert_true(seen(LEAF, 6, 2, 0, true));		/* empty, */
	assert_true(seen(LEAF, 6, 2, 58, true));	/* ... or too full */
	assert_true(seen(NODE, 6, 2, most + 1, true));
	assert_true(seen(NODE, 56 + most * 8, 4, 0, true));
	assert_true(seen(NODE, 56 + most * 8, 4, BLOCKS, true));
	group_block(NODE, 0, 0);			/* an empty root is right */
	seal(NODE);
	assert_true(walked(&of_eight, 1));
	io.how = FS_ORDER;				/* who guesses need not check */
	assert_false(seen(LEAF, 100, 1, 1, false));
}

/* --------------------------------------------------------------- inodes */

static uint64_t seen_inodes[MOST];

static void
visit(struct xfs *of, const unsigned char *p, uint64_t number, uint64_t at,
    void *arg)
{
	if (n < MOST)
		seen_inodes[n] = number;
	n++;
}

/* The header of a group's inodes, and its tree with one chunk. */
static unsigned char *
chunk(uint64_t first, unsigned holes, uint64_t unused)
{
	unsigned char *p = block(BLOCKS) + 2 * (ptrdiff_t)BLOCK, *record;

	memcpy(p, "XAGI", 4);
	put_msb(p + 20, 4, LEAF);
	put_msb(p + 24, 4, 1);
	record = group_block(LEAF, 0, 1);
	memcpy(block(BLOCKS + LEAF), "IABT", 4);
	put_msb(record, 4, first);
	put_msb(record + 4, 2, holes);
	put_msb(record + 8, 8, unused);
	return p;
}

static bool
each(void)
{
	n = 0;
	return xfs_each(&x, 1, visit, NULL);
}

CASE(visits_inodes)
{
	unsigned char *p;

	chunk(60, 0, ~UINT64_C(0x21));	/* at block 30 */
	assert_true(each());
	assert_int_equal(n, 2);
	assert_int_equal(seen_inodes[0], 1 << 7 | 60);
	assert_int_equal(seen_inodes[1], 1 << 7 | 65);
	chunk(60, 2, ~UINT64_C(0x21));
	assert_true(each());
	assert_int_equal(n, 2);			/* no holes in this one */
	x.sparse = true;
	assert_true(each());
	assert_int_equal(n, 1);
	assert_int_equal(seen_inodes[0], 1 << 7 | 60);
	chunk(1, 0, 0);				/* the group's head lies there */
	assert_false(each());
	chunk((uint64_t)2 * BLOCKS, 0, 0);
	assert_false(each());
	p = chunk(60, 0, 0);
	memcpy(block(BLOCKS + LEAF) + 16 + 16, block(BLOCKS + LEAF) + 16, 16);
	put_msb(block(BLOCKS + LEAF) + 6, 2, 2);	/* the same once more */
	assert_false(each());
	assert_int_equal(n, 64);
	p[0] = 'Y';
	assert_false(each());
	image.lost = (uint64_t)(BLOCKS + 2) * BLOCK;
	assert_false(each());
}

/* Of directories all is noted, of others what leads to their data. */
CASE(notes_metadata)
{
	unsigned char *p = chunk(60, 0, ~UINT64_C(7)), *root;

	io.how = FS_META | FS_DEEP;
	memcpy(block(BLOCKS + 30), file_tree(), INODE);
	memcpy(block(BLOCKS + 30), "IN", 2);
	memcpy(block(BLOCKS + 30) + INODE, inode(IN_LIST, 1), INODE);
	memcpy(block(BLOCKS + 30) + INODE, "IN\x40", 3);
	extent(block(BLOCKS + 30) + INODE + 100, 0, 8, 2);
	put_msb(p + 328, 4, NODE);			/* the tree of chunks with room */
	put_msb(p + 332, 4, 2);
	root = group_block(NODE, 1, 2);
	memcpy(block(BLOCKS + NODE), "FIBT", 4);
	put_msb(root + (ptrdiff_t)62 * 4, 4, LEAF);
	put_msb(root + (ptrdiff_t)62 * 4 + 4, 4, OTHER);
	xfs_inodes(&x, 1);
	fs_settle(&io);
	assert_int_equal(map.meta.n, 4);
	assert_int_equal(map.meta.at[0].off, 8 * BLOCK);
	assert_int_equal(map.meta.at[0].len, 2 * BLOCK);
	assert_int_equal(map.meta.at[1].off, LEAF * BLOCK);	/* of the file */
	assert_int_equal(map.meta.at[1].len, 2 * BLOCK);
	assert_int_equal(map.meta.at[2].off, (BLOCKS + LEAF) * BLOCK);
	assert_int_equal(map.meta.at[2].len, 3 * BLOCK);
	assert_int_equal(map.meta.at[3].off, (BLOCKS + 30) * BLOCK);
	assert_int_equal(map.meta.at[3].len, 64 * INODE);
}

/* ------------------------------------------------------ the whole of it */

enum {				/* blocks of each group, or of the log */
	FREE_ROOT = 10, FIRST_FREE = 30, LOG = 50, LOG_BLOCKS = 4,
};

static void
make_super(void)
{
	unsigned char *s = disk;

	memcpy(s, "XFSB", 4);
	put_msb(s + 4, 4, BLOCK);
	put_msb(s + 8, 8, (uint64_t)GROUPS * BLOCKS);
	put_msb(s + 48, 8, LOG);
	put_msb(s + 84, 4, BLOCKS);
	put_msb(s + 88, 4, GROUPS);
	put_msb(s + 96, 4, LOG_BLOCKS);
	put_msb(s + 100, 2, 4);			/* version */
	put_msb(s + 102, 2, BLOCK);
	put_msb(s + 104, 2, INODE);
	s[120] = 9;
	s[123] = 1;
	s[124] = 6;
}

/* Its log has one record, of an unmount. */
static void
make_log(void)
{
	unsigned char *p = block(LOG);

	put_msb(p, 4, 0xfeedbabe);
	put_msb(p + 4, 4, 1);			/* cycle */
	put_msb(p + 12, 4, BLOCK);
	put_msb(p + 40, 4, 1);
	put_msb(block(LOG + 1), 4, 1);
	block(LOG + 1)[9] = 0x20;
}

/* A group has two runs of free blocks, four in all. */
static void
make_group(unsigned ag)
{
	unsigned char *f = block(ag * BLOCKS + 1), *p;

	memcpy(f, "XAGF", 4);
	put_msb(f + 4, 4, 1);
	put_msb(f + 8, 4, ag);
	put_msb(f + 12, 4, BLOCKS);
	put_msb(f + 16, 4, FREE_ROOT);
	put_msb(f + 28, 4, 1);
	put_msb(f + 52, 4, 4);
	p = block(ag * BLOCKS + FREE_ROOT);
	memcpy(p, "ABTB", 4);
	put_msb(p + 6, 2, 2);
	put_msb(p + 16, 4, FIRST_FREE);
	put_msb(p + 20, 4, 3);
	put_msb(p + 24, 4, FIRST_FREE + 5);
	put_msb(p + 28, 4, 1);
}

static bool
xfs_whole(void)
{
	struct xfs all = { .io = &io };
	bool is = fs_xfs.open(&all);

	if (is)
		fs_xfs.read(&all);
	fs_xfs.close(&all);
	return is;
}

/* What is read of it when this number is another. */
static bool
read_with(unsigned char *at, int bytes, uint64_t v, unsigned how)
{
	uint64_t old = image.lost;
	bool is;

	fs_map_free(&map);
	set_up(NULL);
	image.lost = old;
	io.how = how;
	make_super();
	make_log();
	make_group(0);
	make_group(1);
	put_msb(at, bytes, v);
	is = xfs_whole();
	fs_settle(&io);
	return is;
}

static bool
reads(unsigned char *at, int bytes, uint64_t v, enum fs_state state,
    const char *reason, unsigned free_blocks)
{
	if (!read_with(at, bytes, v, 0))
		return false;
	if (map.state == state && strstr(map.reason, reason) != NULL &&
	    map.free_bytes == (uint64_t)free_blocks * BLOCK)
		return true;
	print_message("%d %s: %u\n", (int)map.state, map.reason,
	    (unsigned)map.free_bytes / BLOCK);
	return false;
}

/* The last group is shorter, and behind it there is none. */
CASE(places_blocks)
{
	const struct xfs small = { .block = 4096, .blocks = 150, .ags = 2,
		.ag_blocks = 100, .ag_log = 7 };

	assert_int_equal(xfs_place_of(&small, 99), 99 * 4096);
	assert_true(xfs_place_of(&small, 100) == UINT64_MAX);
	assert_int_equal(xfs_place_of(&small, 1 << 7 | 49), 149 * 4096);
	assert_true(xfs_place_of(&small, 1 << 7 | 50) == UINT64_MAX);
	assert_true(xfs_place_of(&small, 2 << 7) == UINT64_MAX);
}

CASE(knows_a_superblock)
{
	static const struct { int at, bytes; uint64_t v; } wrong[] = {
		{ 0, 1, 'Y' }, { 100, 2, 3 }, { 100, 2, 6 }, { 4, 4, 513 },
		{ 4, 4, 256 }, { 4, 4, 131072 }, { 102, 2, 500 },
		{ 102, 2, 256 }, { 102, 2, 8192 }, { 102, 2, 1024 },
		{ 120, 1, 17 }, { 120, 1, 8 }, { 124, 1, 32 }, { 104, 2, 300 },
		{ 104, 2, 128 }, { 104, 2, 4096 }, { 104, 2, 1024 },
		{ 123, 1, 9 }, { 123, 1, 0 }, { 192, 1, 8 }, { 84, 4, 63 },
		{ 84, 4, 65 }, { 8, 8, UINT64_MAX }, { 88, 4, 0 },
		{ 88, 4, 3 }, { 8, 8, 0 },
	};

	assert_true(reads(disk, 1, 'X', FS_CLEAN, "", 8));
	assert_int_equal(map.free.n, 4);
	assert_int_equal(map.free.at[0].off, FIRST_FREE * BLOCK);
	EACH_OF(i, wrong)
		if (read_with(disk + wrong[i].at, wrong[i].bytes, wrong[i].v,
		    FS_ORDER))
			fail_msg("%llu at %d", (unsigned long long)wrong[i].v,
			    wrong[i].at);
	image.lost = 0;
	assert_false(read_with(disk, 1, 'X', 0));
}

CASE(doubts_it)
{
	assert_true(reads(disk + 126, 1, 1, FS_DAMAGED, "not finished", 0));
	assert_true(reads(disk + 100, 2, 5, FS_DAMAGED, "the checksum of its "
	    "superblock", 0));
	assert_true(reads(disk + 48, 8, 0, FS_UNKNOWN, "on another device", 0));
	assert_true(reads(disk + 48, 8, 200, FS_DAMAGED, "not found", 0));
	assert_true(reads(disk + 96, 4, 1, FS_DAMAGED, "not found", 0));
	assert_true(reads(block(LOG + 1) + 9, 1, 0, FS_DIRTY, "must be replayed",
	    0));
	assert_true(reads(block(LOG) + 12, 4, 0, FS_DIRTY, "", 0));
	assert_true(reads(block(LOG) + 40, 4, 2, FS_DIRTY, "", 0));
	assert_true(reads(block(LOG), 4, 0, FS_DIRTY, "", 0));
	image.lost = (uint64_t)LOG * BLOCK;
	assert_true(reads(disk, 1, 'X', FS_DAMAGED, "log cannot be read", 0));
	image.lost = (uint64_t)(LOG + 2) * BLOCK;	/* while its end is searched */
	assert_true(reads(disk, 1, 'X', FS_DAMAGED, "log cannot be read", 0));
}

static unsigned char large[1024 * BLOCK];

/* Its last record has 256 blocks: those before the end do not tell. */
CASE(looks_far_back_in_a_log)
{
	unsigned char *p = large + (size_t)100 * BLOCK;
	unsigned i;

	image_begin("xfs", large, sizeof(large));
	x.log = 100;
	x.log_blocks = 512;
	x.ag_log = 10;
	x.blocks = x.ag_blocks = 1024;
	x.ags = 1;
	put_msb(p, 4, 0xfeedbabe);
	put_msb(p + 4, 4, 1);
	put_msb(p + 12, 4, UINT64_C(255) * BLOCK);
	put_msb(p + 40, 4, 1);
	for (i = 1; i < 256; i++)
		put_msb(p + (size_t)i * BLOCK, 4, 1);
	p[BLOCK + 9] = 0x20;
	map.state = FS_CLEAN;
	xfs_judge_log(&x);
	assert_int_equal(map.state, FS_CLEAN);
	p[BLOCK + 9] = 0;
	xfs_judge_log(&x);
	assert_int_equal(map.state, FS_DIRTY);
}

/* One of four groups ends where its backup begins. */
CASE(finds_a_backup)
{
	make_super();
	put_msb(disk + 8, 8, 1024);
	put_msb(disk + 84, 4, 256);
	put_msb(disk + 88, 4, 4);
	disk[124] = 8;
	memset(large, 0, sizeof(large));
	memcpy(large + sizeof(large) / 4, disk, BLOCK);
	image_begin("xfs", large, sizeof(large));
	assert_false(xfs_whole());
	io.how = FS_ORDER;
	assert_true(xfs_whole());
}

CASE(needs_features)
{
	static const struct { int at; uint64_t v; const char *why; } need[] = {
		{ 216, 0x10, "needs xfs_repair" },
		{ 216, 0x100, "unknown features" },
		{ 212, 0x10, "unknown features" }, { 216, 0x02, "checksum" },
	};

	EACH_OF(i, need) {
		set_up(NULL);
		make_super();
		make_log();
		put_msb(disk + 100, 2, 5);
		put_msb(disk + need[i].at, 4, need[i].v);
		assert_true(xfs_whole());
		assert_non_null(strstr(map.reason, need[i].why));
		assert_int_not_equal(map.state, FS_CLEAN);
		fs_map_free(&map);
	}
	/* longer than what it lies in */
	set_up(NULL);
	make_super();
	put_msb(disk + 8, 8, (uint64_t)3 * BLOCKS);
	put_msb(disk + 88, 4, 3);
	assert_true(xfs_whole());
	assert_non_null(strstr(map.reason, "longer"));
}

/* Of a group that is not as it should be nothing is free. */
CASE(doubts_a_group)
{
	static const struct { int at, bytes; uint64_t v; } wrong[] = {
		{ 0, 1, 'Y' }, { 4, 4, 2 }, { 8, 4, 1 }, { 12, 4, 63 },
		{ 16, 4, 0 }, { 28, 4, 2 }, { 52, 4, 5 },
	}, runs[] = {
		{ 20, 4, 0 }, { 24, 4, FIRST_FREE + 2 }, { 24, 4, BLOCKS },
		{ 28, 4, BLOCKS }, { 16, 4, 0 },
	};
	static const char why[] = "1 of 2 allocation groups";

	EACH_OF(i, wrong)
		assert_true(reads(block(1) + wrong[i].at, wrong[i].bytes,
		    wrong[i].v, FS_DAMAGED, why, 4));
	EACH_OF(i, runs)
		assert_true(reads(block(FREE_ROOT) + runs[i].at,
		    runs[i].bytes, runs[i].v, FS_DAMAGED, why, 4));
	image.lost = (uint64_t)(BLOCKS + 1) * BLOCK;
	assert_true(reads(disk, 1, 'X', FS_DAMAGED, why, 4));
}

/* What it calls free may be a block of that tree, or another's. */
CASE(contradicts_itself)
{
	assert_true(read_with(block(FREE_ROOT) + 24, 4, FIRST_FREE + 4,
	    FS_META));
	assert_int_equal(map.state, FS_CLEAN);
	assert_true(read_with(block(FREE_ROOT) + 16, 8,
	    (uint64_t)FREE_ROOT << 32 | 3, FS_META));
	assert_int_equal(map.state, FS_DAMAGED);
	assert_non_null(strstr(map.reason, "its own structures free"));
	/* the tree by size, of two levels, whose root is free */
	assert_true(read_with(block(1) + 20, 4, FIRST_FREE, FS_META));
	assert_int_equal(map.state, FS_CLEAN);
	put_msb(block(1) + 32, 4, 2);
	io.budget = 1 << 20;
	assert_true(xfs_whole());
	assert_non_null(strstr(map.reason, "its own structures free"));
	/* the budget ends in the first group */
	assert_true(read_with(disk, 1, 'X', 0));
	fs_map_free(&map);
	map = (struct fs_map){ 0 };
	io = (struct fs_io){ .src = io.src, .map = &map, .budget = 2600 };
	assert_true(xfs_whole());
	assert_non_null(strstr(map.reason, "allocation groups cannot"));
	/* ... and nothing is told of the second */
	assert_true(read_with(disk, 1, 'X', FS_META));
	assert_true(fs_among(&map.meta, (uint64_t)BLOCKS * BLOCK, (uint64_t)2 *
	    BLOCKS * BLOCK) > 0);
	fs_map_free(&map);
	map = (struct fs_map){ 0 };
	io = (struct fs_io){ .src = io.src, .map = &map, .how = FS_META,
		.budget = 2600 };
	assert_true(xfs_whole());
	fs_settle(&io);
	assert_int_equal(fs_among(&map.meta, (uint64_t)BLOCKS * BLOCK,
	    (uint64_t)2 * BLOCKS * BLOCK), 0);
}
