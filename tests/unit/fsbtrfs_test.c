/*
 * btrfs: its superblock, chunks, extents and names, in a mock image of 1.5 MiB:
 * damaged structures are not believed, and nothing that may be in use is called
 * free.
 */
#include "test.h"

#include <sys/param.h>
#include <xxhash.h>

#include "../../src/fs/fsbtrfs.h"
#include "../../src/fs/fsread.h"
#include "fsimage.h"

#define KIB	((size_t)1024)
#define MIB	(KIB * KIB)

enum {
	NODE = 4096, GENERATION = 9,
	SUPER_AT = 64 * KIB, SUPER_2 = 64 * MIB,
	END = MIB + 512 * KIB,		/* of the device */
	/* chunks: what they are called, where they lie */
	SYS = 16 * MIB, SYS_AT = MIB, SYS_LEN = 32 * KIB,
	META = 32 * MIB, META_AT = MIB + 64 * KIB, META_LEN = 64 * KIB,
	META_2 = MIB + 128 * KIB,	/* the second copy */
	DATA = 64 * MIB, DATA_AT = MIB + 256 * KIB, DATA_LEN = 128 * KIB,
	USED = SYS_LEN + 2 * META_LEN + DATA_LEN,
};

enum {				/* nodes */
	CHUNKS = SYS, CHUNKS_1 = SYS + NODE, CHUNKS_2 = SYS + 2 * NODE,
	ROOTS = META, ROOTS_1 = META + NODE, ROOTS_2 = META + 2 * NODE,
	EXTENTS = META + 3 * NODE, EXTENTS_1 = META + 4 * NODE,
	EXTENTS_2 = META + 5 * NODE,
	FILES = META + 6 * NODE, FILES_1 = META + 7 * NODE,
	FILES_2 = META + 8 * NODE, SUB = META + 9 * NODE,
	DEVICES = META + 10 * NODE, NODES_END = META + 11 * NODE,
};

enum {				/* types of items, and of chunks */
	REF = 12, EXTENT_DATA = 108, ROOT = 132, BACK = 144, EXTENT = 168,
	TREE_NODE = 169, GROUP = 192, DEVICE_EXTENT = 204, DEVICE = 216,
	CHUNK = 228,
	C_TYPE = 24, C_STRIPES = 44, C_SUB = 46, STRIPES = 48, STRIPE = 32,
	IS_DATA = 1, IS_SYSTEM = 2, IS_META = 4, IS_DUP = 0x20,
};

static unsigned char disk[END], second[SUPER];

/* ------------------------------------------------------------ its image */

/* Where a node lies; its first copy. */
static unsigned char *
node(uint64_t logical)
{
	return disk + (logical < META ? SYS_AT + logical - SYS :
	    META_AT + logical - META);
}

static void
check_sum(unsigned char *p)
{
	memset(p, 0, 32);
	if (disk[SUPER_AT + S_CSUM_TYPE] == XXHASH)
		put(p, 8, XXH64(p + S_CSUM, SUPER - S_CSUM, 0));
	else
		put(p, 4, ~fs_crc32c(~UINT32_C(0), p + S_CSUM,
		    SUPER - S_CSUM));
}

/* A node gets its checksum, and is copied where there are two. */
static void
seal(uint64_t logical)
{
	check_sum(node(logical));
	if (logical >= META)
		memcpy(disk + META_2 + (logical - META), node(logical), NODE);
}

static void
begin(uint64_t logical, unsigned level)
{
	unsigned char *p = node(logical);

	memset(p, 0, NODE);
	put(p + N_PLACE, 8, logical);
	put(p + N_GENERATION, 8, GENERATION);
	p[N_LEVEL] = (unsigned char)level;
}

static void
key(unsigned char *p, uint64_t id, unsigned type, uint64_t offset)
{
	put(p, 8, id);
	p[K_TYPE] = (unsigned char)type;
	put(p + K_OFFSET, 8, offset);
}

/* The head of item i of a leaf, and its value. */
static unsigned char *
head(uint64_t leaf, unsigned i)
{
	return node(leaf) + N_HEAD + (size_t)i * ITEM;
}

static unsigned char *
value(uint64_t leaf, unsigned i)
{
	return node(leaf) + N_HEAD + fs_le(head(leaf, i) + I_OFFSET, 4);
}

/* Add an item of so many bytes to a leaf; returns them. */
static unsigned char *
add(uint64_t leaf, uint64_t id, unsigned type, uint64_t offset, size_t size)
{
	unsigned char *p = node(leaf);
	unsigned n = (unsigned)fs_le(p + N_ITEMS, 4);
	uint64_t at = n == 0 ? NODE - N_HEAD :
	    fs_le(head(leaf, n - 1) + I_OFFSET, 4);

	key(head(leaf, n), id, type, offset);
	put(head(leaf, n) + I_OFFSET, 4, at - size);
	put(head(leaf, n) + I_SIZE, 4, size);
	put(p + N_ITEMS, 4, n + 1);
	return p + N_HEAD + at - size;
}

static unsigned char *
link_of(uint64_t inner, unsigned i)
{
	return node(inner) + N_HEAD + (size_t)i * LINK;
}

static void
add_link(uint64_t inner, uint64_t id, unsigned type, uint64_t to)
{
	unsigned n = (unsigned)fs_le(node(inner) + N_ITEMS, 4);

	key(link_of(inner, n), id, type, 0);
	put(link_of(inner, n) + L_PLACE, 8, to);
	put(link_of(inner, n) + L_GENERATION, 8, GENERATION);
	put(node(inner) + N_ITEMS, 4, n + 1);
}

