/*
 * XFS: the trees of its groups, checked as far as their blocks allow, and the
 * meaning of block numbers.
 */
#include <string.h>

#include "fsxfs.h"

enum {				/* offsets in a block of a tree: */
	T_LEVEL = 4, T_RECORDS = 6,
	T_PLACE = 16, T_OWNER = 48, T_CSUM = 52,	/* version 5 */
};

uint32_t
xfs_ag_length(const struct xfs *x, uint32_t ag)
{
	uint64_t left = x->blocks - (uint64_t)ag * x->ag_blocks;

	return left < x->ag_blocks ? (uint32_t)left : x->ag_blocks;
}

uint64_t
xfs_place(const struct xfs *x, uint32_t ag, uint64_t block)
{
	return ((uint64_t)ag * x->ag_blocks + block) * x->block;
}

uint64_t
xfs_place_of(const struct xfs *x, uint64_t number)
{
	uint64_t ag = number >> x->ag_log;
	uint64_t block = number & ((UINT64_C(1) << x->ag_log) - 1);

	if (ag >= x->ags || block >= xfs_ag_length(x, (uint32_t)ag))
		return UINT64_MAX;
	return xfs_place(x, (uint32_t)ag, block);
}

/* Read a block of a tree, and check it. */
static bool
xfs_block_load(struct xfs *x, const struct xfs_tree *t, uint32_t ag,
    uint32_t block, uint32_t level)
{
	unsigned char *p = x->nodes + (size_t)level * x->block;
	uint64_t at = xfs_place(x, ag, block);
	uint32_t want;

	if (block == 0 || block >= xfs_ag_length(x, ag))
		return false;
	fs_note_meta(x->io, at, x->block);
	if (fs_get(x->io, at, p, x->block) != 0 ||
	    memcmp(p, t->magic[x->v5], 4) != 0 ||
	    fs_be(p + T_LEVEL, 2) != level)
		return false;
	if (!x->v5 || !fs_exact(x->io))
		return true;
	want = (uint32_t)fs_le(p + T_CSUM, 4);
	memset(p + T_CSUM, 0, 4);
	return want == ~fs_crc32c(~UINT32_C(0), p, x->block) &&
	    fs_be(p + T_OWNER, 4) == ag &&
	    fs_be(p + T_PLACE, 8) == at / XFS_BASIC;
}

static bool
xfs_block_walk(struct xfs *x, const struct xfs_tree *t, uint32_t ag,
    uint32_t block, uint32_t level, bool root)
{
	const unsigned char *p = x->nodes + (size_t)level * x->block;
	uint32_t head = x->v5 ? XFS_HEAD_5 : XFS_HEAD_4, n, i, most, child;
	bool sound = true;

	if (!xfs_block_load(x, t, ag, block, level))
		return false;
	n = (uint32_t)fs_be(p + T_RECORDS, 2);
	if (n == 0 && !root)
		return false;
	if (level == 0) {
		if (n > (x->block - head) / t->record)
			return false;
		for (i = 0; i < n && sound; i++)
			sound = t->take(t->arg,
			    p + head + (size_t)i * t->record);
		return sound;
	}
	most = (x->block - head) / (t->key + 4);
	if (n > most)
		return false;
	for (i = 0; i < n && (sound || !fs_exact(x->io)); i++) {
		child = (uint32_t)fs_be(p + head +
		    (size_t)most * t->key + (size_t)i * 4, 4);
		if (level == 1 && !t->leaves)
			fs_note_meta(x->io, xfs_place(x, ag, child), x->block);
		else
			sound &= xfs_block_walk(x, t, ag, child, level - 1,
			    false);
	}
	return sound;
}

bool
xfs_tree(struct xfs *x, const struct xfs_tree *t, uint32_t ag, uint32_t root,
    uint32_t levels)
{
	return levels >= 1 && levels <= XFS_LEVELS &&
	    xfs_block_walk(x, t, ag, root, levels - 1, true);
}
