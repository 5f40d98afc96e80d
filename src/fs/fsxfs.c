/*
 * XFS: the tree of free extents of each group, ordered by block, if it is valid
 * and its total matches the group's header.
 *
 * The format is that of "XFS Algorithms & Data Structures" (3rd edition) and of
 * the Linux kernel (fs/xfs/libxfs/xfs_format.h).  Blocks reserved for the trees
 * (AGFL) are not in the tree of free extents.
 */
#include <stdlib.h>
#include <string.h>

#include "fsxfs.h"

enum {				/* offsets in the superblock */
	S_BLOCK = 4, S_BLOCKS = 8, S_LOG = 48, S_ROOT = 56,
	S_AG_BLOCKS = 84, S_AGS = 88,
	S_LOG_BLOCKS = 96, S_VERSION = 100, S_SECTOR = 102, S_INODE = 104,
	S_NAME = 108, S_BLOCK_LOG = 120, S_INODE_LOG = 123, S_AG_LOG = 124,
	S_UNFINISHED = 126, S_DIR_LOG = 192, S_MORE = 200, S_RO = 212,
	S_INCOMPAT = 216,
	S_CSUM = 224,
	S_COUNTS = 128,		/* inodes, free ones, free blocks */
	MORE_LAZY = 0x2,
	NAME = 12,
	RO_KNOWN = 0x1 | 0x2 | 0x4 | 0x8,
	IN_KNOWN = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x40 | 0x80,
	IN_REPAIR = 0x10, IN_KINDS = 0x1, IN_SPARSE = 0x2, MORE_KINDS = 0x200,
};

enum {				/* offsets in a group's header, its second
				 * sector */
	F_VERSION = 4, F_NUMBER = 8, F_LENGTH = 12, F_ROOT = 16,
	F_SIZE_ROOT = 20, F_LEVELS = 28, F_SIZE_LEVELS = 32, F_FREE = 52,
	F_CSUM = 216, F_LIST = 48, F_TREES = 60,
	I_COUNT = 16, I_FREE = 28,	/* in the third sector */
	HEADERS = 4,	/* sectors */
};

struct group {			/* the state while reading its tree */
	struct xfs	*x;
	uint32_t	 ag;
	uint64_t	 next;		/* after the last extent */
	uint64_t	 free;		/* blocks */
};

/* Whether a sector or block has the right checksum, which is little endian. */
static bool
xfs_checksum_right(unsigned char *p, size_t size, int at)
{
	uint32_t want = (uint32_t)fs_le(p + at, 4);

	memset(p + at, 0, 4);
	return want == ~fs_crc32c(~UINT32_C(0), p, size);
}

/* ----------------------------------------------------------- superblock */

static bool
xfs_geometry(struct xfs *x, const unsigned char *s)
{
	unsigned version = (unsigned)fs_be(s + S_VERSION, 2) & 15;

	x->v5 = version == 5;
	x->block = (uint32_t)fs_be(s + S_BLOCK, 4);
	x->sector = (uint32_t)fs_be(s + S_SECTOR, 2);
	x->inode = (uint32_t)fs_be(s + S_INODE, 2);
	x->block_log = s[S_BLOCK_LOG];
	x->ag_log = s[S_AG_LOG];
	x->inode_log = s[S_INODE_LOG];
	x->blocks = fs_be(s + S_BLOCKS, 8);
	x->ag_blocks = (uint32_t)fs_be(s + S_AG_BLOCKS, 4);
	x->ags = (uint32_t)fs_be(s + S_AGS, 4);
	x->log = fs_be(s + S_LOG, 8);
	x->log_blocks = (uint32_t)fs_be(s + S_LOG_BLOCKS, 4);
	if (memcmp(s, "XFSB", 4) != 0 || (version != 4 && version != 5) ||
	    !fs_power_of_two(x->block) || x->block < 512 ||
	    x->block > 65536 || !fs_power_of_two(x->sector) ||
	    x->sector < 512 || x->sector > XFS_SUPER ||
	    x->sector > x->block || x->block_log > 16 ||
	    UINT32_C(1) << x->block_log != x->block || x->ag_log > 31 ||
	    !fs_power_of_two(x->inode) || x->inode < 256 ||
	    x->inode > XFS_INODE || x->inode > x->block || x->inode_log > 8 ||
	    x->block >> x->inode_log != x->inode || s[S_DIR_LOG] > 7 ||
	    x->ag_blocks < 64 || x->ag_blocks > UINT32_C(1) << x->ag_log ||
	    x->blocks > INT64_MAX / x->block)
		return false;
	x->directory = UINT32_C(1) << s[S_DIR_LOG];
	x->root = fs_be(s + S_ROOT, 8);
	x->sparse = x->v5 && (fs_be(s + S_INCOMPAT, 4) & IN_SPARSE) != 0;
	x->kinds = x->v5 ? (fs_be(s + S_INCOMPAT, 4) & IN_KINDS) != 0 :
	    (fs_be(s + S_MORE, 4) & MORE_KINDS) != 0;
	x->lazy = x->v5 || (fs_be(s + S_MORE, 4) & MORE_LAZY) != 0;
	x->said = (struct xfs_counts){ .inodes = fs_be(s + S_COUNTS, 8),
		.inodes_free = fs_be(s + S_COUNTS + 8, 8),
		.free = fs_be(s + S_COUNTS + 16, 8) };
	if (x->ags == 0 || x->ags != (x->blocks + x->ag_blocks - 1) /
	    x->ag_blocks)
		return false;
	x->blocks = fs_clamp(x->io, x->blocks, x->block, &x->longer);
	x->ags = (uint32_t)((x->blocks + x->ag_blocks - 1) / x->ag_blocks);
	return x->ags > 0;
}

