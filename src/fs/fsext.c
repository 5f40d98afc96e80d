/*
 * ext2, ext3, ext4: the block bitmap of each group, if its descriptor,
 * checksums and counts agree with it.
 *
 * The format is that of the Linux kernel (Documentation/filesystems/ext4, and
 * fs/ext4/ext4.h). libext2fs is not used: it keeps all descriptors in memory,
 * 64 bytes per 128 MiB of the disk, trusts the counts on which this depends,
 * and fails as a whole if one group is lost.
 *
 * A group whose bitmap was never written (BLOCK_UNINIT) is free except for
 * metadata, if its descriptor counts as many free blocks.
 *
 * For a rescue, blocks that lead to the data of files are found as well, to be
 * read first.  Every number there is only a guess, and wrong ones are ignored.
 * A block that lists only data blocks is noted without being read.
 */
#include <stdlib.h>
#include <string.h>

#include "fsext.h"
#include "fshits.h"

struct ext {
	struct fs_io	*io;
	unsigned char	 super[1024];
	uint32_t	 incompat, ro;
	bool		 meta_csum;	/* CRC-32C checksums everywhere */
	bool		 desc_csum;	/* at least in descriptors */
	bool		 backup;	/* the superblock is a backup */
	uint32_t	 seed;		/* of the checksums */
	uint32_t	 block;		/* bytes */
	uint32_t	 ratio;		/* blocks per cluster, which has one
					 * bit */
	uint32_t	 first;		/* first block of the first group */
	uint64_t	 blocks;
	bool		 longer;	/* there should be more */
	uint32_t	 per_group;	/* blocks */
	uint32_t	 groups;
	uint32_t	 desc_size;	/* bytes */
	uint32_t	 desc_per, desc_blocks;	/* per block; blocks of
						 * descriptors */
	uint32_t	 inodes_per;	/* per group */
	uint32_t	 inode_size;	/* bytes */
	uint32_t	 journal;	/* its inode, or 0 */
	uint32_t	 table;		/* blocks of inodes per group */
	uint64_t	 free;		/* clusters found free */
	uint32_t	 wrong;		/* groups that count as used */
	unsigned char	*descs;		/* one block of descriptors: */
	uint32_t	 descs_of;	/* its number, from 1; 0: none */
	unsigned char	*bits;		/* FS_PIECE */
	unsigned char	*nodes;		/* EXT_DEPTH blocks of a tree */
};

struct ext_group {
	uint32_t	 number;
	uint64_t	 bitmap, inodes, table;	/* block numbers */
	uint64_t	 free;		/* clusters */
	uint64_t	 unused;	/* inodes at the end of the table */
	uint32_t	 csum, csum_mask;	/* of the bitmap */
	bool		 empty;		/* the bitmap was never written */
	bool		 sound;		/* the descriptor is valid */
};

/* --- inodes -------------------------------------------------------------- */

enum {				/* offsets in a node of an extent tree, and its
				 * entries */
	NODE_MAGIC = 0xf30a,
	N_ENTRIES = 2, N_DEPTH = 6, N_SIZE = 12,
	E_LENGTH = 4, E_START_HI = 6, E_START = 8,	/* in a leaf */
	X_LEAF = 4, X_LEAF_HI = 8,			/* in other nodes */
	LENGTH_MOST = 32768,	/* above: that many less, and not yet written */
};

enum { DIRECT = 12, LEVELS = 3 };

typedef void ext_take(void *arg, uint64_t block, uint64_t n, bool data);

struct walk {
	struct ext	*e;
	bool		 data;	/* report contents too */
	ext_take	*take;
	void		*arg;
	bool		 wrong;	/* part of it is invalid or lost */
};

/* Report a range; false if it is invalid, and so is the list that has it. */
static bool
ext_inode_tell(struct walk *w, uint64_t block, uint64_t n, bool data)
{
	if (block >= w->e->blocks || n > w->e->blocks - block) {
		w->wrong = true;
		return false;
	}
	if (block > 0)
		w->take(w->arg, block, n, data);
	return true;
}

static bool
node_at(struct walk *w, uint64_t block, int depth)
{
	struct ext *e = w->e;
	bool good = block > 0 && block < e->blocks && fs_get(e->io, block *
	    e->block, e->nodes + (size_t)depth * e->block, e->block) == 0;

	w->wrong |= !good;
	return good;
}

static uint64_t
extent_child(const unsigned char *entry)
{
	return fs_le(entry + X_LEAF, 4) | fs_le(entry + X_LEAF_HI, 2) << 32;
}

static uint64_t
extent_start(const unsigned char *entry)
{
	return fs_le(entry + E_START, 4) | fs_le(entry + E_START_HI, 2) << 32;
}

/* A node of an extent tree at height "depth". */
static void
ext_inode_extents(struct walk *w, const unsigned char *node, size_t size,
    int depth)
{
	const unsigned char *entry = node + N_SIZE;
	size_t n = (size_t)fs_le(node + N_ENTRIES, 2), i;
	uint64_t length;

	if (fs_le(node, 2) != NODE_MAGIC || fs_le(node + N_DEPTH, 2) !=
	    (uint64_t)depth || n > size / N_SIZE - 1) {
		w->wrong = true;
		return;
	}
	for (i = 0; i < n; i++, entry += N_SIZE) {
		if (depth > 0) {
			if (!ext_inode_tell(w, extent_child(entry), 1, false))
				return;
			if ((depth > 1 || w->data) &&
			    node_at(w, extent_child(entry), depth - 1))
				ext_inode_extents(w, w->e->nodes +
				    (size_t)(depth - 1) * w->e->block,
				    w->e->block, depth - 1);
		} else if (w->data) {
			length = fs_le(entry + E_LENGTH, 2);
			if (!ext_inode_tell(w, extent_start(entry), length >
			    LENGTH_MOST ? length - LENGTH_MOST : length, true))
				return;
		}
	}
}