/* A chunk with one stripe, or with two. */
static size_t
put_chunk(unsigned char *p, uint64_t len, uint64_t type, uint64_t at,
    uint64_t other)
{
	unsigned n = other == 0 ? 1 : 2;

	put(p, 8, len);
	put(p + C_TYPE, 8, type);
	put(p + C_STRIPES, 2, n);
	put(p + STRIPES, 8, 1);
	put(p + STRIPES + 8, 8, at);
	put(p + STRIPES + STRIPE, n == 1 ? 0 : 8, 1);
	put(p + STRIPES + STRIPE + 8, n == 1 ? 0 : 8, other);
	return STRIPES + (size_t)n * STRIPE;
}

static void
add_chunk(uint64_t leaf, uint64_t logical, uint64_t len, uint64_t type,
    uint64_t at, uint64_t other)
{
	put_chunk(add(leaf, 256, CHUNK, logical, STRIPES + (other == 0 ? 1 :
	    2) * (size_t)STRIPE), len, type, at, other);
}

static void
make_chunks(void)
{
	begin(CHUNKS, 1);
	add_link(CHUNKS, 1, DEVICE, CHUNKS_1);
	add_link(CHUNKS, 256, CHUNK, CHUNKS_2);
	begin(CHUNKS_1, 0);
	add(CHUNKS_1, 1, DEVICE, 1, 98);
	add_chunk(CHUNKS_1, SYS, SYS_LEN, IS_SYSTEM, SYS_AT, 0);
	add_chunk(CHUNKS_1, META, META_LEN, IS_META | IS_DUP, META_AT,
	    META_2);
	begin(CHUNKS_2, 0);
	add_chunk(CHUNKS_2, DATA, DATA_LEN, IS_DATA, DATA_AT, 0);
}

static void
add_root(uint64_t leaf, uint64_t id, uint64_t at, unsigned level)
{
	unsigned char *p = add(leaf, id, ROOT, 0, 239);

	put(p + 160, 8, GENERATION);
	put(p + 176, 8, at);
	put(p + 216, 4, 1);
	p[238] = (unsigned char)level;
}

static void
add_name(unsigned char *p, size_t at, const char *name)
{
	put(p + at, 2, strlen(name));
	memcpy(p + at + 2, name, strlen(name));
}

/* The stripes of a leaf of chunks once more: where they lie on the device. */
static void
add_devices(uint64_t leaf)
{
	unsigned i, k, n, parts;
	unsigned char *c, *p;
	uint64_t type;

	for (i = 0; i < fs_le(node(leaf) + N_ITEMS, 4); i++) {
		c = value(leaf, i);
		n = (unsigned)fs_le(c + C_STRIPES, 2);
		type = fs_le(c + C_TYPE, 8);
		parts = (type & 0x8) != 0 ? n : (type & 0x40) != 0 ? n /
		    (unsigned)MAX(fs_le(c + C_SUB, 2), 1) : (type & 0x80) != 0 ?
		    n - 1 : (type & 0x100) != 0 ? n - 2 : 1;
		for (k = 0; head(leaf, i)[K_TYPE] == CHUNK && k < MIN(n, 16) &&
		    parts > 0; k++) {
			p = add(DEVICES, 1, DEVICE_EXTENT, fs_le(c + STRIPES +
			    (size_t)k * STRIPE + 8, 8), 48);
			put(p + 16, 8, fs_le(head(leaf, i) + K_OFFSET, 8));
			put(p + 24, 8, fs_le(c, 8) / parts);
		}
	}
}

/* The tree of roots: of extents, of files, of a subvolume in "dir". */
static void
make_roots(void)
{
	unsigned char *p;

	begin(ROOTS, 1);
	add_link(ROOTS, 1, ROOT, ROOTS_1);
	add_link(ROOTS, 256, ROOT, ROOTS_2);
	begin(ROOTS_1, 0);
	add(ROOTS_1, 1, ROOT, 0, 239);
	add_root(ROOTS_1, 2, EXTENTS, 1);
	add_root(ROOTS_1, 5, FILES, 1);
	add_root(ROOTS_1, 4, DEVICES, 0);
	begin(ROOTS_2, 0);
	add_root(ROOTS_2, 256, SUB, 0);
	p = add(ROOTS_2, 256, BACK, 5, 18 + 3);
	put(p, 8, 257);
	add_name(p, 16, "sub");
}

/* All nodes, and extents of data: 8 KiB, 4 KiB, and 12 KiB behind 36. */
static void
make_extents(void)
{
	uint64_t at;

	begin(EXTENTS, 1);
	add_link(EXTENTS, SYS, EXTENT, EXTENTS_1);
	add_link(EXTENTS, DATA, EXTENT, EXTENTS_2);
	begin(EXTENTS_1, 0);
	for (at = SYS; at < SYS + 3 * NODE; at += NODE)
		add(EXTENTS_1, at, TREE_NODE, 0, 33);
	put(add(EXTENTS_1, META, EXTENT, NODE, 51) + 16, 8, 2);
	add(EXTENTS_1, META, GROUP, META_LEN, 24);
	for (at = META + NODE; at < NODES_END; at += NODE)
		add(EXTENTS_1, at, TREE_NODE, 0, 33);
	begin(EXTENTS_2, 0);
	put(add(EXTENTS_2, DATA, EXTENT, 8 * KIB, 53) + 16, 8, 1);
	put(add(EXTENTS_2, DATA + 8 * KIB, EXTENT, 4 * KIB, 53) + 16, 8, 1);
	put(add(EXTENTS_2, DATA + 48 * KIB, EXTENT, 12 * KIB, 53) + 16, 8, 1);
}

enum { TREES_USE = 14 * NODE, DATA_USE = 24 * KIB };

static unsigned char *
add_file(uint64_t leaf, uint64_t inode, uint64_t directory, const char *name)
{
	unsigned char *p = add(leaf, inode, REF, directory, 10 + strlen(name));

	add_name(p, 8, name);
	return p;
}