static bool
xfs_superblock(struct xfs *x, unsigned char *s, uint64_t at)
{
	return fs_get(x->io, at, s, XFS_BASIC) == 0 && xfs_geometry(x, s) &&
	    fs_get(x->io, at, s, x->sector) == 0;
}

static void
xfs_judge(struct xfs *x, unsigned char *s)
{
	uint32_t incompat = (uint32_t)fs_be(s + S_INCOMPAT, 4);

	if (x->longer)
		fs_too_long(x->io);
	if (s[S_UNFINISHED] != 0)
		fs_doubt(x->io, FS_DAMAGED, "mkfs.xfs has not finished it");
	if (!x->v5)
		return;
	if ((incompat & IN_REPAIR) != 0)
		fs_doubt(x->io, FS_DAMAGED, "it needs xfs_repair");
	else if ((incompat & ~(uint32_t)IN_KNOWN) != 0 ||
	    (fs_be(s + S_RO, 4) & ~(uint64_t)RO_KNOWN) != 0)
		fs_doubt(x->io, FS_UNKNOWN, "it has unknown features");
	if (fs_exact(x->io) && !xfs_checksum_right(s, x->sector, S_CSUM))
		fs_doubt(x->io, FS_DAMAGED, "the checksum of its superblock "
		    "is wrong");
}

/* --------------------------------------------------------------- groups */

/* Take a free extent; they must be in order, and not overlap. */
static bool
take_free(void *arg, const unsigned char *record)
{
	struct group *g = arg;
	uint64_t at = fs_be(record, 4), n = fs_be(record + 4, 4);
	uint32_t length = xfs_ag_length(g->x, g->ag);

	if (n == 0 || at < g->next || at >= length || n > length - at)
		return false;
	fs_note_free(g->x->io, xfs_place(g->x, g->ag, at), n * g->x->block);
	g->next = at + n;
	g->free += n;
	return true;
}

/* Read and check the header of a group. */
static bool
xfs_group_header(struct xfs *x, uint32_t ag, unsigned char *f)
{
	if (fs_get(x->io, xfs_place(x, ag, 0) + x->sector, f, x->sector) != 0 ||
	    memcmp(f, "XAGF", 4) != 0)
		return false;
	return !fs_exact(x->io) || (fs_be(f + F_VERSION, 4) == 1 &&
	    fs_be(f + F_NUMBER, 4) == ag &&
	    fs_be(f + F_LENGTH, 4) == xfs_ag_length(x, ag) &&
	    (!x->v5 || xfs_checksum_right(f, x->sector, F_CSUM)));
}

/*
 * Add what a group counts, as the kernel does when it has no sums
 * (xfs_initialize_perag_data).
 */
static void
xfs_add_counts(struct xfs *x, uint32_t ag, const unsigned char *f)
{
	unsigned char i[XFS_SUPER];

	if (fs_get(x->io, xfs_place(x, ag, 0) + UINT64_C(2) * x->sector, i,
	    x->sector) != 0 || memcmp(i, "XAGI", 4) != 0)
		return;
	x->sum.inodes += fs_be(i + I_COUNT, 4);
	x->sum.inodes_free += fs_be(i + I_FREE, 4);
	x->sum.free += fs_be(f + F_FREE, 4) + fs_be(f + F_LIST, 4) +
	    (x->lazy ? fs_be(f + F_TREES, 4) : 0);
}

