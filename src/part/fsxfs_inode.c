/*
 * XFS: where the inodes are, and what of the file system their contents are:
 * folders, and the blocks that lead to a file's data.
 */
#include <string.h>

#include "fsxfs.h"

enum {				/* of a group's third sector, the AGI */
	I_ROOT = 20, I_LEVELS = 24, I_FREE_ROOT = 328, I_FREE_LEVELS = 332,
	SECTOR = 512,
	CHUNK = 64,		/* inodes */
};

enum {				/* of an inode */
	D_MODE = 2, D_VERSION = 4, D_FORMAT = 5, D_EXTENTS = 76,
	D_ATTRIBUTES = 82,	/* where they begin, in units of 8 bytes */
	D_HEAD_2 = 100, D_HEAD_3 = 176,
	KIND = 0xf000, FOLDER = 0x4000,
	IN_EXTENTS = 2, IN_TREE = 3,
	RECORD = 16,		/* bytes, of an extent */
	L_LEVEL = 4, L_RECORDS = 6, L_HEAD_4 = 24, L_HEAD_5 = 72,
};

struct inodes {
	struct xfs	*x;
	uint32_t	 ag;
	uint64_t	 next;		/* the first that is not seen yet */
};

/* An extent: 54 bits of an offset, 52 of a block number, 21 of a length. */
static void
note_extents(struct xfs *x, const unsigned char *p, size_t n)
{
	uint64_t high, low, at;

	for (; n > 0; n--, p += RECORD) {
		high = fs_be(p, 8);
		low = fs_be(p + 8, 8);
		at = xfs_place_of(x, (high & 0x1ff) << 43 | low >> 21);
		if (at != UINT64_MAX)
			fs_note_meta(x->io, at, (low & 0x1fffff) * x->block);
	}
}

/* A block of a file's tree; its leaves are read for folders alone. */
static void
tree(struct xfs *x, uint64_t number, unsigned level, bool folder)
{
	unsigned char *p = x->nodes + (size_t)(XFS_LEVELS + level) * x->block;
	uint64_t at = xfs_place_of(x, number);
	size_t head = x->v5 ? L_HEAD_5 : L_HEAD_4, n, i, most;

	if (at == UINT64_MAX)
		return;
	fs_note_meta(x->io, at, x->block);
	if ((level == 0 && !folder) || fs_get(x->io, at, p, x->block) != 0 ||
	    memcmp(p, x->v5 ? "BMA3" : "BMAP", 4) != 0 ||
	    fs_be(p + L_LEVEL, 2) != level)
		return;
	n = (size_t)fs_be(p + L_RECORDS, 2);
	most = (x->block - head) / RECORD;
	if (n > most)
		return;
	if (level == 0)
		note_extents(x, p + head, n);
	for (i = 0; level > 0 && i < n; i++)
		tree(x, fs_be(p + head + most * 8 + i * 8, 8), level - 1,
		    folder);
}

/* The root of a file's tree stands in the inode. */
static void
root(struct xfs *x, const unsigned char *fork, size_t room, bool folder)
{
	unsigned level = (unsigned)fs_be(fork, 2);
	size_t n = (size_t)fs_be(fork + 2, 2), i, most = (room - 4) / RECORD;

	if (level == 0 || level >= XFS_LEVELS || n > most)
		return;
	for (i = 0; i < n; i++)
		tree(x, fs_be(fork + 4 + most * 8 + i * 8, 8), level - 1,
		    folder);
}

static void
inode(struct xfs *x, const unsigned char *p)
{
	bool folder = (fs_be(p + D_MODE, 2) & KIND) == FOLDER;
	size_t head = p[D_VERSION] >= 3 ? D_HEAD_3 : D_HEAD_2;
	size_t room = x->inode - head, n;

	if (memcmp(p, "IN", 2) != 0)
		return;
	if (p[D_ATTRIBUTES] != 0 && (size_t)p[D_ATTRIBUTES] * 8 < room)
		room = (size_t)p[D_ATTRIBUTES] * 8;
	if (p[D_FORMAT] == IN_EXTENTS && folder) {
		n = (size_t)fs_be(p + D_EXTENTS, 4);
		n = n < room / RECORD ? n : room / RECORD;
		note_extents(x, p + head, n);
	} else if (p[D_FORMAT] == IN_TREE && room > 4 + RECORD) {
		root(x, p + head, room, folder);
	}
}

/* A chunk of 64 inodes, which are in a row but for holes of sparse ones. */
static bool
take_chunk(void *arg, const unsigned char *record)
{
	struct inodes *i = arg;
	struct xfs *x = i->x;
	uint64_t first = fs_be(record, 4), at, len, n;
	size_t k;

	at = first >> x->inode_log;
	len = (uint64_t)CHUNK * x->inode;
	if (first < i->next || at == 0 || at >= xfs_ag_length(x, i->ag))
		return false;
	i->next = first + CHUNK;
	at = xfs_place(x, i->ag, at);
	fs_note_meta(x->io, at, len);
	for (; fs_deep(x->io) && len > 0; len -= n, at += n) {
		n = len < FS_PIECE ? len : FS_PIECE;
		fs_get_units(x->io, at, x->buf, x->inode,
		    (size_t)n / x->inode, 0);
		for (k = 0; k < n; k += x->inode)
			inode(x, x->buf + k);
	}
	return true;
}

void
xfs_inodes(struct xfs *x, uint32_t ag)
{
	struct inodes i = { .x = x, .ag = ag };
	const struct xfs_tree all = { .magic = { "IABT", "IAB3" }, .key = 4,
		.record = 16, .leaves = true, .take = take_chunk, .arg = &i };
	const struct xfs_tree spare = { .magic = { "FIBT", "FIB3" }, .key = 4,
		.record = 16, .take = take_chunk, .arg = &i };
	unsigned char p[SECTOR];

	if (fs_get(x->io, xfs_place(x, ag, 0) + 2 * (uint64_t)x->sector, p,
	    sizeof(p)) != 0 || memcmp(p, "XAGI", 4) != 0)
		return;
	xfs_tree(x, &all, ag, (uint32_t)fs_be(p + I_ROOT, 4),
	    (uint32_t)fs_be(p + I_LEVELS, 4));
	if (fs_be(p + I_FREE_ROOT, 4) != 0 && fs_be(p + I_FREE_LEVELS, 4) > 1)
		xfs_tree(x, &spare, ag, (uint32_t)fs_be(p + I_FREE_ROOT, 4),
		    (uint32_t)fs_be(p + I_FREE_LEVELS, 4));
}