/* A block of block numbers, "level" above data. */
static void
ext_inode_indirect(struct walk *w, uint64_t block, int level)
{
	const unsigned char *list = w->e->nodes + (size_t)level * w->e->block;
	bool sound = true;
	size_t i;

	if (!ext_inode_tell(w, block, 1, false) || (level == 0 && !w->data) ||
	    !node_at(w, block, level))
		return;
	for (i = 0; i < w->e->block && sound; i += 4)
		if (level == 0)
			sound = ext_inode_tell(w, fs_le(list + i, 4), 1, true);
		else if (fs_le(list + i, 4) != 0)
			ext_inode_indirect(w, fs_le(list + i, 4), level - 1);
}

/*
 * Call "take" for the blocks of an inode that are in the file system: those
 * that lead to others and, with "data", those of its contents.  Returns false
 * if part of it is invalid or lost.  Uses e->nodes.
 */
static bool
ext_blocks(struct ext *e, const unsigned char *inode, bool data,
    ext_take *take, void *arg)
{
	struct walk w = { .e = e, .data = data, .take = take, .arg = arg };
	const unsigned char *at = inode + EXT_I_BLOCK;
	uint64_t flags = fs_le(inode + EXT_I_FLAGS, 4), depth;
	int i;

	if ((flags & EXT_FLAG_INLINE) != 0)
		return true;
	if ((flags & EXT_FLAG_EXTENTS) != 0) {
		depth = fs_le(at + N_DEPTH, 2);
		if (depth >= EXT_DEPTH)
			return false;
		ext_inode_extents(&w, at, EXT_I_BLOCK_SIZE, (int)depth);
		return !w.wrong;
	}
	for (i = 0; i < DIRECT && w.data; i++)
		ext_inode_tell(&w, fs_le(at + (size_t)i * 4, 4), 1, true);
	for (at += (size_t)DIRECT * 4, i = 0; i < LEVELS; i++, at += 4)
		if (fs_le(at, 4) != 0)
			ext_inode_indirect(&w, fs_le(at, 4), i);
	return !w.wrong;
}

static void
ext_inode_note(void *arg, uint64_t block, uint64_t n, bool data)
{
	struct ext *e = arg;

	(void)data;
	fs_note_meta(e->io, block * e->block, n * e->block);
}

static void
ext_read_inode(void *arg, const unsigned char *p, uint32_t ino, uint64_t at)
{
	struct ext *e = arg;
	struct walk w = { .e = e, .take = ext_inode_note, .arg = e };
	uint64_t mode = fs_le(p + EXT_I_MODE, 2) & EXT_MODE_KIND;
	bool whole;

	(void)at;
	if (fs_le(p + EXT_I_LINKS, 2) == 0 && ino >= EXT_INO_FIRST)
		return;
	whole = mode == EXT_MODE_DIR || ino == e->journal ||
	    ino == EXT_INO_RESIZE;
	ext_inode_tell(&w, fs_le(p + EXT_I_ACL, 4) |
	    fs_le(p + EXT_I_ACL_HI, 2) << 32, 1, false);
	if (whole || mode == EXT_MODE_FILE)
		ext_blocks(e, p, whole, ext_inode_note, e);
}

static bool
any_bit(const unsigned char *bits, uint32_t at, uint32_t n)
{
	while (n > 0 && (bits[at / 8] >> at % 8 & 1) == 0)
		at++, n--;
	return n > 0;
}

/*
 * Visit the inodes of a group, each at byte "at"; those that cannot be read are
 * all zeros.  "only" has a bit for each inode: what has none of them is not
 * read.  NULL: all.  Uses e->bits.
 */
typedef void ext_visit(void *arg, const unsigned char *inode, uint32_t ino,
    uint64_t at);

static void
ext_each_inode(struct ext *e, const struct ext_group *g,
    const unsigned char *only, ext_visit *visit, void *arg)
{
	uint32_t n = e->inodes_per - (uint32_t)g->unused, i, k, many;
	uint32_t first = g->number * e->inodes_per + 1;
	uint64_t at;

	for (i = 0; i < n; i += many) {
		many = FS_PIECE / e->inode_size;
		many = n - i < many ? n - i : many;
		at = g->table * e->block + (uint64_t)i * e->inode_size;
		if (only != NULL && !any_bit(only, first + i, many))
			continue;
		fs_get_units(e->io, at, e->bits, e->inode_size, many, 0);
		for (k = 0; k < many; k++)
			visit(arg, e->bits + (size_t)k * e->inode_size,
			    first + i + k, at + (uint64_t)k * e->inode_size);
	}
}

/*
 * Note as metadata directories, the journal, and indirect blocks of the inodes
 * of n groups.  Uses e->bits.
 */
static void
ext_inodes(struct ext *e, const struct ext_group *g, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (g[i].sound)
			ext_each_inode(e, &g[i], NULL, ext_read_inode, e);
}

/*
 * The first block of an inode, or 0; "index" counts in the inode table that
 * begins at block "table".
 */