/* Part of a file: "from" bytes into an extent of "size", "len" of them. */
static unsigned char *
add_part(uint64_t leaf, uint64_t inode, uint64_t at, uint64_t size,
    uint64_t from, uint64_t len)
{
	unsigned char *p = add(leaf, inode, EXTENT_DATA, 0, 53);

	p[20] = 1;
	put(p + 21, 8, at);
	put(p + 29, 8, size);
	put(p + 37, 8, from);
	put(p + 45, 8, len);
	return p;
}

static void
make_files(void)
{
	begin(FILES, 1);
	add_link(FILES, 256, 1, FILES_1);
	add_link(FILES, 259, 1, FILES_2);
	begin(FILES_1, 0);
	add_file(FILES_1, 256, 256, "..");
	add_file(FILES_1, 257, 256, "dir");
	add_file(FILES_1, 258, 257, "first");
	add_part(FILES_1, 258, DATA, 8 * KIB, 4 * KIB, 4 * KIB);
	begin(FILES_2, 0);
	add_file(FILES_2, 259, 256, "packed");
	add_part(FILES_2, 259, DATA + 8 * KIB, 4 * KIB, 0, 64 * KIB)[16] = 1;
	add_file(FILES_2, 260, 256, "small");
	add(FILES_2, 260, EXTENT_DATA, 0, 21 + 9)[20] = 0;
	add_file(FILES_2, 261, 256, "hole");
	add_part(FILES_2, 261, 0, 0, 0, 64 * KIB);
	begin(SUB, 0);
	add_file(SUB, 256, 256, "..");
	add_file(SUB, 257, 256, "inner");
	add_part(SUB, 257, DATA + 48 * KIB, 12 * KIB, 0, 12 * KIB);
}

static unsigned char *
super(void)
{
	return disk + SUPER_AT;
}

static void
make_super(void)
{
	unsigned char *s = super(), *p = s + S_CHUNKS;

	memset(s, 0, SUPER);
	put(s + S_PLACE, 8, SUPER_AT);
	memcpy(s + S_MAGIC, "_BHRfS_M", 8);
	put(s + S_GENERATION, 8, GENERATION);
	put(s + S_ROOT, 8, ROOTS);
	put(s + S_CHUNK_ROOT, 8, CHUNKS);
	put(s + S_USED, 8, TREES_USE + DATA_USE);
	put(s + S_DEVICES, 8, 1);
	put(s + S_SECTOR, 4, 4096);
	put(s + S_NODE, 4, NODE);
	put(s + S_CHUNK_GENERATION, 8, GENERATION);
	s[S_ROOT_LEVEL] = s[S_CHUNK_LEVEL] = 1;
	put(s + S_DEVICE, 8, 1);
	put(s + S_DEVICE_TOTAL, 8, END);
	put(s + S_DEVICE_USED, 8, USED);
	memcpy(s + S_LABEL, "made up", 7);
	key(p, 256, CHUNK, SYS);
	put(s + S_CHUNKS_SIZE, 4, KEY + put_chunk(p + KEY, SYS_LEN, IS_SYSTEM,
	    SYS_AT, 0));
}

static void
seal_all(void)
{
	uint64_t at;

	begin(DEVICES, 0);
	add_devices(CHUNKS_1);
	add_devices(CHUNKS_2);
	for (at = SYS; at < SYS + 3 * NODE; at += NODE)
		seal(at);
	for (at = META; at < NODES_END; at += NODE)
		seal(at);
	check_sum(super());
}

static void
made(void)
{
	memset(disk + SYS_AT, 0, META_2 + META_LEN - SYS_AT);
	memset(second, 0, sizeof(second));
	image_begin("btrfs", disk, END);
	image.far_at = SUPER_2;
	image.far_size = image.period = SUPER;
	image.far = second;
	make_super();
	make_chunks();
	make_roots();
	make_extents();
	make_files();
}

static int
unsealed(void **state)
{
	made();
	return 0;
}

IMAGE_SEALED(seal_all)

/* -------------------------------------------------------- what is free */

enum got { FINE, COARSE, NOTHING };	/* within chunks; between them */

static const struct fs_extent fine[] = {
	{ SYS_AT + 3 * NODE, META_AT - SYS_AT - 3 * NODE },
	{ META_AT + 11 * NODE, META_LEN - 11 * NODE },
	{ META_2 + 11 * NODE, DATA_AT - META_2 - 11 * NODE },
	{ DATA_AT + 12 * KIB, 36 * KIB },
	{ DATA_AT + 60 * KIB, END - DATA_AT - 60 * KIB },
};

static const struct fs_extent coarse[] = {
	{ SYS_AT + SYS_LEN, META_AT - SYS_AT - SYS_LEN },
	{ META_2 + META_LEN, DATA_AT - META_2 - META_LEN },
	{ DATA_AT + DATA_LEN, END - DATA_AT - DATA_LEN },
};

static bool
has(enum got got)
{
	return got == FINE ? image_free(fine, COUNT(fine)) : got == COARSE ?
	    image_free(coarse, COUNT(coarse)) : image_free(NULL, 0);
}

/* Whether a reader that is told "how" to read it says this. */
static bool
says(unsigned how, enum fs_state state, enum got got)
{
	return image_read(how) == state && has(got);
}

struct spoilt {			/* bytes of the image, and what it is then */
	unsigned char	*p;
	int		 bytes;
	uint64_t	 v;
	enum fs_state	 state;
	enum got	 got;
};

/* See what each does by itself, with new checksums. */
IMAGE_TRIES(spoilt, seal_all, has(s->got))

#define TRY(s) try(s, COUNT(s))

CASE(reads_it)
{
	assert_true(says(0, FS_CLEAN, FINE));
	assert_string_equal(map.type, "btrfs");
	assert_string_equal(map.label, "made up");
	assert_true(says(FS_ORDER, FS_CLEAN, FINE));
	made();
	put(super() + S_CSUM_TYPE, 2, XXHASH);
	seal_all();
	assert_true(says(0, FS_CLEAN, FINE));
	image.lost = META_AT;			/* there is another copy */
	assert_true(says(0, FS_CLEAN, FINE));
	image.lost_2 = META_2;
	assert_true(says(0, FS_DAMAGED, NOTHING));
	image.lost = SYS_AT;
	assert_true(says(0, FS_DAMAGED, NOTHING));
}

