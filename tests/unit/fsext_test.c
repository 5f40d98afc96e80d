/*
 * ext2, ext3, ext4: the superblock, groups, the journal, inodes and names, in a
 * mock image of 512 KiB: damaged structures are not believed, and nothing that
 * may be in use is called free.
 */
#include "test.h"
#include "../../src/fs/fsext.h"
#include "../../src/fs/fsread.h"
#include "fsimage.h"

#define BLOCK	((size_t)1024)
#define GROUP	((size_t)256)
#define INODE	((size_t)128)

enum {
	BLOCKS = 512, INODES = 32,
	DESCS = 2, SECOND = 257,	/* block; first block of the group */
	BITMAP = 3, TABLE = 5,		/* of both groups, from its first */
	TABLE_BLOCKS = INODES * INODE / BLOCK,
};

enum {				/* the superblock */
	S_BLOCKS = 4, S_FREE = 12, S_FIRST = 20, S_LOG = 24, S_CLUSTER = 28,
	S_PER_GROUP = 32, S_INODES = 40, S_MAGIC = 56, S_STATE = 58,
	S_REVISION = 76, S_INODE = 88, S_GROUP = 90, S_COMPAT = 92,
	S_INCOMPAT = 96, S_RO = 100, S_UUID = 104, S_LABEL = 120,
	S_JOURNAL = 224, S_DESC = 254, S_META_BG = 260, S_BLOCKS_HI = 336,
	S_CSUM = 1020,
	RO_SPARSE = 1, RO_GDT = 0x10, RO_BIG = 0x200, RO_CSUM = 0x400,
	IN_JOURNAL = 8, IN_64 = 0x80, IN_SEED = 0x2000, HAS_JOURNAL = 4,
};

enum {				/* inodes, and blocks of them */
	ROOT = 2, RESIZE = 7, JOURNAL = 8, PLAIN = 12, TREE = 13, DEEP = 14,
	LINK = 15, BRIEF = 16, DIR = 17, INNER = 18, WITHIN = 19, HELD = 20,
	B_ROOT = 20, B_DIR = 21, B_EMPTY = 22, B_PLAIN = 30, B_LIST = 32,
	B_LISTED = 33,
	B_BESIDE = 35, B_TREE = 40, B_NODE = 50, B_NODE_2 = 51, B_DEEP = 52,
	B_LINK = 60, B_INNER = 300, B_HELD = 310, B_JOURNAL = 80,
	B_DOUBLE = 36,
};

static unsigned char disk[BLOCKS * BLOCK];

static unsigned char *
block(unsigned i)
{
	return disk + (size_t)i * BLOCK;
}

static unsigned char *
super(void)
{
	return block(1);
}

static unsigned char *
desc(unsigned g)
{
	return block(DESCS) + (size_t)g * 32;
}

static unsigned char *
inode(unsigned number)
{
	return block(TABLE) + (size_t)(number - 1) * INODE;
}

static void
use(unsigned at, unsigned n)
{
	for (; n > 0; n--, at++)
		block(at < SECOND ? BITMAP : SECOND + 2)[(at - 1) % GROUP / 8]
		    |= (unsigned char)(1 << (at - 1) % GROUP % 8);
}

static unsigned char *
add_inode(unsigned number, unsigned mode, uint64_t size)
{
	unsigned char *p = inode(number);

	put(p, 2, mode);
	put(p + EXT_I_SIZE, 4, size);
	put(p + EXT_I_LINKS, 2, 1);
	return p;
}

/* An entry behind the others of a directory, up to the end of its block. */
static unsigned char *
add_entry(unsigned char *p, unsigned *at, unsigned number, const char *name)
{
	unsigned char *e = p + *at;
	size_t n = strlen(name);

	put(e, 4, number);
	put(e + 4, 2, BLOCK - *at);
	put(e + 6, 2, n);
	memcpy(e + 8, name, n);
	*at += (unsigned)(8 + n + 3) / 4 * 4;
	return e;
}

/* So that the next one follows it. */
static void
shorten(unsigned char *e)
{
	put(e + 4, 2, (8 + fs_le(e + 6, 1) + 3) / 4 * 4);
}