static uint64_t
ext_first_block(struct ext *e, uint64_t table_at, uint32_t index)
{
	unsigned char p[128];
	const unsigned char *entry = p + EXT_I_BLOCK + N_SIZE;
	uint64_t depth;

	if (fs_get(e->io, table_at * e->block + (uint64_t)index * e->inode_size,
	    p, sizeof(p)) != 0)
		return 0;
	if ((fs_le(p + EXT_I_FLAGS, 4) & EXT_FLAG_EXTENTS) == 0)
		return fs_le(p + EXT_I_BLOCK, 4);
	depth = fs_le(p + EXT_I_BLOCK + N_DEPTH, 2);
	if (depth >= EXT_DEPTH)
		return 0;
	for (; depth > 0; depth--) {
		if (fs_le(entry - N_SIZE, 2) != NODE_MAGIC || !node_at(
		    &(struct walk){ .e = e }, extent_child(entry), 0))
			return 0;
		entry = e->nodes + N_SIZE;
	}
	return fs_le(entry - N_SIZE, 2) == NODE_MAGIC ? extent_start(entry) : 0;
}

enum {				/* offsets in the superblock, at byte 1024 */
	SUPER_AT = 1024,
	S_BLOCKS = 0x4, S_FREE = 0xc, S_FIRST = 0x14,
	S_BLOCK_LOG = 0x18, S_CLUSTER_LOG = 0x1c, S_PER_GROUP = 0x20,
	S_INODES_PER = 0x28, S_MAGIC = 0x38, S_STATE = 0x3a,
	S_REVISION = 0x4c, S_INODE_SIZE = 0x58, S_GROUP = 0x5a,
	S_COMPAT = 0x5c, S_INCOMPAT = 0x60, S_RO = 0x64, S_UUID = 0x68,
	S_LABEL = 0x78, S_RESERVED = 0xce, S_JOURNAL = 0xe0,
	S_DESC_SIZE = 0xfe, S_META_BG = 0x104, S_BLOCKS_HI = 0x150,
	S_FREE_HI = 0x158, S_BACKUPS = 0x24c, S_SEED = 0x270, S_CSUM = 0x3fc,
	MAGIC = 0xef53,
	STATE_VALID = 1, STATE_ERROR = 2,
};

enum {				/* offsets in a descriptor */
	D_BITMAP = 0x0, D_INODES = 0x4, D_TABLE = 0x8, D_FREE = 0xc,
	D_FLAGS = 0x12, D_BITMAP_CSUM = 0x18, D_UNUSED = 0x1c, D_CSUM = 0x1e,
	D_HIGH = 0x20,		/* high halves, in the same order */
	D_FREE_HI = 0x2c, D_UNUSED_HI = 0x32, D_BITMAP_CSUM_HI = 0x38,
	BLOCK_UNINIT = 2,
};

enum {				/* feature bits */
	COMPAT_JOURNAL = 0x4, COMPAT_SPARSE2 = 0x200,
	RO_SPARSE = 0x1, RO_GDT_CSUM = 0x10, RO_BIGALLOC = 0x200,
	RO_CSUM = 0x400,
	RO_KNOWN = 0x1 | 0x2 | 0x4 | 0x8 | 0x10 | 0x20 | 0x40 | 0x100 | 0x200 |
	    0x400 | 0x1000 | 0x2000 | 0x8000 | 0x10000,
	IN_RECOVER = 0x4, IN_JOURNAL = 0x8, IN_META_BG = 0x10, IN_64BIT = 0x80,
	IN_SEED = 0x2000,
	IN_KNOWN = 0x2 | 0x4 | 0x10 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 |
	    0x1000 | 0x2000 | 0x4000 | 0x8000 | 0x10000 | 0x20000,
	/* those of ext3 */
	RO_OLD = 0x1 | 0x2 | 0x4, IN_OLD = 0x2 | 0x4 | 0x10,
};

enum {
	BATCH = 64,		/* groups examined together */
	JBD2_START = 28,	/* offset of s_start in a journal's
				 * superblock */
};

static uint32_t
ext_field32(const struct ext *e, int at)
{
	return (uint32_t)fs_le(e->super + at, 4);
}

static uint16_t
ext_field16(const struct ext *e, int at)
{
	return (uint16_t)fs_le(e->super + at, 2);
}

/* ----------------------------------------------------------- superblock */

/* Read the numbers that everything depends on, and check their ranges. */
static bool
ext_geometry(struct ext *e)
{
	uint32_t log = ext_field32(e, S_BLOCK_LOG), cluster =
	    ext_field32(e, S_CLUSTER_LOG);
	uint64_t groups, most;

	if (log > 6 || ext_field32(e, S_FIRST) > 1)
		return false;
	e->block = UINT32_C(1024) << log;
	e->ratio = 1;
	if ((e->ro & RO_BIGALLOC) != 0) {
		if (cluster < log || cluster > 20)
			return false;
		e->ratio = UINT32_C(1) << (cluster - log);
	}
	e->first = ext_field32(e, S_FIRST);
	e->blocks = ext_field32(e, S_BLOCKS);
	e->desc_size = 32;
	if ((e->incompat & IN_64BIT) != 0) {
		e->blocks |= (uint64_t)ext_field32(e, S_BLOCKS_HI) << 32;
		e->desc_size = ext_field16(e, S_DESC_SIZE);
	}
	e->per_group = ext_field32(e, S_PER_GROUP);
	e->inodes_per = ext_field32(e, S_INODES_PER);
	e->inode_size = ext_field32(e, S_REVISION) == 0 ? 128 :
	    ext_field16(e, S_INODE_SIZE);
	most = (uint64_t)e->block * 8 * e->ratio;
	if (e->per_group < 256 || e->per_group > most ||
	    e->per_group % (8 * e->ratio) != 0 ||
	    e->inodes_per == 0 || e->inodes_per > e->block * 8 ||
	    e->blocks > INT64_MAX / e->block ||
	    !fs_power_of_two(e->inode_size) || e->inode_size < 128 ||
	    e->inode_size > e->block || !fs_power_of_two(e->desc_size) ||
	    e->desc_size < 32 || e->desc_size > e->block)
		return false;
	e->blocks = fs_clamp(e->io, e->blocks, e->block, &e->longer);
	if (e->blocks <= e->first)
		return false;
	groups = (e->blocks - e->first + e->per_group - 1) / e->per_group;
	if (groups > UINT32_MAX)
		return false;
	e->groups = (uint32_t)groups;
	e->desc_per = e->block / e->desc_size;
	e->desc_blocks = (uint32_t)((groups + e->desc_per - 1) / e->desc_per);
	e->table = (uint32_t)(((uint64_t)e->inodes_per * e->inode_size +
	    e->block - 1) / e->block);
	return true;
}