static void
xfs_read_group(struct xfs *x, uint32_t ag)
{
	struct group g = { .x = x, .ag = ag, .next = 1 };
	const struct xfs_tree by_place = { .magic = { "ABTB", "AB3B" },
		.key = 8, .record = 8, .leaves = true, .take = take_free,
		.arg = &g };
	const struct xfs_tree by_size = { .magic = { "ABTC", "AB3C" },
		.key = 8, .record = 8 };
	unsigned char f[XFS_SUPER];
	bool sound = false, is;

	fs_note_meta(x->io, xfs_place(x, ag, 0),
	    (uint64_t)HEADERS * x->sector);
	is = xfs_group_header(x, ag, f);
	if (is)
		sound = xfs_tree(x, &by_place, ag, (uint32_t)fs_be(f + F_ROOT,
		    4), (uint32_t)fs_be(f + F_LEVELS, 4)) &&
		    g.free == fs_be(f + F_FREE, 4);
	if (sound && fs_exact(x->io))
		xfs_add_counts(x, ag, f);
	if (!sound) {
		x->wrong++;
		if (fs_exact(x->io))
			fs_take_back(x->io, xfs_place(x, ag, 0));
	}
	if ((x->io->how & (FS_META | FS_DEEP)) == 0)
		return;
	if (is && fs_be(f + F_SIZE_LEVELS, 4) > 1)
		xfs_tree(x, &by_size, ag, (uint32_t)fs_be(f + F_SIZE_ROOT, 4),
		    (uint32_t)fs_be(f + F_SIZE_LEVELS, 4));
	xfs_inodes(x, ag);
}

static void
xfs_read(struct xfs *x, unsigned char *s)
{
	uint32_t ag;

	xfs_judge(x, s);
	x->io->map->end = x->blocks * x->block;
	xfs_judge_log(x);
	if (fs_exact(x->io) && x->io->whole)
		return;
	for (ag = 0; ag < x->ags && x->io->budget > 0; ag++)
		xfs_read_group(x, ag);
	if (ag < x->ags)
		x->wrong += x->ags - ag;
	if (x->wrong > 0)
		fs_hurt(x->io, "%u of %u allocation groups cannot be trusted",
		    x->wrong, x->ags);
	else if (fs_exact(x->io) && memcmp(&x->sum, &x->said,
	    sizeof(x->sum)) != 0)
		fs_doubt(x->io, FS_DAMAGED, "its counts of inodes or free "
		    "blocks disagree: xfs_repair");
	if (fs_contradicts(x->io))
		fs_doubt(x->io, FS_DAMAGED, "it calls its own structures free: "
		    "xfs_repair");
}

/* For FS_ORDER only: the second group begins with a backup; find it. */
static bool
xfs_backup(struct xfs *x, unsigned char *s)
{
	static const unsigned parts[] = { 4, 8, 16, 32, 64 };
	uint64_t block, at;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (block = 4096; block <= 65536; block *= 16) {
			/* mkfs.xfs rounds so that all groups fit */
			at = (x->io->src->length / block + parts[i] - 1) /
			    parts[i] * block;
			if (xfs_superblock(x, s, at) &&
			    (uint64_t)x->ag_blocks * x->block == at)
				return true;
		}
	return false;
}

bool
xfs_open(struct xfs *x, unsigned char *s)
{
	if (!fs_by_start(x->io) || !xfs_superblock(x, s, 0)) {
		if (!fs_by_copy(x->io) || !xfs_backup(x, s))
			return false;
		fs_doubt(x->io, FS_DAMAGED, "its superblock is lost");
	}
	x->nodes = fs_alloc(x->io, (size_t)2 * XFS_LEVELS * x->block);
	x->buf = fs_alloc(x->io, FS_PIECE);
	return !x->io->poor;
}

bool
fs_read_xfs(struct fs_io *io)
{
	struct xfs x = { .io = io };
	unsigned char s[XFS_SUPER];

	if (!xfs_open(&x, s)) {
		free(x.nodes);
		free(x.buf);
		return false;
	}
	memcpy(io->map->type, "xfs", sizeof("xfs"));
	fs_label(io, s + S_NAME, NAME);
	xfs_read(&x, s);
	free(x.nodes);
	free(x.buf);
	return true;
}