static void
add_dir(unsigned at, unsigned self, unsigned parent, const unsigned *number,
    const char *const *name, size_t n)
{
	unsigned off = 0;
	size_t i;

	shorten(add_entry(block(at), &off, self, "."));
	shorten(add_entry(block(at), &off, parent, ".."));
	for (i = 0; i < n; i++) {
		unsigned char *e = add_entry(block(at), &off, number[i],
		    name[i]);
		if (i + 1 < n)
			shorten(e);
	}
}

/* The head of a node of an extent tree; its first entry is behind. */
static unsigned char *
node(unsigned char *p, unsigned entries, unsigned depth)
{
	put(p, 2, 0xf30a);
	put(p + 2, 2, entries);
	put(p + 6, 2, depth);
	return p + 12;
}

static void
extent(unsigned char *p, unsigned at, unsigned n)
{
	put(p + 4, 2, n);
	put(p + 8, 4, at);
}

static void
make_files(void)
{
	static const unsigned in_root[] = { PLAIN, TREE, DEEP, LINK, BRIEF,
		DIR, WITHIN };
	static const char *const root_names[] = { "plain", "tree", "deep",
		"link", "brief", "dir", "within" };
	static const unsigned in_dir[] = { INNER };
	static const char *const dir_names[] = { "inner" };
	unsigned char *p = add_inode(ROOT, EXT_MODE_DIR, BLOCK);
	unsigned at = 0;

	put(p + EXT_I_BLOCK, 4, B_ROOT);
	put(p + EXT_I_BLOCK + 4, 4, B_EMPTY);
	put(p + EXT_I_BLOCK + 48, 4, B_EMPTY + 1);
	put(block(B_EMPTY + 1), 4, B_EMPTY + 2);
	add_dir(B_ROOT, ROOT, ROOT, in_root, root_names, COUNT(in_root));
	p = add_inode(PLAIN, EXT_MODE_FILE, 20 * BLOCK);
	put(p + EXT_I_BLOCK, 4, B_PLAIN);
	put(p + EXT_I_BLOCK + 4, 4, B_PLAIN + 1);
	put(p + EXT_I_BLOCK + 48, 4, B_LIST);
	put(block(B_LIST), 4, B_LISTED);
	put(p + EXT_I_BLOCK + 52, 4, B_DOUBLE);
	put(block(B_DOUBLE) + 8, 4, B_DOUBLE + 1);
	put(block(B_DOUBLE + 1), 4, B_DOUBLE + 2);
	put(p + EXT_I_ACL, 4, B_BESIDE);
	p = add_inode(TREE, EXT_MODE_FILE, 2 * BLOCK);
	put(p + EXT_I_FLAGS, 4, EXT_FLAG_EXTENTS);
	extent(node(p + EXT_I_BLOCK, 1, 0), B_TREE, 2);
	p = add_inode(DEEP, EXT_MODE_FILE, BLOCK);
	put(p + EXT_I_FLAGS, 4, EXT_FLAG_EXTENTS);
	put(node(p + EXT_I_BLOCK, 1, 2) + 4, 4, B_NODE);
	put(node(block(B_NODE), 1, 1) + 4, 4, B_NODE_2);
	extent(node(block(B_NODE_2), 1, 0), B_DEEP, 32768 + 3);
	p = add_inode(LINK, EXT_MODE_LINK, 60);
	put(p + EXT_I_BLOCK, 4, B_LINK);
	p = add_inode(BRIEF, EXT_MODE_LINK, 4);
	put(p + EXT_I_BLOCK, 4, B_LINK + 1);	/* its text: no block */
	p = add_inode(DIR, EXT_MODE_DIR, BLOCK);
	put(p + EXT_I_BLOCK, 4, B_DIR);
	add_dir(B_DIR, DIR, ROOT, in_dir, dir_names, 1);
	p = add_inode(INNER, EXT_MODE_FILE, BLOCK);
	put(p + EXT_I_BLOCK, 4, B_INNER);
	p = add_inode(WITHIN, EXT_MODE_DIR, 60);	/* entries in it */
	put(p + EXT_I_FLAGS, 4, EXT_FLAG_INLINE);
	put(p + EXT_I_BLOCK, 4, ROOT);
	put(add_entry(p + EXT_I_BLOCK + 4, &at, HELD, "held") + 4, 2, 56);
	p = add_inode(HELD, EXT_MODE_FILE, BLOCK);
	put(p + EXT_I_BLOCK, 4, B_HELD);
}