static void
ext_type(struct ext *e)
{
	char *type = e->io->map->type;

	memcpy(type, "ext2", sizeof("ext2"));
	if ((e->ro & ~(uint32_t)RO_OLD) != 0 ||
	    (e->incompat & ~(uint32_t)(IN_OLD | IN_JOURNAL)) != 0)
		type[3] = '4';
	else if ((ext_field32(e, S_COMPAT) & COMPAT_JOURNAL) != 0)
		type[3] = '3';
}

/* Read a superblock; false if there is none. */
static bool
ext_superblock(struct ext *e, uint64_t at)
{
	if (fs_get(e->io, at, e->super, sizeof(e->super)) != 0 ||
	    ext_field16(e, S_MAGIC) != MAGIC)
		return false;
	e->incompat = ext_field32(e, S_INCOMPAT);
	e->ro = ext_field32(e, S_RO);
	e->meta_csum = (e->ro & RO_CSUM) != 0;
	e->journal = (ext_field32(e, S_COMPAT) & COMPAT_JOURNAL) != 0 ?
	    ext_field32(e, S_JOURNAL) : 0;
	e->desc_csum = e->meta_csum || (e->ro & RO_GDT_CSUM) != 0;
	e->seed = (e->incompat & IN_SEED) != 0 ? ext_field32(e, S_SEED) :
	    fs_crc32c(~UINT32_C(0), e->super + S_UUID, 16);
	return ext_geometry(e);
}

/* For FS_ORDER only: try the backups at their usual places. */
static bool
ext_backup(struct ext *e)
{
	static const unsigned copies[] = { 1, 3, 5, 7, 9, 25, 27, 49 };
	uint64_t block;
	size_t i;

	for (block = 4096; block >= 1024; block /= 2)
		for (i = 0; i < sizeof(copies) / sizeof(*copies); i++)
			if (ext_superblock(e, block * (copies[i] * block * 8 +
			    (block == 1024))) && e->block == block &&
			    ext_field16(e, S_GROUP) == copies[i])
				return true;
	return false;
}

static void
ext_judge(struct ext *e)
{
	struct fs_io *io = e->io;
	unsigned state = ext_field16(e, S_STATE);

	if ((e->incompat & ~(uint32_t)IN_KNOWN) != 0 ||
	    (e->ro & ~(uint32_t)RO_KNOWN) != 0)
		fs_doubt(io, FS_UNKNOWN, "it has unknown features");
	if (e->meta_csum && ext_field32(e, S_CSUM) !=
	    fs_crc32c(~UINT32_C(0), e->super, S_CSUM))
		fs_doubt(io, FS_DAMAGED, "the checksum of its superblock is "
		    "wrong");
	if (e->longer)
		fs_too_long(io);
	if ((e->incompat & IN_RECOVER) != 0)
		fs_doubt(io, FS_DIRTY, "its journal must be replayed");
	if ((state & STATE_ERROR) != 0)
		fs_doubt(io, FS_DAMAGED, "it has errors noted: e2fsck");
	if ((state & STATE_VALID) == 0)
		fs_doubt(io, FS_DIRTY, "it was not unmounted");
}

/* --------------------------------------------------------------- groups */

static uint64_t
group_first(const struct ext *e, uint32_t g)
{
	return e->first + (uint64_t)g * e->per_group;
}

static uint64_t
group_blocks(const struct ext *e, uint32_t g)
{
	uint64_t left = e->blocks - group_first(e, g);

	return left < e->per_group ? left : e->per_group;
}

static bool
power_of(uint32_t g, uint32_t base)
{
	while (g % base == 0)
		g /= base;
	return g == 1;
}

/* Whether a group begins with a superblock. */
static bool
has_super(const struct ext *e, uint32_t g)
{
	if (g == 0)
		return true;
	if ((ext_field32(e, S_COMPAT) & COMPAT_SPARSE2) != 0)
		return g == ext_field32(e, S_BACKUPS) || g ==
		    ext_field32(e, S_BACKUPS + 4);
	return g == 1 || (e->ro & RO_SPARSE) == 0 || power_of(g, 3) ||
	    power_of(g, 5) || power_of(g, 7);
}

/*
 * The block of the superblock in a group; with blocks of 1024 bytes, never
 * block 0.
 */
static uint64_t
super_block(const struct ext *e, uint32_t g)
{
	return group_first(e, g) + (g == 0 && e->block == SUPER_AT &&
	    e->first == 0 ? 1 : 0);
}