CASE(knows_a_superblock)
{
	unsigned char *s = super();
	const struct spoilt no[] = {
		{ s + S_MAGIC, 1, 'X', FS_DAMAGED, NOTHING },
		{ s + S_PLACE, 8, 4096, FS_DAMAGED, NOTHING },
		{ s + S_NODE, 4, 0, FS_DAMAGED, NOTHING },
		{ s + S_NODE, 4, 2048, FS_DAMAGED, NOTHING },
		{ s + S_NODE, 4, 6000, FS_DAMAGED, NOTHING },
		{ s + S_NODE, 4, 131072, FS_DAMAGED, NOTHING },
		{ s + S_DEVICE_TOTAL, 8, MIB, FS_DAMAGED, NOTHING },
		{ s + S_DEVICE_TOTAL, 8, UINT64_C(1) << 63, FS_DAMAGED,
		    NOTHING },
		{ s + S_CHUNK_LEVEL, 1, LEVELS, FS_DAMAGED, NOTHING },
		{ s + S_CHUNKS_SIZE, 4, CHUNKS_MOST + 1, FS_DAMAGED,
		    NOTHING },
	};

	TRY(no);
	assert_string_equal(map.type, "");
	made();
	put(s + S_NODE, 4, 65536);		/* the largest there is */
	seal_all();
	image_read(FS_ORDER);
	assert_string_equal(map.type, "btrfs");
	set_up(NULL);
	image.lost = SUPER_AT;
	assert_true(says(0, FS_DAMAGED, NOTHING));
	assert_string_equal(map.type, "");
}

CASE(judges_it)
{
	unsigned char *s = super();
	const struct spoilt is[] = {
		{ s + S_CSUM_TYPE, 2, 2, FS_UNKNOWN, NOTHING },
		{ s + S_INCOMPAT, 8, 1 << 12, FS_UNKNOWN, NOTHING },
		{ s + S_INCOMPAT, 8, 1 << 17, FS_UNKNOWN, NOTHING },
		{ s + S_INCOMPAT, 8, 0x10fff, FS_CLEAN, FINE },
		{ s + S_COMPAT_RO, 8, 0x10, FS_UNKNOWN, NOTHING },
		{ s + S_COMPAT_RO, 8, 0xf, FS_CLEAN, FINE },
		{ s + S_FLAGS, 8, 4, FS_UNKNOWN, NOTHING },
		{ s + S_FLAGS, 8, 3, FS_CLEAN, FINE },
		{ s + S_DEVICE_TOTAL, 8, END + 1, FS_DAMAGED, NOTHING },
		{ s + S_LOG_ROOT, 8, 1, FS_DIRTY, NOTHING },
	};

	TRY(is);
	super()[S_LABEL]++;			/* its checksum is wrong */
	assert_true(says(0, FS_DAMAGED, NOTHING));
	assert_true(says(FS_ORDER, FS_DAMAGED, FINE));
}

/* For a guess only: where its copy counts. */
CASE(takes_a_copy)
{
	src.length = SUPER_2 + SUPER;
	memcpy(second, super(), SUPER);
	put(second + S_PLACE, 8, SUPER_2);
	check_sum(second);
	image.lost = SUPER_AT;
	assert_true(says(0, FS_DAMAGED, NOTHING));
	assert_true(says(FS_ORDER, FS_DAMAGED, FINE));
	assert_string_equal(map.reason, "its superblock is lost");
}

/* --------------------------------------------------------------- chunks */

CASE(doubts_chunks)
{
	unsigned char *s = super(), *sys = value(CHUNKS_1, 1);
	unsigned char *data = value(CHUNKS_2, 0);
	const struct spoilt no[] = {
		{ s + S_CHUNKS + K_TYPE, 1, GROUP, FS_DAMAGED, NOTHING },
		{ s + S_CHUNKS_SIZE, 4, KEY + STRIPES, FS_DAMAGED, NOTHING },
		{ s + S_CHUNKS_SIZE, 4, KEY, FS_DAMAGED, NOTHING },
		{ s + S_CHUNK_GENERATION, 8, GENERATION - 1, FS_DAMAGED,
		    NOTHING },
		{ s + S_CHUNK_LEVEL, 1, 2, FS_DAMAGED, NOTHING },
		{ s + S_DEVICE_USED, 8, USED + 1, FS_DAMAGED, NOTHING },
		{ node(CHUNKS) + N_PLACE, 8, CHUNKS_1, FS_DAMAGED, NOTHING },
		{ node(CHUNKS) + N_ITEMS, 4, 0, FS_DAMAGED, NOTHING },
		{ node(CHUNKS) + N_ITEMS, 4, 122, FS_DAMAGED, NOTHING },
		{ link_of(CHUNKS, 1) + L_PLACE, 8, DATA, FS_DAMAGED,
		    NOTHING },
		{ link_of(CHUNKS, 1) + L_PLACE, 8, SYS + SYS_LEN - 1,
		    FS_DAMAGED, NOTHING },
		{ link_of(CHUNKS, 1) + L_PLACE, 8, SYS - NODE, FS_DAMAGED,
		    NOTHING },
		{ node(CHUNKS_2) + N_ITEMS, 4, 160, FS_DAMAGED, NOTHING },
		{ head(CHUNKS_1, 1) + I_OFFSET, 4, NODE, FS_DAMAGED,
		    NOTHING },
		{ head(CHUNKS_1, 1) + I_SIZE, 4, NODE, FS_DAMAGED, NOTHING },
		{ head(CHUNKS_1, 1) + I_SIZE, 4, STRIPES - 1, FS_DAMAGED,
		    NOTHING },
		{ head(CHUNKS_1, 1), 8, 255, FS_DAMAGED, NOTHING },
		{ sys, 8, 0, FS_DAMAGED, NOTHING },
		{ sys + C_STRIPES, 2, 0, FS_DAMAGED, NOTHING },
		{ sys + C_STRIPES, 2, 2, FS_DAMAGED, NOTHING },
		{ sys + C_TYPE, 8, 1 << 11, FS_DAMAGED, NOTHING },
		{ sys + C_TYPE, 8, 0x40, FS_DAMAGED, NOTHING },
		{ sys + C_TYPE, 8, 0x80, FS_DAMAGED, NOTHING },
		{ sys + C_TYPE, 8, 0x100, FS_DAMAGED, NOTHING },
		{ data + STRIPES + 8, 8, END + 1, FS_DAMAGED, NOTHING },
		{ data + STRIPES + 8, 8, END - DATA_LEN + 1, FS_DAMAGED,
		    NOTHING },
		{ data + STRIPES + 8, 8, META_2, FS_DAMAGED, NOTHING },
	};

	TRY(no);
	node(CHUNKS_2)[200]++;			/* its checksum is wrong */
	assert_true(says(0, FS_DAMAGED, NOTHING));
	assert_true(says(FS_ORDER, FS_CLEAN, FINE));
}