static const struct { unsigned at, n; } in_use[] = {
	{ 1, 8 }, { SECOND, 8 },
	{ B_ROOT, 5 }, { B_PLAIN, 4 }, { B_BESIDE, 4 }, { B_TREE, 2 },
	{ B_NODE, 5 }, { B_LINK, 1 }, { B_INNER, 1 }, { B_HELD, 1 },
	{ B_JOURNAL, 1 },
};

static unsigned
unset(unsigned at, unsigned n)
{
	unsigned sum = 0, i;

	for (i = 0; i < n; i++)
		sum += !(block(at)[i / 8] >> i % 8 & 1);
	return sum;
}

static void
make_groups(void)
{
	unsigned char *s = super(), *d;
	unsigned g, at, n;

	EACH_OF(i, in_use)
		use(in_use[i].at, in_use[i].n);
	for (g = n = 0; g < 2; g++) {
		d = desc(g);
		at = g * GROUP;
		put(d, 4, at + BITMAP);
		put(d + 4, 4, at + BITMAP + 1);
		put(d + 8, 4, at + TABLE);
		put(d + 12, 2, unset(at + BITMAP, g == 0 ? GROUP :
		    BLOCKS - SECOND));
		n += (unsigned)fs_le(d + 12, 2);
	}
	put(s + S_BLOCKS, 4, BLOCKS);
	put(s + S_FREE, 4, n);
	put(s + S_FIRST, 4, 1);
	put(s + S_PER_GROUP, 4, GROUP);
	put(s + S_INODES, 4, INODES);
	put(s + S_MAGIC, 2, 0xef53);
	put(s + S_STATE, 2, 1);
	put(s + S_REVISION, 4, 1);
	put(s + S_INODE, 2, INODE);
	put(s + S_RO, 4, RO_SPARSE);
	memcpy(s + S_LABEL, "made up", 7);
}

/* The backup of the superblock and of the descriptors. */
static void
seal(void)
{
	memcpy(block(SECOND), super(), 2 * BLOCK);
	put(block(SECOND) + S_GROUP, 2, 1);
}

static int
unsealed(void **state)
{
	memset(disk, 0, sizeof(disk));
	image_begin("ext2", disk, sizeof(disk));
	make_files();
	make_groups();
	return 0;
}

IMAGE_SEALED(seal)

/* One journal, as ext3 has it. */
static void
add_journal(void)
{
	put(super() + S_COMPAT, 4, HAS_JOURNAL);
	put(super() + S_JOURNAL, 4, JOURNAL);
	put(add_inode(JOURNAL, EXT_MODE_FILE, BLOCK) + EXT_I_BLOCK, 4,
	    B_JOURNAL);
	put(block(B_JOURNAL), 4, 0x98393bc0);
	seal();
}

#define AT(b)	((uint64_t)(b) * BLOCK), 1

/* -------------------------------------------------------- what is free */

/* Nothing that is in use may ever be free. */
static void
keeps_all(void)
{
	EACH_OF(i, in_use)
		if (!image_used((uint64_t)in_use[i].at * BLOCK,
		    (uint64_t)in_use[i].n * BLOCK))
			fail_msg("block %u is free", in_use[i].at);
}

/* How many blocks of each group are free then. */
static bool
leaves(unsigned first, unsigned second)
{
	const uint64_t border = (uint64_t)SECOND * BLOCK;

	keeps_all();
	return fs_among(&map.free, 0, border) == (uint64_t)first * BLOCK &&
	    fs_among(&map.free, border, sizeof(disk)) == (uint64_t)second *
	    BLOCK;
}

enum { FREE_1 = 226, FREE_2 = 245 };

static bool
is_noted(unsigned at)
{
	return fs_among(&map.meta, (uint64_t)at * BLOCK,
	    (uint64_t)(at + 1) * BLOCK) == BLOCK;
}

struct spoilt {
	unsigned char	*p;
	int		 bytes;
	uint64_t	 v;
	enum fs_state	 state;
	unsigned	 first, second;
};

IMAGE_TRIES(spoilt, seal, leaves(s->first, s->second))

CASE(reads_it)
{
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(FREE_1, FREE_2));
	assert_string_equal(map.type, "ext2");
	assert_string_equal(map.label, "made up");
	add_journal();
	assert_int_equal(image_read(FS_META), FS_CLEAN);
	assert_string_equal(map.type, "ext3");
	assert_true(leaves(FREE_1, FREE_2));
	put(super() + S_REVISION, 4, 0);	/* inodes have 128 bytes */
	put(super() + S_INODE, 2, 0);
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(FREE_1, FREE_2));
}