/* How many blocks of descriptors follow each superblock. */
static uint32_t
desc_together(const struct ext *e)
{
	uint32_t n = ext_field32(e, S_META_BG);

	return (e->incompat & IN_META_BG) != 0 && n < e->desc_blocks ? n :
	    e->desc_blocks;
}

/*
 * The first block of the superblock and descriptors of a group, and how many it
 * has of them.
 */
static uint64_t
super_place(const struct ext *e, uint32_t g, uint64_t *n)
{
	uint64_t at = super_block(e, g), i = g / e->desc_per;
	uint32_t in = g % e->desc_per;

	*n = 0;
	if (has_super(e, g))
		*n = 1 + (uint64_t)desc_together(e) +
		    ((e->incompat & IN_META_BG) == 0 ?
		    ext_field16(e, S_RESERVED) : 0);
	if (i >= desc_together(e) && (in < 2 || in == e->desc_per - 1))
		*n += 1;
	if (g == 0 && at != 0) {
		*n += at;
		at = 0;
	}
	return at;
}

/* Note the superblock and descriptors of a group, if it has them. */
static void
note_super(struct ext *e, uint32_t g)
{
	uint64_t n, at = super_place(e, g, &n);

	fs_note_meta(e->io, at * e->block, n * e->block);
}

static uint64_t
ext_pair(const unsigned char *d, int low, int high, int bytes, bool wide)
{
	return fs_le(d + low, bytes) |
	    (wide ? fs_le(d + high, bytes) << (8 * bytes) : 0);
}

static uint16_t
ext_crc16(uint16_t crc, const unsigned char *p, size_t len)
{
	int i;

	for (; len > 0; len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = (uint16_t)(crc >> 1 ^ (crc & 1 ? 0xa001 : 0));
	}
	return crc;
}

/* The checksum that a descriptor should have. */
static uint16_t
desc_csum(const struct ext *e, const unsigned char *d, uint32_t g)
{
	unsigned char number[4] = { (unsigned char)g, (unsigned char)(g >> 8),
		(unsigned char)(g >> 16), (unsigned char)(g >> 24) };
	static const unsigned char none[2];
	size_t rest = e->desc_size - D_CSUM - 2;
	uint16_t old;
	uint32_t crc;

	if (!e->meta_csum) {
		old = ext_crc16(0xffff, e->super + S_UUID, 16);
		old = ext_crc16(old, number, sizeof(number));
		old = ext_crc16(old, d, D_CSUM);
		return ext_crc16(old, d + D_CSUM + 2, rest);
	}
	crc = fs_crc32c(e->seed, number, sizeof(number));
	crc = fs_crc32c(crc, d, D_CSUM);
	crc = fs_crc32c(crc, none, sizeof(none));
	return (uint16_t)fs_crc32c(crc, d + D_CSUM + 2, rest);
}

/* Parse a descriptor; its metadata must lie in the file system. */
static void
ext_parse(const struct ext *e, const unsigned char *d, uint32_t g,
    struct ext_group *to)
{
	bool wide = (e->incompat & IN_64BIT) != 0 && e->desc_size >= 64;

	to->number = g;
	to->bitmap = ext_pair(d, D_BITMAP, D_HIGH + D_BITMAP, 4, wide);
	to->inodes = ext_pair(d, D_INODES, D_HIGH + D_INODES, 4, wide);
	to->table = ext_pair(d, D_TABLE, D_HIGH + D_TABLE, 4, wide);
	to->free = ext_pair(d, D_FREE, D_FREE_HI, 2, wide);
	to->unused = e->desc_csum ? ext_pair(d, D_UNUSED, D_UNUSED_HI, 2,
	    wide) : 0;
	to->csum = (uint32_t)ext_pair(d, D_BITMAP_CSUM, D_BITMAP_CSUM_HI, 2,
	    wide);
	to->csum_mask = wide ? UINT32_MAX : UINT16_MAX;
	to->empty = e->desc_csum && !e->backup &&
	    (fs_le(d + D_FLAGS, 2) & BLOCK_UNINIT) != 0;
	to->sound = to->bitmap > 0 && to->bitmap < e->blocks &&
	    to->inodes > 0 && to->inodes < e->blocks && to->table > 0 &&
	    to->table <= e->blocks && e->table <= e->blocks - to->table;
	if (to->sound && e->desc_csum && fs_exact(e->io))
		to->sound = fs_le(d + D_CSUM, 2) == desc_csum(e, d, g);
	if (to->unused > e->inodes_per)
		to->unused = 0;
}

static void
note_group(struct ext *e, const struct ext_group *g)
{
	uint64_t in_use = (uint64_t)(e->inodes_per - g->unused) * e->inode_size;
	uint64_t table = (uint64_t)e->table * e->block;

	note_super(e, g->number);
	if (!g->sound)
		return;
	fs_note_meta(e->io, g->bitmap * e->block, e->block);
	fs_note_meta(e->io, g->inodes * e->block, e->block);
	/* A rescue does not need the unused part of the table early. */
	fs_note_meta(e->io, g->table * e->block, fs_exact(e->io) ||
	    (e->io->how & FS_TABLES) != 0 ? table :
	    (in_use + e->block - 1) / e->block * e->block);
}

/* Whether the bitmap of a group agrees with its descriptor. */
static bool
ext_proven(struct ext *e, const struct ext_group *g, const unsigned char *bits)
{
	uint64_t clusters = (group_blocks(e, g->number) + e->ratio - 1) /
	    e->ratio, i, n = 0;
	size_t bytes = e->per_group / e->ratio / 8;

	if (e->meta_csum && !g->empty && ((fs_crc32c(e->seed, bits, bytes) ^
	    g->csum) & g->csum_mask) != 0)
		return false;
	for (i = 0; i < clusters / 8; i++)
		n += 8 - (unsigned)__builtin_popcount(bits[i]);
	for (i *= 8; i < clusters; i++)
		n += !(bits[i / 8] >> (i % 8) & 1);
	e->free += n;
	return n == g->free;
}