/* What lies on another device leaves room on this one. */
CASE(knows_its_device)
{
	static const struct fs_extent want[] = {
		{ SYS_AT + SYS_LEN, META_AT - SYS_AT - SYS_LEN },
		{ META_2 + META_LEN, END - META_2 - META_LEN },
	};

	made();
	put(super() + S_DEVICES, 8, 2);
	put(super() + S_DEVICE_USED, 8, USED - DATA_LEN);
	put(value(CHUNKS_2, 0) + STRIPES, 8, 2);
	seal_all();
	says(0, FS_CLEAN, COARSE);
	assert_int_equal(map.state, FS_CLEAN);
	assert_true(image_free(want, 2));
}

/* How its bytes are spread; only of copies it is known where each is. */
CASE(knows_profiles)
{
	static const struct {
		unsigned type, sub, parts;
		bool	 direct;
	} profiles[] = {
		{ 0x8, 0, 2, false }, { 0x40, 2, 1, false },
		{ 0x80, 0, 1, false }, { 0x10, 0, 1, true },
		{ IS_DUP, 0, 1, true },
	};
	struct fs_extent want[7];
	unsigned char *p;
	size_t k, n;

	EACH_OF(i, profiles) {
		made();
		begin(CHUNKS_2, 0);
		add_chunk(CHUNKS_2, DATA, (uint64_t)profiles[i].parts *
		    DATA_LEN, IS_DATA | profiles[i].type, DATA_AT,
		    DATA_AT + DATA_LEN);
		p = value(CHUNKS_2, 0);
		put(p + C_SUB, 2, profiles[i].sub);
		put(super() + S_DEVICE_USED, 8, USED + DATA_LEN);
		seal_all();
		memcpy(want, fine, 3 * sizeof(*want));
		n = 3;
		for (k = 0; k < 2 && profiles[i].direct; k++) {
			want[n++] = (struct fs_extent){ DATA_AT +
				(uint64_t)k * DATA_LEN + 12 * KIB, 36 * KIB };
			want[n++] = (struct fs_extent){ DATA_AT +
				(uint64_t)k * DATA_LEN + 60 * KIB, 68 * KIB };
		}
		says(0, FS_CLEAN, FINE);
		assert_int_equal(map.state, FS_CLEAN);
		if (!image_free(want, n))
			fail_msg("profile %zu: %zu", i, map.free.n);
	}
}

/* A chunk in the first MiB, and one whose stripes do not come out even. */
CASE(places_chunks)
{
	struct fs_extent want[] = { { MIB, META_AT - MIB }, coarse[1],
		coarse[2] };
	unsigned char *sys = value(CHUNKS_1, 1);

	made();
	put(super() + S_CHUNKS + KEY + STRIPES + 8, 8, MIB / 2);
	put(sys + STRIPES + 8, 8, MIB / 2);
	put(super() + S_USED, 8, 0);
	seal_all();
	memcpy(disk + MIB / 2, disk + SYS_AT, SYS_LEN);
	says(0, FS_CLEAN, COARSE);
	assert_int_equal(map.state, FS_CLEAN);
	assert_true(image_free(want, 3));
	made();
	put(sys + C_TYPE, 8, 0x40);
	put(sys + C_SUB, 2, 2);
	seal_all();
	assert_true(says(0, FS_DAMAGED, NOTHING));
}

/* More than anybody has are not kept. */
CASE(limits_chunks)
{
	unsigned char *p;
	unsigned i;

	made();
	src.length = UINT64_C(1) << 30;
	put(super() + S_CHUNK_ROOT, 8, SYS + 3 * NODE);
	super()[S_CHUNK_LEVEL] = 2;
	begin(SYS + 3 * NODE, 2);
	begin(CHUNKS, 1);
	for (i = 0; i < 120; i++) {		/* the same, over and over */
		add_link(SYS + 3 * NODE, i, CHUNK, CHUNKS);
		add_link(CHUNKS, i, CHUNK, CHUNKS_2);
	}
	begin(CHUNKS_2, 0);
	p = add(CHUNKS_2, 256, CHUNK, DATA, STRIPES + 118 * STRIPE);
	put_chunk(p, NODE, IS_DATA, DATA_AT, 0);
	put(p + C_STRIPES, 2, 118);
	for (i = 0; i < 118; i++) {
		put(p + STRIPES + (size_t)i * STRIPE, 8, 1);
		put(p + STRIPES + (size_t)i * STRIPE + 8, 8, DATA_AT);
	}
	seal_all();
	seal(SYS + 3 * NODE);
	assert_true(says(0, FS_DAMAGED, NOTHING));
	assert_int_not_equal(map.reads, 0);
	assert_true(map.reads < 5000);
}