CASE(knows_a_superblock)
{
	unsigned char *s = super();
	const struct spoilt no[] = {
		{ s + S_MAGIC, 2, 0, FS_DAMAGED, 0, 0 },
		{ s + S_LOG, 4, 7, FS_DAMAGED, 0, 0 },
		{ s + S_FIRST, 4, 2, FS_DAMAGED, 0, 0 },
		{ s + S_BLOCKS, 4, 1, FS_DAMAGED, 0, 0 },
		{ s + S_PER_GROUP, 4, 248, FS_DAMAGED, 0, 0 },
		{ s + S_PER_GROUP, 4, 8200, FS_DAMAGED, 0, 0 },
		{ s + S_PER_GROUP, 4, 257, FS_DAMAGED, 0, 0 },
		{ s + S_INODES, 4, 0, FS_DAMAGED, 0, 0 },
		{ s + S_INODES, 4, 8193, FS_DAMAGED, 0, 0 },
		{ s + S_INODE, 2, 0, FS_DAMAGED, 0, 0 },
		{ s + S_INODE, 2, 192, FS_DAMAGED, 0, 0 },
		{ s + S_INODE, 2, 64, FS_DAMAGED, 0, 0 },
		{ s + S_INODE, 2, 2048, FS_DAMAGED, 0, 0 },
	};
	static const uint64_t sizes[] = { 0, 48, 16, 2048 };

	try(no, COUNT(no));
	assert_string_equal(map.type, "");
	put(super() + S_BLOCKS, 4, 1);			/* there are none */
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	set_up(NULL);
	put(super() + S_INCOMPAT, 4, IN_64);
	EACH_OF(i, sizes) {
		put(super() + S_DESC, 2, sizes[i]);
		assert_int_equal(image_read(0), FS_DAMAGED);
		assert_true(leaves(0, 0));
	}
	put(super() + S_DESC, 2, 32);
	assert_int_equal(image_read(0), FS_CLEAN);
	put(super() + S_BLOCKS_HI, 4, UINT32_MAX);	/* too many */
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	put(super() + S_BLOCKS_HI, 4, 1 << 16);		/* too many groups */
	src.length = INT64_MAX;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	set_up(NULL);
	src.length = BLOCK;				/* it lies in none */
	assert_int_equal(image_read(0), FS_DAMAGED);
	src.length = (uint64_t)2 * BLOCK;
	put(super() + S_LOG, 4, 1);
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	set_up(NULL);
	put(super() + S_RO, 4, RO_BIG);
	put(super() + S_CLUSTER, 4, 21);
	assert_int_equal(image_read(0), FS_DAMAGED);
	put(super() + S_CLUSTER, 4, 0);
	put(super() + S_LOG, 4, 1);
	assert_int_equal(image_read(0), FS_DAMAGED);
}

CASE(judges_it)
{
	unsigned char *s = super();
	const struct spoilt is[] = {
		{ s + S_INCOMPAT, 4, 0x40000, FS_UNKNOWN, 0, 0 },
		{ s + S_INCOMPAT, 4, IN_JOURNAL, FS_UNKNOWN, 0, 0 },
		{ s + S_INCOMPAT, 4, 4, FS_DIRTY, 0, 0 },
		{ s + S_RO, 4, 0x4000, FS_UNKNOWN, 0, 0 },
		{ s + S_RO, 4, RO_CSUM, FS_DAMAGED, 0, 0 },
		{ s + S_STATE, 2, 0, FS_DIRTY, 0, 0 },
		{ s + S_STATE, 2, 3, FS_DAMAGED, 0, 0 },
		{ s + S_BLOCKS, 4, BLOCKS + 1, FS_DAMAGED, 0, 0 },
		{ s + S_FREE, 4, 1, FS_DAMAGED, 0, 0 },
		{ s + S_COMPAT, 4, HAS_JOURNAL, FS_UNKNOWN, 0, 0 },
	};

	try(is, COUNT(is));
}