static void
ext_take_bits(struct ext *e, const struct ext_group *g,
    const unsigned char *bits)
{
	uint64_t at = group_first(e, g->number), n = group_blocks(e, g->number);
	uint64_t clusters = n / e->ratio;	/* whole clusters only */

	if (fs_exact(e->io) && !ext_proven(e, g, bits)) {
		e->wrong++;
		return;
	}
	fs_note_bits(e->io, bits, 0, clusters, at * e->block,
	    (uint64_t)e->ratio * e->block);
}

/* Set the bits of the clusters of a group that n blocks lie on. */
static void
set_bits(struct ext *e, const struct ext_group *g, uint64_t at, uint64_t n)
{
	uint64_t first = group_first(e, g->number), i;
	uint64_t end = first + group_blocks(e, g->number);

	end = at + n < end ? at + n : end;
	for (; at < end; at += e->ratio - (at - first) % e->ratio)
		if (at >= first) {
			i = (at - first) / e->ratio;
			e->bits[i / 8] |= (unsigned char)(1 << i % 8);
		}
}

/*
 * A group whose bitmap was never written has only its own structures, and as
 * many free clusters as that leaves.  If its descriptor counts otherwise, the
 * flag is wrong.
 */
static void
take_empty(struct ext *e, const struct ext_group *g)
{
	uint64_t at, n;

	memset(e->bits, 0, e->block);
	at = super_place(e, g->number, &n);
	set_bits(e, g, at, n);
	set_bits(e, g, g->bitmap, 1);
	set_bits(e, g, g->inodes, 1);
	set_bits(e, g, g->table, e->table);
	ext_take_bits(e, g, e->bits);
}

/* How many groups have contiguous bitmaps on the disk. */
static size_t
ext_groups_together(const struct ext *e, const struct ext_group *g, size_t n)
{
	size_t i = 1;

	while (i < n && i < FS_PIECE / e->block && g[i].sound && !g[i].empty &&
	    g[i].bitmap == g[0].bitmap + i)
		i++;
	return i;
}

static void
take_groups(struct ext *e, const struct ext_group *g, size_t n)
{
	size_t i, k, run;

	for (i = 0; i < n; i += run) {
		run = 1;
		note_group(e, &g[i]);
		if (!g[i].sound) {
			e->wrong++;
		} else if (g[i].empty) {
			take_empty(e, &g[i]);
		} else {
			run = ext_groups_together(e, &g[i], n - i);
			fs_get_units(e->io, g[i].bitmap * e->block, e->bits,
			    e->block, run, 0xff);
			for (k = 0; k < run; k++)
				ext_take_bits(e, &g[i + k], e->bits + k *
				    e->block);
			for (k = 1; k < run; k++)
				note_group(e, &g[i + k]);
		}
	}
}

/*
 * The position of a block of descriptors, or of its backup after a superblock.
 */
static uint64_t
desc_place(const struct ext *e, uint32_t i, uint32_t copy)
{
	uint32_t g = i * e->desc_per;

	if (i < desc_together(e))
		return super_block(e, copy) + 1 + i;
	return super_block(e, g) + (has_super(e, g) ? 1 : 0);
}

static bool
read_descs(struct ext *e, uint32_t i)
{
	static const uint32_t copies[] = { 0, 1, 3, 5, 7, 9 };
	size_t k, n = fs_exact(e->io) ? 1 : sizeof(copies) / sizeof(*copies);

	for (k = 0; k < n && e->descs_of != i + 1; k++) {
		if (e->backup && k == 0)
			continue;
		e->descs_of = 0;
		if (copies[k] < e->groups && has_super(e, copies[k]) &&
		    fs_get(e->io, desc_place(e, i, copies[k]) * e->block,
		    e->descs, e->block) == 0)
			e->descs_of = i + 1;
	}
	return e->descs_of == i + 1;
}

/* Read the descriptor of a group; false if that is not possible. */
static bool
ext_group(struct ext *e, uint32_t number, struct ext_group *g)
{
	if (number >= e->groups || !read_descs(e, number / e->desc_per))
		return false;
	ext_parse(e, e->descs + (size_t)e->desc_size * (number % e->desc_per),
	    number, g);
	return g->sound;
}

static void
ext_read_groups(struct ext *e)
{
	struct ext_group g[BATCH];
	uint32_t i, k, n, at, left;

	for (i = 0; i < e->desc_blocks; i++) {
		at = i * e->desc_per;
		left = e->groups - at;
		left = left < e->desc_per ? left : e->desc_per;
		if (!read_descs(e, i)) {
			e->wrong += left;
			for (k = 0; k < left; k++)
				note_super(e, at + k);
			continue;
		}
		for (k = 0; k < left; k += n) {
			for (n = 0; n < BATCH && k + n < left; n++)
				ext_parse(e, e->descs + (size_t)e->desc_size *
				    (k + n), at + k + n, &g[n]);
			take_groups(e, g, n);
			if (fs_deep(e->io))
				ext_inodes(e, g, n);
		}
	}
}

/* -------------------------------------------------------------- journal */

/*
 * The flag is set while it is mounted.  But e2fsck also looks at the journal,
 * and replays what it finds.
 */