/* -------------------------------------------------------------- extents */

CASE(doubts_extents)
{
	unsigned char *s = super(), *root = value(ROOTS_1, 1);
	const struct spoilt no[] = {
		{ s + S_DEVICES, 8, 2, FS_CLEAN, COARSE },
		{ s + S_USED, 8, TREES_USE + DATA_USE + 1, FS_CLEAN, COARSE },
		{ s + S_ROOT, 8, ROOTS_1, FS_DAMAGED, NOTHING },
		{ s + S_ROOT_LEVEL, 1, LEVELS, FS_DAMAGED, NOTHING },
		{ s + S_GENERATION, 8, GENERATION + 1, FS_DAMAGED, NOTHING },
		{ node(ROOTS) + N_ITEMS, 4, 0, FS_DAMAGED, NOTHING },
		{ node(ROOTS) + N_ITEMS, 4, 122, FS_DAMAGED, NOTHING },
		{ link_of(ROOTS, 1), 8, 2, FS_DAMAGED, NOTHING },
		{ node(ROOTS_1) + N_ITEMS, 4, 0, FS_DAMAGED, NOTHING },
		{ node(ROOTS_1) + N_ITEMS, 4, 160, FS_DAMAGED, NOTHING },
		{ head(ROOTS_1, 1), 8, 3, FS_CLEAN, COARSE },
		{ head(ROOTS_1, 1) + K_TYPE, 1, ROOT - 1, FS_CLEAN, COARSE },
		{ head(ROOTS_1, 1) + K_TYPE, 1, ROOT + 1, FS_CLEAN, COARSE },
		{ head(ROOTS_1, 1) + K_OFFSET, 8, 1, FS_CLEAN, COARSE },
		{ head(ROOTS_1, 1) + I_SIZE, 4, 238, FS_CLEAN, COARSE },
		{ head(ROOTS_1, 1) + I_SIZE, 4, NODE, FS_CLEAN, COARSE },
		{ root + 238, 1, LEVELS, FS_CLEAN, COARSE },
		{ root + 160, 8, GENERATION - 1, FS_CLEAN, COARSE },
		{ root + 176, 8, DATA, FS_CLEAN, COARSE },
		{ node(EXTENTS) + N_ITEMS, 4, 0, FS_CLEAN, COARSE },
		/* out of order, empty, too long, of no chunk, of two */
		{ head(EXTENTS_2, 1), 8, DATA + 4 * KIB, FS_CLEAN, COARSE },
		{ head(EXTENTS_2, 1) + K_OFFSET, 8, 0, FS_CLEAN, COARSE },
		{ head(EXTENTS_2, 1) + K_OFFSET, 8, UINT64_C(1) << 63,
		    FS_CLEAN, COARSE },
		{ head(EXTENTS_2, 2), 8, DATA + DATA_LEN, FS_CLEAN, COARSE },
		{ head(EXTENTS_2, 2), 8, DATA + DATA_LEN - 4 * KIB, FS_CLEAN,
		    COARSE },
		{ head(EXTENTS_1, 0), 8, SYS - NODE, FS_CLEAN, COARSE },
		{ head(EXTENTS_2, 0) + I_SIZE, 4, 23, FS_CLEAN, COARSE },
		{ head(EXTENTS_2, 0) + I_OFFSET, 4, NODE, FS_CLEAN, COARSE },
		/* what is left out is missing in the sum */
		{ head(EXTENTS_2, 1) + K_TYPE, 1, GROUP, FS_CLEAN, COARSE },
		/* chunks that overlap, though not on the device */
		{ head(CHUNKS_2, 0) + K_OFFSET, 8, META, FS_CLEAN, COARSE },
		{ head(CHUNKS_2, 0) + K_OFFSET, 8, META + 4 * KIB, FS_DAMAGED,
		    NOTHING },
		{ head(CHUNKS_2, 0) + K_OFFSET, 8, INT64_MAX, FS_CLEAN,
		    COARSE },
	};

	TRY(no);
	/* out of order, also where the sum fits what comes before */
	made();
	put(head(EXTENTS_2, 1), 8, DATA + 4 * KIB);
	put(s + S_USED, 8, TREES_USE + 8 * KIB);
	seal_all();
	assert_true(says(0, FS_CLEAN, COARSE));
	set_up(NULL);
}

/* Chunks of which the tree of devices has others, fewer or more. */
CASE(compares_devices)
{
	const struct spoilt no[] = {
		{ head(DEVICES, 0), 8, 2, FS_DAMAGED, NOTHING },
		{ head(DEVICES, 1) + K_TYPE, 1, DEVICE, FS_DAMAGED, NOTHING },
		{ head(DEVICES, 2) + K_OFFSET, 8, META_AT + NODE, FS_DAMAGED,
		    NOTHING },
		{ head(DEVICES, 1) + I_SIZE, 4, 31, FS_DAMAGED, NOTHING },
		{ head(DEVICES, 1) + I_OFFSET, 4, NODE, FS_DAMAGED, NOTHING },
		{ node(DEVICES) + N_ITEMS, 4, 3, FS_DAMAGED, NOTHING },
		{ node(DEVICES) + N_GENERATION, 8, 1, FS_DAMAGED, NOTHING },
		{ node(DEVICES) + NODE - 48 + 16, 8, META, FS_DAMAGED, NOTHING },
		{ node(DEVICES) + NODE - 48 + 24, 8, NODE, FS_DAMAGED, NOTHING },
		{ node(DEVICES) + NODE - 1, 1, 1, FS_CLEAN, FINE },
	};

	EACH_OF(i, no) {
		set_up(NULL);
		put(no[i].p, no[i].bytes, no[i].v);
		seal(DEVICES);
		if (!says(0, no[i].state, no[i].got))
			fail_msg("case %zu: %s", i, map.reason);
	}
	set_up(NULL);
}