/* A group that contradicts itself counts as used. */
CASE(doubts_a_group)
{
	unsigned char *d = desc(1);
	const struct spoilt is[] = {
		{ d, 4, 0, FS_DAMAGED, FREE_1, 0 },
		{ d, 4, BLOCKS, FS_DAMAGED, FREE_1, 0 },
		{ d, 4, SECOND + 40, FS_DAMAGED, FREE_1, 0 },
		{ d + 4, 4, 0, FS_DAMAGED, FREE_1, 0 },
		{ d + 4, 4, BLOCKS, FS_DAMAGED, FREE_1, 0 },
		{ d + 8, 4, 0, FS_DAMAGED, FREE_1, 0 },
		{ d + 8, 4, BLOCKS + 1, FS_DAMAGED, FREE_1, 0 },
		{ d + 8, 4, BLOCKS - 3, FS_DAMAGED, FREE_1, 0 },
		{ d + 12, 2, FREE_2 - 1, FS_DAMAGED, FREE_1, 0 },
		{ block(SECOND + 2) + 10, 1, 1, FS_DAMAGED, FREE_1, 0 },
	};

	try(is, COUNT(is));
	image.lost = (SECOND + 2) * BLOCK;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(FREE_1, 0));
	image.lost = DESCS * BLOCK;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0, 0));
	/* a guess has the backup */
	assert_int_equal(image_read(FS_ORDER), FS_CLEAN);
	assert_true(leaves(FREE_1, FREE_2));
	image.lost = BLOCK;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0, 0));
}

/* The meaning of features that the made one does not have. */
CASE(knows_features)
{
	unsigned n;

	/* all groups in the first and the last have backups, then; */
	put(super() + S_RO, 4, 0);
	seal();
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(FREE_1, FREE_2));
	/* the seed of checksums is a number, which none of these has */
	put(super() + S_INCOMPAT, 4, IN_SEED);
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_string_equal(map.type, "ext4");
	/* some descriptors lie elsewhere, had it more */
	put(super() + S_INCOMPAT, 4, 0x10);
	put(super() + S_META_BG, 4, 5);
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(FREE_1, FREE_2));
	/* so many inodes of a group were never used; if it has that many */
	put(super() + S_RO, 4, RO_SPARSE | RO_GDT);
	for (n = INODES; n <= INODES + 1; n++) {
		put(desc(1) + 28, 2, n);
		assert_int_equal(image_read(FS_ORDER | FS_META), FS_CLEAN);
		assert_int_equal(is_noted(SECOND + TABLE), n > INODES);
	}
}

/* The third group has a backup of the superblock, or has none. */
CASE(knows_backups)
{
	unsigned sparse;

	for (sparse = 0; sparse <= RO_SPARSE; sparse++) {
		put(super() + S_BLOCKS, 4, 3 * GROUP + 1);
		put(super() + S_RO, 4, sparse);
		src.length = (3 * GROUP + 1) * BLOCK;
		assert_int_equal(image_read(FS_META), FS_DAMAGED);
		assert_true(leaves(FREE_1, 0));
		assert_int_equal(is_noted(2 * GROUP + 1), sparse == 0);
	}
}

/* Bitmaps that follow each other are read together, as many as fit. */
CASE(reads_large_blocks)
{
	enum { LARGE = 64 * BLOCK, GROUPS = 5, FREE = GROUP - 32 };
	unsigned char *s = super(), *d;
	unsigned g;

	memset(disk + LARGE, 0, sizeof(disk) - LARGE);
	put(s + S_LOG, 4, 6);
	put(s + S_FIRST, 4, 0);
	put(s + S_BLOCKS, 4, GROUPS * GROUP);
	put(s + S_FREE, 4, (uint64_t)GROUPS * FREE);
	src.length = (uint64_t)GROUPS * GROUP * LARGE;
	for (g = 0; g < GROUPS; g++) {
		d = disk + LARGE + (size_t)g * 32;
		put(d, 4, 2 + g);
		put(d + 4, 4, 10 + g);
		put(d + 8, 4, 20 + g);
		put(d + 12, 2, FREE);
		memset(disk + (size_t)(2 + g) * LARGE, 0xff, 4);
	}
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_int_equal(map.free.n, GROUPS);
	assert_int_equal(map.free_bytes, (uint64_t)GROUPS * FREE * LARGE);
	assert_true(map.reads < 6);
}