static void
ext_journal(struct ext *e)
{
	uint32_t g = (e->journal - 1) / e->inodes_per;
	unsigned char head[64];
	struct ext_group group;
	uint64_t at = 0;

	if (e->journal == 0 && (ext_field32(e, S_COMPAT) & COMPAT_JOURNAL) != 0)
		fs_doubt(e->io, FS_UNKNOWN, "its journal is on another device");
	if (e->journal == 0)
		return;
	if (g < e->desc_per && ext_group(e, g, &group))
		at = ext_first_block(e, group.table,
		    (e->journal - 1) % e->inodes_per);
	if (at == 0 || fs_get(e->io, at * e->block, head,
	    sizeof(head)) != 0 || fs_be(head, 4) != 0xc03b3998)
		fs_doubt(e->io, FS_DAMAGED, "its journal cannot be read");
	else if (fs_be(head + JBD2_START, 4) != 0)
		fs_doubt(e->io, FS_DIRTY, "its journal must be replayed");
}

static void
ext_sum_up(struct ext *e)
{
	uint64_t said = ext_field32(e, S_FREE);

	if ((e->incompat & IN_64BIT) != 0)
		said |= (uint64_t)ext_field32(e, S_FREE_HI) << 32;
	if (e->wrong > 0)
		fs_hurt(e->io, "%u of %u block groups cannot be trusted",
		    e->wrong, e->groups);
	else if (!e->meta_csum && fs_exact(e->io) && said != e->free * e->ratio)
		fs_doubt(e->io, FS_DAMAGED, "its counts of free blocks "
		    "disagree: e2fsck");
}

static void
ext_read(void *state)
{
	struct ext *e = state;
	struct fs_io *io = e->io;

	if ((e->incompat & IN_JOURNAL) != 0) {
		fs_doubt(io, FS_UNKNOWN, "it is the journal of "
		    "another file system");
		return;
	}
	fs_label(io, e->super + S_LABEL, 16);
	ext_judge(e);
	io->map->end = e->blocks * e->block;
	if (!io->whole && read_descs(e, 0))
		ext_journal(e);
	if (!io->whole || !fs_exact(io)) {
		ext_read_groups(e);
		ext_sum_up(e);
	}
}

static bool
ext_open(void *state)
{
	struct ext *e = state;
	struct fs_io *io = e->io;

	if (!fs_by_start(io) || !ext_superblock(e, SUPER_AT)) {
		if (!fs_by_copy(io) || !ext_backup(e))
			return false;
		e->backup = true;
		fs_doubt(io, FS_DAMAGED, "its superblock is lost");
	}
	ext_type(e);
	e->descs = fs_alloc(io, e->block);
	e->bits = fs_alloc(io, FS_PIECE);
	e->nodes = fs_alloc(io, (size_t)EXT_DEPTH * e->block);
	return !io->no_memory;
}

static void
ext_close(void *state)
{
	struct ext *e = state;

	free(e->descs);
	free(e->bits);
	free(e->nodes);
}

/*
 * ext2, ext3, ext4: files that contain given blocks, and their names.
 *
 * Like icheck and ncheck of debugfs(8), as far as blocks could be read.  First
 * all inodes are examined for lost blocks, and for being lost themselves; then
 * all directories, for the names of these; then paths follow ".." up to the
 * root.
 */

enum {
	DE_LENGTH = 4, DE_NAME_LENGTH = 6, DE_NAME = 8,	/* offsets in an
							 * entry */
	ENTRIES = 4,		/* start of entries within an inode */
	SHORT_LINK = 60,	/* bytes: a shorter link is in the inode */
	INODES_MOST = 1 << 28,	/* a bit for each */
};

struct search {
	struct ext	*e;
	struct fs_hits	*hits;
	unsigned char	*directories;	/* a bit per inode */
	unsigned char	*block;
	bool		 touched;	/* the inode has a lost block */
};

/* -------------------------------------------------------------- inodes */

static void
ext_touch(void *arg, uint64_t block, uint64_t n, bool data)
{
	struct search *s = arg;

	(void)data;
	s->touched |= fs_hits_is(s->hits, block * s->e->block,
	    n * s->e->block);
}

/* Whether an inode should have a name. */
static bool
has_name(const unsigned char *p, uint32_t ino)
{
	return fs_le(p + EXT_I_LINKS, 2) > 0 &&
	    (ino >= EXT_INO_FIRST || ino == EXT_INO_ROOT);
}

static void
ext_look_at_inode(void *arg, const unsigned char *p, uint32_t ino, uint64_t at)
{
	struct search *s = arg;
	uint64_t mode = fs_le(p + EXT_I_MODE, 2) & EXT_MODE_KIND;
	uint64_t beside = fs_le(p + EXT_I_ACL, 4) |
	    fs_le(p + EXT_I_ACL_HI, 2) << 32;
	bool good = true;

	s->touched = fs_hits_is(s->hits, at, s->e->inode_size);
	if (s->touched)
		fs_hits_add(s->hits, (struct fs_id){ .number = ino }, true);
	if (s->touched || !has_name(p, ino))
		return;
	if (mode == EXT_MODE_DIR)
		s->directories[ino / 8] |= (unsigned char)(1 << ino % 8);
	if (beside > 0 && beside < s->e->blocks)
		ext_touch(s, beside, 1, true);
	if (mode == EXT_MODE_DIR || mode == EXT_MODE_FILE ||
	    (mode == EXT_MODE_LINK && fs_le(p + EXT_I_SIZE, 4) >= SHORT_LINK))
		good = ext_blocks(s->e, p, true, ext_touch, s);
	s->hits->to->more |= !good && !s->touched;
	if (s->touched)
		fs_hits_add(s->hits, (struct fs_id){ .number = ino }, false);
}