/* A node that is full is none that is too full. */
CASE(follows_a_full_node)
{
	unsigned i, most = (NODE - N_HEAD) / LINK;

	made();
	for (i = (unsigned)fs_le(node(ROOTS) + N_ITEMS, 4); i < most; i++)
		key(link_of(ROOTS, i), UINT64_MAX, 0, i);
	put(node(ROOTS) + N_ITEMS, 4, most);
	seal_all();
	assert_true(says(0, FS_CLEAN, FINE));
}

/* More copies than there can be. */
CASE(counts_copies)
{
	const struct fs_extent *e;
	unsigned char *p;
	unsigned n, i;

	for (n = 4; n <= 5; n++) {
		made();
		begin(CHUNKS_2, 0);
		p = add(CHUNKS_2, 256, CHUNK, DATA, STRIPES + n * STRIPE);
		put_chunk(p, 64 * KIB - n, IS_DATA | IS_DUP, DATA_AT, 0);
		put(p + C_STRIPES, 2, n);
		for (i = 0; i < n; i++) {
			put(p + STRIPES + (size_t)i * STRIPE, 8, 1);
			put(p + STRIPES + (size_t)i * STRIPE + 8, 8, i == 4 ?
			    META_2 + META_LEN : DATA_AT + 64 * KIB * i);
		}
		put(super() + S_DEVICE_USED, 8, USED - DATA_LEN +
		    n * (64 * KIB - n));
		seal_all();
		says(0, FS_CLEAN, FINE);
		assert_int_equal(map.state, FS_CLEAN);
		e = &map.free.at[map.free.n - 1];
		assert_int_equal(e->off, n == 4 ? DATA_AT + 252 * KIB :
		    END - n);
		assert_int_equal(e->off + e->len, END);
	}
	assert_true(hits(META_2 + META_LEN, END - META_2 - META_LEN,
	    "/dir/first /dir/sub/inner /packed", false));
}

/* ---------------------------------------------------------------- names */

CASE(names_files)
{
	assert_true(hits(DATA_AT, 4 * KIB, "", false));
	assert_true(hits(DATA_AT + 4 * KIB, 1, "/dir/first", false));
	assert_true(hits(DATA_AT + 12 * KIB - 1, 1, "/packed", false));
	assert_true(hits(DATA_AT + 12 * KIB, 36 * KIB, "", false));
	assert_true(hits(DATA_AT + 50 * KIB, 1, "/dir/sub/inner", false));
	assert_true(hits(DATA_AT, DATA_LEN,
	    "/dir/first /dir/sub/inner /packed", false));
	/* of two copies one is left */
	assert_true(hits(META_AT, META_LEN, "", false));
	assert_true(hits(DATA_AT + DATA_LEN, 1, "", false));
}

CASE(names_what_is_spoilt)
{
	const uint64_t at = DATA_AT + 4 * KIB, in = DATA_AT + 50 * KIB;
	unsigned char *sub = value(ROOTS_2, 1), *file = value(FILES_1, 2);
	const struct misnamed no[] = {
		{ super() + S_ROOT_LEVEL, 1, LEVELS, at, 1, "", true },
		{ super() + S_ROOT, 8, DATA, at, 1, "", true },
		{ super() + S_CHUNK_ROOT, 8, DATA, at, 1, "", true },
		{ node(ROOTS) + N_ITEMS, 4, 122, at, 1, "", true },
		{ node(ROOTS_1) + N_ITEMS, 4, 160, at, 1, "", true },
		{ value(ROOTS_1, 2) + 238, 1, LEVELS, at, 1, "", true },
		{ node(FILES_1) + N_ITEMS, 4, 160, at, 1, "", true },
		{ node(FILES) + N_ITEMS, 4, 122, at, 1, "", true },
		{ link_of(FILES, 0) + L_PLACE, 8, DATA, at, 1, "", true },
		/* it has no name, or its directory has none */
		{ head(FILES_1, 2) + I_SIZE, 4, 9, at, 1, "<258>", false },
		{ file + 8, 2, 0, at, 1, "<258>", false },
		{ file + 8, 2, 6, at, 1, "<258>", false },
		{ head(FILES_1, 2), 8, 300, at, 1, "<258>", false },
		{ head(FILES_1, 2) + K_OFFSET, 8, 300, at, 1, "<300>/first",
		    false },
		{ head(FILES_1, 1) + I_SIZE, 4, 9, at, 1, "<257>/first",
		    false },
		{ value(FILES_1, 1) + 8, 2, 0, at, 1, "<257>/first", false },
		{ value(FILES_1, 1) + 8, 2, 4, at, 1, "<257>/first", false },
		{ head(FILES_1, 1) + I_OFFSET, 4, NODE, at, 1, "<257>/first",
		    false },
		{ head(FILES_1, 1) + K_TYPE, 1, REF + 1, at, 1,
		    "<257>/first", false },
		/* where the subvolume lies is lost */
		{ sub + 16, 2, 0, in, 1, "<256>/inner", false },
		{ sub + 16, 2, 4, in, 1, "<256>/inner", false },
		{ head(ROOTS_2, 1) + I_SIZE, 4, 17, in, 1, "<256>/inner",
		    false },
		{ head(ROOTS_2, 1) + K_TYPE, 1, BACK - 1, in, 1,
		    "<256>/inner", false },
		{ head(ROOTS_2, 1) + K_OFFSET, 8, 300, in, 1, "<257>/sub/inner",
		    false },
		/* trees that are no files, or that nobody refers to */
		{ head(ROOTS_2, 0), 8, 255, in, 1, "", false },
		{ head(ROOTS_2, 0), 8, UINT64_C(1) << 63, in, 1, "", false },
		{ value(ROOTS_2, 0) + 216, 4, 0, in, 1, "", false },
		{ head(ROOTS_2, 0) + I_SIZE, 4, 238, in, 1, "", false },
		{ head(ROOTS_2, 0) + K_TYPE, 1, ROOT + 1, in, 1, "", false },
		/* its part is none, or reaches from one byte too far */
		{ head(FILES_1, 3) + I_SIZE, 4, 52, at, 1, "", false },
		{ head(FILES_1, 3) + K_TYPE, 1, GROUP, at, 1, "", false },
		{ value(FILES_1, 3) + 37, 8, UINT64_MAX, at, 1, "", false },
		{ value(FILES_1, 3) + 37, 8, 0, at, 1, "", false },
		{ value(FILES_1, 3) + 45, 8, UINT64_MAX, at, 1, "", false },
		{ value(FILES_1, 3) + 20, 1, 0, at, 1, "", false },
		{ value(FILES_1, 3) + 20, 1, 2, at, 1, "/dir/first", false },
		/* its directory cannot be looked up */
		{ link_of(FILES, 0) + L_PLACE, 8, DATA, in, 1,
		    "<257>/sub/inner", true },
		{ node(FILES_1) + N_ITEMS, 4, 160, in, 1, "<257>/sub/inner",
		    true },
		{ node(FILES_1) + N_ITEMS, 4, 0, in, 1, "<257>/sub/inner",
		    true },
		{ node(FILES) + N_ITEMS, 4, 0, in, 1, "<257>/sub/inner",
		    true },
		{ node(FILES) + N_ITEMS, 4, 122, in, 1, "<257>/sub/inner",
		    true },
		/* of two chunks there one is lost */
		{ head(CHUNKS_2, 0) + K_OFFSET, 8, META, at, 1, "", false },
	};

	image_misnamed(unsealed, seal_all, no, COUNT(no));
	set_up(NULL);
	/* what the superblock says is lost with it */
	put(super() + S_DEVICES, 8, 2);
	check_sum(super());
	assert_false(hits(at, 1, "", false));
	assert_false(names.known);
	image.lost = SUPER_AT;
	assert_false(hits(at, 1, "", false));
	assert_false(names.known);
}