/* Of groups of 8192 blocks a guess finds the backup, too. */
CASE(takes_a_backup)
{
	static unsigned char second[8 * BLOCK];
	const unsigned at = 8193;
	unsigned i;

	put(super() + S_BLOCKS, 4, at + 16);
	put(super() + S_PER_GROUP, 4, 8192);
	src.length = (uint64_t)(at + 16) * BLOCK;
	for (i = 256; i < BLOCKS - 1; i++)	/* what the second group was */
		block(BITMAP)[i / 8] |= (unsigned char)(1 << i % 8);
	put(desc(0) + 12, 2, unset(BITMAP, 8192));
	for (i = 0; i < 3; i++)
		put(desc(1) + (size_t)i * 4, 4, at + 2 + i);
	put(desc(1) + 12, 2, 8);
	put(super() + S_FREE, 4, fs_le(desc(0) + 12, 2) + 8);
	memcpy(second, super(), (size_t)2 * BLOCK);
	put(second + S_GROUP, 2, 1);
	memset(second + 2 * BLOCK, 0xff, 1);
	image.far_at = (uint64_t)at * BLOCK;
	image.far_size = image.period = sizeof(second);
	image.far = second;
	assert_int_equal(image_read(0), FS_CLEAN);
	keeps_all();
	image.lost = BLOCK;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_int_equal(map.free.n, 0);
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_string_equal(map.reason, "its superblock is lost");
	assert_true(map.free_bytes > (uint64_t)7600 * BLOCK);
	keeps_all();
	assert_true(hits(AT(B_INNER), "/dir/inner", false));
	put(second + S_GROUP, 2, 3);		/* it is another's, or lies */
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_string_equal(map.type, "");
	put(second + S_GROUP, 2, 1);
	put(second + S_LOG, 4, 1);
	assert_int_equal(image_read(FS_ORDER), FS_DAMAGED);
	assert_string_equal(map.type, "");
	assert_false(hits(AT(B_INNER), "", false));
	assert_false(names.known);
}

/* -------------------------------------------------------------- journal */

CASE(judges_a_journal)
{
	unsigned char *p = inode(JOURNAL) + EXT_I_BLOCK, *i;
	const struct {
		unsigned char *p;
		int	 bytes;
		uint64_t v;
		enum fs_state state;
	} is[] = {
		{ block(B_JOURNAL) + 31, 1, 1, FS_DIRTY },
		{ block(B_JOURNAL), 1, 0, FS_DAMAGED },
		{ p, 4, 0, FS_DAMAGED },
		{ p, 4, BLOCKS, FS_DAMAGED },
		{ super() + S_JOURNAL, 4, 2 * INODES + 1, FS_DAMAGED },
		{ super() + S_JOURNAL, 4, 32 * INODES + 1, FS_DAMAGED },
		{ desc(0) + 8, 4, 0, FS_DAMAGED },
	};

	EACH_OF(k, is) {
		unsealed(NULL);
		add_journal();
		put(is[k].p, is[k].bytes, is[k].v);
		if (image_read(0) != is[k].state || map.free.n != 0)
			fail_msg("case %u: %s, %s", k,
			    fs_state_name(map.state), map.reason);
	}
	set_up(NULL);
	add_journal();
	image.lost = B_JOURNAL * BLOCK;
	assert_int_equal(image_read(0), FS_DAMAGED);
	image.lost = TABLE * BLOCK + (JOURNAL - 1) * INODE;
	assert_int_equal(image_read(0), FS_DAMAGED);
	image.lost = DESCS * BLOCK;
	assert_int_equal(image_read(0), FS_DAMAGED);
	image.lost = UINT64_MAX;
	/* by extents: in the inode, and two nodes away */
	i = inode(JOURNAL);
	put(i + EXT_I_FLAGS, 4, EXT_FLAG_EXTENTS);
	extent(node(i + EXT_I_BLOCK, 1, 0), B_JOURNAL, 1);
	assert_int_equal(image_read(0), FS_CLEAN);
	node(i + EXT_I_BLOCK, 1, EXT_DEPTH);
	assert_int_equal(image_read(0), FS_DAMAGED);
	put(node(i + EXT_I_BLOCK, 1, 2) + 4, 8, B_NODE);
	extent(node(block(B_NODE_2), 1, 0), B_JOURNAL, 1);
	assert_int_equal(image_read(0), FS_CLEAN);
	image.lost = B_NODE_2 * BLOCK;
	assert_int_equal(image_read(0), FS_DAMAGED);
	image.lost = UINT64_MAX;
	put(block(B_NODE_2), 2, 0);
	assert_int_equal(image_read(0), FS_DAMAGED);
	put(block(B_NODE), 2, 0);
	assert_int_equal(image_read(0), FS_DAMAGED);
	put(i + EXT_I_BLOCK + 16, 8, BLOCKS);
	assert_int_equal(image_read(0), FS_DAMAGED);
}

