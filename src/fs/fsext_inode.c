/*
 * ext2, ext3, ext4: blocks that lead to the data of files, for a rescue that
 * reads them first.  Every number is only a guess, and wrong ones are ignored.
 *
 * A block that lists only data blocks is noted without being read.
 */
#include <string.h>

#include "fsext.h"

enum {				/* offsets in a node of an extent tree, and its
				 * entries */
	NODE_MAGIC = 0xf30a,
	N_ENTRIES = 2, N_DEPTH = 6, N_SIZE = 12,
	E_LENGTH = 4, E_START_HI = 6, E_START = 8,	/* in a leaf */
	X_LEAF = 4, X_LEAF_HI = 8,			/* in other nodes */
	LENGTH_MOST = 32768,	/* above: that many less, and not yet written */
};

enum { DIRECT = 12, LEVELS = 3 };

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

bool
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
ext_read_inode(struct ext *e, const unsigned char *p, uint32_t ino)
{
	struct walk w = { .e = e, .take = ext_inode_note, .arg = e };
	uint64_t mode = fs_le(p + EXT_I_MODE, 2) & EXT_MODE_KIND;
	bool whole;

	if (fs_le(p + EXT_I_LINKS, 2) == 0 && ino >= EXT_INO_FIRST)
		return;
	whole = mode == EXT_MODE_DIR || ino == e->journal ||
	    ino == EXT_INO_RESIZE;
	ext_inode_tell(&w, fs_le(p + EXT_I_ACL, 4) |
	    fs_le(p + EXT_I_ACL_HI, 2) << 32, 1, false);
	if (whole || mode == EXT_MODE_FILE)
		ext_blocks(e, p, whole, ext_inode_note, e);
}

static void
ext_inode_table(struct ext *e, const struct ext_group *g)
{
	uint32_t n = e->inodes_per - (uint32_t)g->unused, i, k, many;
	uint32_t ino = g->number * e->inodes_per + 1, most;
	uint64_t at = g->table * e->block;

	most = FS_PIECE / e->inode_size;
	for (i = 0; i < n; i += many) {
		many = n - i < most ? n - i : most;
		fs_get_units(e->io, at + (uint64_t)i * e->inode_size, e->bits,
		    e->inode_size, many, 0);
		for (k = 0; k < many; k++)
			ext_read_inode(e, e->bits + (size_t)k * e->inode_size,
			    ino + i + k);
	}
}

void
ext_inodes(struct ext *e, const struct ext_group *g, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (g[i].sound)
			ext_inode_table(e, &g[i]);
}

uint64_t
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