static void
ext_search(struct search *s, const unsigned char *only, ext_visit *what)
{
	struct ext_group g;
	uint32_t i;

	for (i = 0; i < s->e->groups && s->e->io->budget > 0; i++)
		if (ext_group(s->e, i, &g))
			ext_each_inode(s->e, &g, only, what, s);
		else
			s->hits->to->more = true;
}

/* --------------------------------------------------------- directories */

static bool
ext_dir_entries(const unsigned char *p, size_t size, fs_entry *tell, void *arg)
{
	size_t at, len;

	for (at = 0; size - at >= DE_NAME; at += len) {
		len = (size_t)fs_le(p + at + DE_LENGTH, 2);
		if (len == 0 || len == UINT16_MAX)
			len = size;		/* of a block of 64 KiB */
		if (len < DE_NAME || len > size - at ||
		    p[at + DE_NAME_LENGTH] > len - DE_NAME)
			return true;
		if (fs_le(p + at, 4) != 0 && !tell(arg,
		    (uint32_t)fs_le(p + at, 4), p + at + DE_NAME,
		    p[at + DE_NAME_LENGTH]))
			return false;
	}
	return true;
}

struct listing {
	struct search	*s;
	fs_entry	*tell;
	void		*arg;
	bool		 over;
};

static void
list_blocks(void *arg, uint64_t block, uint64_t n, bool data)
{
	struct listing *l = arg;
	struct ext *e = l->s->e;

	for (; data && n > 0 && !l->over; block++, n--)
		if (fs_get(e->io, block * e->block, l->s->block, e->block) == 0)
			l->over = !ext_dir_entries(l->s->block, e->block,
			    l->tell, l->arg);
}

/* Encrypted names are left out. */
static void
ext_list_dir(struct search *s, const unsigned char *inode, fs_entry *tell,
    void *arg)
{
	struct listing l = { .s = s, .tell = tell, .arg = arg };
	uint64_t flags = fs_le(inode + EXT_I_FLAGS, 4);

	if ((flags & EXT_FLAG_SECRET) != 0)
		return;
	if ((flags & EXT_FLAG_INLINE) != 0) {
		ext_dir_entries(inode + EXT_I_BLOCK + ENTRIES,
		    EXT_I_BLOCK_SIZE - ENTRIES, tell, arg);
		/* the rest is among the attributes */
		s->hits->to->more |= fs_le(inode + EXT_I_SIZE, 4) >
		    EXT_I_BLOCK_SIZE;
		return;
	}
	ext_blocks(s->e, inode, true, list_blocks, &l);
}

static void
ext_name_all(void *arg, const unsigned char *p, uint32_t ino, uint64_t at)
{
	struct search *s = arg;
	struct fs_dir f = { s->hits, ino };

	(void)at;
	if (any_bit(s->directories, ino, 1))
		ext_list_dir(s, p, fs_entry_hit, &f);
}

/* --------------------------------------------------------------- paths */

/* Read the necessary part of a directory's inode; false if that is lost. */
static bool
ext_dir_inode(struct search *s, uint32_t ino, unsigned char *p)
{
	struct ext *e = s->e;
	struct ext_group g;

	return ino > 0 && ext_group(e, (ino - 1) / e->inodes_per, &g) &&
	    fs_get(e->io, g.table * e->block + (uint64_t)((ino - 1) %
	    e->inodes_per) * e->inode_size, p, EXT_I_LEAST) == 0 &&
	    (fs_le(p + EXT_I_MODE, 2) & EXT_MODE_KIND) == EXT_MODE_DIR;
}

/* The name of a directory, and its parent; NULL if that is unknown. */
static char *
ext_climb(void *arg, struct fs_id *id)
{
	struct search *s = arg;
	struct fs_step step = { .io = s->e->io, .number = id->number };
	unsigned char p[EXT_I_LEAST];

	if (!ext_dir_inode(s, (uint32_t)step.number, p))
		return NULL;
	if ((fs_le(p + EXT_I_FLAGS, 4) & EXT_FLAG_INLINE) != 0)
		step.parent = fs_le(p + EXT_I_BLOCK, 4);
	else
		ext_list_dir(s, p, fs_entry_parent, &step);
	if (ext_dir_inode(s, (uint32_t)step.parent, p))
		ext_list_dir(s, p, fs_entry_name, &step);
	id->number = step.parent;
	return step.name;
}

/* ---------------------------------------------------------------- all */

static void
ext_names(void *state, struct fs_hits *hits)
{
	struct ext *e = state;
	struct search s = { .e = e, .hits = hits };
	size_t inodes = (size_t)e->groups * e->inodes_per;

	if (inodes > INODES_MOST) {
		hits->to->more = true;
		return;
	}
	s.directories = fs_alloc(e->io, inodes / 8 + 1);
	s.block = fs_alloc(e->io, e->block);
	if (s.directories != NULL && s.block != NULL) {
		ext_search(&s, NULL, ext_look_at_inode);
		if (hits->n > 0)
			ext_search(&s, s.directories, ext_name_all);
		fs_hits_tell(hits, (struct fs_id){ .number = EXT_INO_ROOT },
		    ext_climb, &s);
	}
	free(s.directories);
	free(s.block);
}

const struct fs_kind fs_ext = { { "ext2", "ext3", "ext4" }, sizeof(struct ext),
	ext_open, ext_read, ext_names, ext_close };