/* ------------------------------------------------------------- metadata */

/* What leads to files, and all of directories; not what files contain. */
CASE(notes_metadata)
{
	static const unsigned lead[] = { 1, DESCS, BITMAP, B_ROOT, B_DIR,
		B_LIST, B_BESIDE, B_DOUBLE, B_DOUBLE + 1, B_NODE, B_NODE_2,
		SECOND };
	static const unsigned contain[] = { B_PLAIN, B_LISTED, B_DOUBLE + 2,
		B_TREE, B_DEEP, B_LINK, B_INNER };

	image.lost = B_LIST * BLOCK;		/* it need not be read */
	image_read(FS_META | FS_DEEP);
	EACH_OF(i, lead)
		if (!is_noted(lead[i]))
			fail_msg("%u is left out", lead[i]);
	EACH_OF(i, contain)
		if (is_noted(contain[i]))
			fail_msg("%u is noted", contain[i]);
	put(desc(0), 4, 0);
	image_read(FS_META | FS_DEEP);
	assert_false(is_noted(B_ROOT));
	assert_true(is_noted(SECOND));
}

/* ---------------------------------------------------------------- names */

CASE(names_files)
{
	static const struct { unsigned at; const char *name; } is[] = {
		{ B_ROOT, "/" }, { B_DIR, "/dir" }, { B_PLAIN, "/plain" },
		{ B_PLAIN + 1, "/plain" }, { B_LIST, "/plain" },
		{ B_LISTED, "/plain" }, { B_BESIDE, "/plain" },
		{ B_DOUBLE, "/plain" }, { B_DOUBLE + 1, "/plain" },
		{ B_DOUBLE + 2, "/plain" }, { B_TREE + 1, "/tree" },
		{ B_TREE + 2, "" }, { B_NODE, "/deep" }, { B_NODE_2, "/deep" },
		{ B_DEEP + 2, "/deep" }, { B_DEEP + 3, "" },
		{ B_LINK, "/link" }, { B_LINK + 1, "" },
		{ B_INNER, "/dir/inner" }, { B_HELD, "/within/held" },
	};

	EACH_OF(i, is)
		if (!hits(AT(is[i].at), is[i].name, false))
			fail_msg("%u is %s", is[i].at, names.n == 0 ? "none's" :
			    names.name[0]);
	/* inodes that are lost: their names are in directories */
	assert_true(hits((uint64_t)(inode(INNER) - disk), 1, "/dir/inner",
	    false));
	assert_true(hits((uint64_t)(inode(HELD + 1) - disk), 1, "", false));
	assert_true(hits((uint64_t)(inode(DIR) - disk), 1, "/dir", false));
}