/* What is looked up by its number may be the first item of a leaf. */
CASE(finds_what_begins_a_leaf)
{
	unsigned char *p;

	made();
	begin(ROOTS_1, 0);
	add_root(ROOTS_1, 5, FILES, 1);
	add_root(ROOTS_1, 256, SUB, 0);
	begin(ROOTS_2, 0);
	p = add(ROOTS_2, 256, BACK, 5, 18 + 3);
	put(p, 8, 257);
	add_name(p, 16, "sub");
	key(link_of(ROOTS, 1), 256, BACK, 5);
	begin(FILES_1, 0);
	add_file(FILES_1, 256, 256, "..");
	begin(FILES_2, 0);
	add_file(FILES_2, 257, 256, "dir");
	add_file(FILES_2, 258, 257, "first");
	add_part(FILES_2, 258, DATA, 8 * KIB, 4 * KIB, 4 * KIB);
	key(link_of(FILES, 1), 257, REF, 256);
	seal_all();
	assert_true(hits(DATA_AT + 4 * KIB, 1, "/dir/first", false));
	assert_true(hits(DATA_AT + 50 * KIB, 1, "/dir/sub/inner", false));
}

/* What is spread over stripes is not read, nor taken for a file's. */
CASE(leaves_stripes)
{
	unsigned char *p = value(CHUNKS_1, 2);

	made();
	put(p, 8, (uint64_t)2 * META_LEN);
	put(p + C_TYPE, 8, IS_META | 0x8);
	seal_all();
	assert_true(says(0, FS_DAMAGED, NOTHING));
	made();
	begin(CHUNKS_2, 0);
	add_chunk(CHUNKS_2, DATA, (uint64_t)2 * DATA_LEN, IS_DATA | 0x8,
	    DATA_AT, DATA_AT + DATA_LEN);
	seal_all();
	assert_true(hits(DATA_AT + 4 * KIB, 1, "", true));
	assert_true(hits(META_AT, 1, "", false));
}

/* A thousand names are told, and of so many trees those of the first. */
CASE(names_only_so_many)
{
	unsigned i;

	made();
	begin(ROOTS_1, 0);
	begin(ROOTS_2, 0);
	for (i = 0; i < 30; i++)
		add_root(i < 15 ? ROOTS_1 : ROOTS_2, 256 + i, SUB, 0);
	begin(SUB, 0);
	for (i = 0; i < 50; i++)
		add_part(SUB, 257 + i, DATA, NODE, 0, NODE);
	seal_all();
	hits(DATA_AT, 1, "", true);
	assert_int_equal(names.n, FS_NAMES_MOST);
	assert_true(names.more);
	made();
	src.length = UINT64_C(1) << 30;
	begin(ROOTS, 2);			/* the same, over and over */
	begin(EXTENTS, 1);
	for (i = 0; i < 120; i++) {
		add_link(ROOTS, i, ROOT, EXTENTS);
		add_link(EXTENTS, i, ROOT, ROOTS_1);
	}
	super()[S_ROOT_LEVEL] = 2;
	begin(ROOTS_1, 0);
	for (i = 0; i < 15; i++)
		add_root(ROOTS_1, 256, SUB, 0);
	seal_all();
	assert_true(hits(DATA_AT + 50 * KIB, 1, "<256>/inner", true));
}

CASE(names_until_time_is_up)
{
	image.lost = META_AT + (FILES - META);
	image.lost_2 = META_2 + (FILES - META);
	assert_true(hits(DATA_AT + 50 * KIB, 1, "<257>/sub/inner", true));
	assert_true(image.reads > 0);
	image.err = ETIMEDOUT;
	image.failed = false;
	assert_true(hits(DATA_AT + 50 * KIB, 1, "", true));
	assert_int_equal(image.reads, 0);
}

CASE(fails_anywhere)
{
	image_fails(DATA_AT, DATA_LEN);
}

CASE(needs_memory)
{
	image_needs_memory(DATA_AT, DATA_LEN, FS_META);
}