CASE(names_what_is_spoilt)
{
	unsigned char *dir = block(B_DIR), *deep = inode(DEEP) + EXT_I_BLOCK;
	unsigned char *tree = inode(TREE) + EXT_I_BLOCK;
	unsigned char *plain = inode(PLAIN) + EXT_I_BLOCK;
	const struct misnamed no[] = {
		{ inode(PLAIN) + EXT_I_ACL, 4, BLOCKS, AT(B_BESIDE), "",
		    false },
		{ plain, 4, BLOCKS, AT(B_PLAIN + 1), "/plain", false },
		{ plain + 48, 4, BLOCKS, AT(B_LISTED), "", true },
		{ block(B_LIST), 4, BLOCKS, AT(B_LISTED), "", true },
		{ inode(PLAIN) + EXT_I_FLAGS, 4, EXT_FLAG_INLINE, AT(B_PLAIN),
		    "", false },
		{ inode(PLAIN), 2, 0x2000, AT(B_PLAIN), "", false },
		{ inode(PLAIN) + EXT_I_LINKS, 2, 0, AT(B_PLAIN), "", false },
		{ tree, 2, 0, AT(B_TREE), "", true },
		{ tree + 2, 2, 5, AT(B_TREE), "", true },
		{ tree + 6, 2, EXT_DEPTH, AT(B_TREE), "", true },
		{ tree + 12 + 8, 4, BLOCKS - 1, AT(B_TREE), "", true },
		{ deep + 12 + 4, 4, BLOCKS, AT(B_DEEP), "", true },
		{ deep + 12 + 4, 4, 0, AT(B_DEEP), "", true },
		{ block(B_NODE) + 6, 2, 0, AT(B_DEEP), "", true },
		{ block(B_NODE_2) + 12 + 8, 4, BLOCKS, AT(B_DEEP), "", true },
		/* the file's entry is lost, or that of its directory */
		{ inode(DIR) + EXT_I_FLAGS, 4, EXT_FLAG_SECRET, AT(B_INNER),
		    "<18>", false },
		{ inode(DIR), 2, EXT_MODE_FILE, AT(B_INNER), "<18>", false },
		{ dir + 4, 2, 0, AT(B_INNER), "<18>", false },
		{ dir + 4, 2, 7, AT(B_INNER), "<18>", false },
		{ dir + 4, 2, UINT16_MAX, AT(B_INNER), "<18>", false },
		{ dir + 4, 2, BLOCK + 4, AT(B_INNER), "<18>", false },
		{ dir + 6, 1, 5, AT(B_INNER), "<18>", false },
		{ dir + 24, 4, 0, AT(B_INNER), "<18>", false },
		{ dir + 12, 4, 0, AT(B_INNER), "<17>/inner", false },
		{ dir + 12, 4, PLAIN, AT(B_INNER), "<17>/inner", false },
		{ dir + 12, 4, 99, AT(B_INNER), "<17>/inner", false },
		{ inode(WITHIN) + EXT_I_SIZE, 4, 61, AT(B_HELD),
		    "/within/held", true },
		{ desc(1), 4, 0, AT(B_INNER), "/dir/inner", true },
	};

	image_misnamed(unsealed, seal, no, COUNT(no));
}

/* A directory in itself has no end, but a path has. */
CASE(names_what_is_in_itself)
{
	unsigned char *dir = block(B_DIR);
	unsigned at = 24;

	memcpy(dir + 8, "ab", 2);		/* not "." */
	dir[6] = 2;
	put(block(B_ROOT) + 12, 4, DIR);	/* that of ".." */
	assert_true(hits(AT(B_INNER), "/dir/inner", false));
	put(dir, 4, 0);
	put(dir + 12, 4, DIR);
	shorten(add_entry(dir, &at, INNER, "inner"));
	add_entry(dir, &at, DIR, "loop");
	hits(AT(B_INNER), "", false);
	assert_int_equal(names.n, 1);
	assert_memory_equal(names.name[0], "<17>/loop/loop/", 15);
	assert_true(strlen(names.name[0]) <= 4096 + 4);
	assert_string_equal(names.name[0] + strlen(names.name[0]) - 11,
	    "/loop/inner");
}

CASE(names_until_time_is_up)
{
	set_up(NULL);
	image.lost = TABLE * BLOCK + (DIR - 1) * INODE;
	assert_true(hits(AT(B_INNER), "<18>", true));
	assert_true(image.reads > 0);
	image.err = ETIMEDOUT;
	image.failed = false;
	assert_true(hits(AT(B_INNER), "", true));
	assert_int_equal(image.reads, 0);
}

/* Without descriptors nothing is known. */
CASE(names_without_groups)
{
	image.lost = DESCS * BLOCK;
	image.lost_2 = (SECOND + 1) * BLOCK;
	assert_true(hits(AT(B_INNER), "", true));
	image.lost_2 = UINT64_MAX;
	assert_true(hits(AT(B_INNER), "/dir/inner", true));
	put(super() + S_COMPAT, 4, 0x200);	/* it has no backups */
	assert_true(hits(AT(B_INNER), "", true));
}

/* More inodes than anybody has are not looked at. */
CASE(names_only_so_many)
{
	put(super() + S_BLOCKS, 4, 1 << 24);
	put(super() + S_INODES, 4, 8192);
	src.length = UINT64_C(1) << 34;
	assert_true(hits(AT(B_INNER), "", true));
}

CASE(fails_anywhere)
{
	add_journal();
	image_fails(B_ROOT * BLOCK, sizeof(disk) - B_ROOT * BLOCK);
}

CASE(needs_memory)
{
	image_needs_memory(B_ROOT * BLOCK, sizeof(disk), FS_META | FS_DEEP);
}
