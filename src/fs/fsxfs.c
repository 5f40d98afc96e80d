/*
 * XFS: the tree of free extents of each group, ordered by block, if it is valid
 * and its total matches the group's header.
 *
 * The format is that of "XFS Algorithms & Data Structures" (3rd edition) and of
 * the Linux kernel (fs/xfs/libxfs/xfs_format.h).  Blocks reserved for the trees
 * (AGFL) are not in the tree of free extents.
 */
#include "fsxfs.h"

#include <stdlib.h>
#include <string.h>

#include "fshits.h"

/*
 * XFS: the trees of its groups, checked as far as their blocks allow, and the
 * meaning of block numbers.
 */

enum {				/* offsets in a block of a tree: */
	T_LEVEL = 4, T_RECORDS = 6,
	T_PLACE = 16, T_OWNER = 48, T_CSUM = 52,	/* version 5 */
};

static uint32_t
xfs_ag_length(const struct xfs *x, uint32_t ag)
{
	uint64_t left = x->blocks - (uint64_t)ag * x->ag_blocks;

	return left < x->ag_blocks ? (uint32_t)left : x->ag_blocks;
}

/* The byte where a block of a group begins; and the blocks of a group. */
static uint64_t
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
		for (i = 0; t->take != NULL && i < n && sound; i++)
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

/*
 * XFS: whether the log was closed: its last record must be an unmount.
 *
 * The log is a ring of blocks of 512 bytes.  Each begins with the number of the
 * cycle in which it was written; in the first block of a record, this comes
 * after a magic number.  The log ends where this number drops, as in
 * fs/xfs/xfs_log_recover.c (xlog_find_head, xlog_check_unmount_rec).  The
 * kernel also looks for blocks written out of order before a crash; here such a
 * log ends either where the kernel finds its end, or after records that are not
 * an unmount.
 */

enum {				/* offsets and values in a record */
	MAGIC = (int)0xfeedbabe,
	R_CYCLE = 4, R_VERSION = 8, R_LENGTH = 12, R_OPS = 40, R_SIZE = 320,
	HEAD_DATA = 32 << 10,	/* bytes covered by a block of its header */
	VERSION_2 = 2,
	O_FLAGS = 9, UNMOUNT = 0x20,	/* flags of an operation */
	BACK = 128,		/* blocks to search first */
	BACK_MOST = 600,	/* a record of 256 KiB and its header */
};

struct ring {
	struct xfs	*x;
	uint64_t	 at;		/* byte of its first block */
	uint64_t	 blocks;	/* of 512 bytes */
	bool		 failed;
};

static uint32_t
cycle_of(const unsigned char *block)
{
	uint32_t n = (uint32_t)fs_be(block, 4);

	return n == (uint32_t)MAGIC ? (uint32_t)fs_be(block + R_CYCLE, 4) : n;
}

static uint32_t
xfs_log_cycle(struct ring *r, uint64_t i)
{
	unsigned char head[8] = { 0 };

	if (fs_get(r->x->io, r->at + i * XFS_BASIC, head, sizeof(head)) != 0)
		r->failed = true;
	return cycle_of(head);
}

/* Find the first block of an older cycle than the first block of all. */
static uint64_t
xfs_log_end(struct ring *r)
{
	uint32_t first = xfs_log_cycle(r, 0);
	uint64_t low = 0, high = r->blocks - 1, mid;

	if (xfs_log_cycle(r, high) == first)
		return r->blocks;
	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (xfs_log_cycle(r, mid) == first)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/*
 * Whether the record at p, n blocks before the end of the log, is the last one
 * and an unmount.
 */
static bool
xfs_log_unmount(const unsigned char *p, uint64_t n)
{
	uint64_t size = fs_be(p + R_SIZE, 4), heads = 1, length;
	const unsigned char *op;

	if ((fs_be(p + R_VERSION, 4) & VERSION_2) != 0 && size > HEAD_DATA)
		heads = (size + HEAD_DATA - 1) / HEAD_DATA;
	length = (fs_be(p + R_LENGTH, 4) + XFS_BASIC - 1) / XFS_BASIC;
	if (length == 0 || heads >= n || heads + length != n ||
	    fs_be(p + R_OPS, 4) != 1)
		return false;
	op = p + heads * XFS_BASIC;
	return cycle_of(op) == fs_be(p + R_CYCLE, 4) &&
	    (op[O_FLAGS] & UNMOUNT) != 0;
}

/*
 * Find the last record in the "n" blocks before the end.  Returns 1 if it is an
 * unmount, 0 if not, -1 if there is none.
 */
static int
last_record(struct ring *r, uint64_t end, uint64_t n, unsigned char *buf)
{
	uint64_t i;

	n = n < end ? n : end;
	if (fs_get(r->x->io, r->at + (end - n) * XFS_BASIC, buf,
	    (size_t)n * XFS_BASIC) != 0) {
		r->failed = true;
		return 0;
	}
	for (i = n; i-- > 0; )
		if (fs_be(buf + i * XFS_BASIC, 4) == (uint32_t)MAGIC)
			return xfs_log_unmount(buf + i * XFS_BASIC, n - i);
	return n < end ? -1 : 0;
}

static bool
xfs_log_closed(struct ring *r)
{
	unsigned char *buf;
	uint64_t end;
	int is;

	end = xfs_log_end(r);
	buf = fs_alloc(r->x->io, (size_t)BACK_MOST * XFS_BASIC);
	if (buf == NULL)
		return false;
	is = last_record(r, end, BACK, buf);
	if (is < 0)
		is = last_record(r, end, BACK_MOST, buf);
	free(buf);
	return is > 0;
}

void
xfs_judge_log(struct xfs *x)
{
	struct ring r = { .x = x, .at = xfs_place_of(x, x->log) };
	bool is;

	if (x->log == 0) {
		fs_doubt(x->io, FS_UNKNOWN, "its log is on another device");
		return;
	}
	r.blocks = (uint64_t)x->log_blocks * (x->block / XFS_BASIC);
	if (r.at == UINT64_MAX || r.blocks < 2) {
		fs_doubt(x->io, FS_DAMAGED, "its log is not found");
		return;
	}
	fs_note_meta(x->io, r.at, r.blocks * XFS_BASIC);
	is = xfs_log_closed(&r);
	if (r.failed)
		fs_doubt(x->io, FS_DAMAGED, "its log cannot be read");
	else if (!is)
		fs_doubt(x->io, FS_DIRTY, "its log must be replayed");
}

/*
 * XFS: the inodes, and metadata in their contents: directories, and blocks that
 * lead to the data of files.
 */

enum {				/* offsets in a group's third sector, the AGI */
	I_ROOT = 20, I_LEVELS = 24, I_FREE_ROOT = 328, I_FREE_LEVELS = 332,
	SECTOR = 512,
	CHUNK = 64,		/* inodes per chunk */
	C_HOLES = 4, C_FREE = 8,	/* in a record; a bit for a hole is: */
	HOLE = 4,		/* inodes per chunk */
};

enum {				/* offsets in an inode */
	D_VERSION = 4, D_MANY = 24, D_EXTENTS = 76, D_BESIDE = 80,
	D_BESIDE_FORMAT = 83, D_FLAGS_2 = 120,
	MANY = 0x10,		/* D_MANY has the extents, else D_EXTENTS */
	D_HEAD_2 = 100, D_HEAD_3 = 176,
	IN_EXTENTS = 2, IN_TREE = 3,
	RECORD = 16,		/* bytes of an extent */
	L_LEVEL = 4, L_RECORDS = 6, L_HEAD_4 = 24, L_HEAD_5 = 72,
};

struct inodes {
	struct xfs	*x;
	uint32_t	 ag;
	uint64_t	 next;		/* the first not visited yet */
	xfs_visit	*visit;		/* or NULL */
	void		*arg;
};

struct fork {
	struct xfs	*x;
	bool		 leaves;	/* read the leaves of its tree too */
	xfs_take	*take;
	void		*arg;
	bool		 wrong;		/* part of it is invalid or lost */
};

/* ---------------------------------------------------------------- forks */

/* An extent: 54 bits of an offset, 52 of a block number, 21 of a length. */
static void
xfs_fork_extents(struct fork *f, const unsigned char *p, size_t n)
{
	uint64_t high, low, at;
	struct xfs *x = f->x;

	for (; n > 0; n--, p += RECORD) {
		high = fs_be(p, 8);
		low = fs_be(p + 8, 8);
		at = xfs_place_of(x, (high & 0x1ff) << 43 | low >> 21);
		if (at == UINT64_MAX)
			f->wrong = true;
		else
			f->take(f->arg, (high & INT64_MAX) >> 9, at,
			    (low & 0x1fffff) * x->block, false);
	}
}

/* A block of a file's tree. */
static void
xfs_fork_tree(struct fork *f, uint64_t number, unsigned level)
{
	struct xfs *x = f->x;
	unsigned char *p = x->nodes + (size_t)(XFS_LEVELS + level) * x->block;
	uint64_t at = xfs_place_of(x, number);
	size_t head = x->v5 ? L_HEAD_5 : L_HEAD_4, n, i, most;

	f->wrong |= at == UINT64_MAX;
	if (at == UINT64_MAX)
		return;
	f->take(f->arg, 0, at, x->block, true);
	if (level == 0 && !f->leaves)
		return;
	n = fs_get(x->io, at, p, x->block) != 0 ? SIZE_MAX :
	    (size_t)fs_be(p + L_RECORDS, 2);
	most = (x->block - head) / RECORD;
	if (n > most || memcmp(p, x->v5 ? "BMA3" : "BMAP", 4) != 0 ||
	    fs_be(p + L_LEVEL, 2) != level) {
		f->wrong = true;
		return;
	}
	if (level == 0)
		xfs_fork_extents(f, p + head, n);
	for (i = 0; level > 0 && i < n; i++)
		xfs_fork_tree(f, fs_be(p + head + most * 8 + i * 8, 8), level -
		    1);
}

/* The root of a file's tree, which is in the inode. */
static void
xfs_fork_root(struct fork *f, const unsigned char *p, size_t room)
{
	unsigned level = (unsigned)fs_be(p, 2);
	size_t n = (size_t)fs_be(p + 2, 2), i, most = (room - 4) / RECORD;

	if (most == 0 || level == 0 || level >= XFS_LEVELS || n > most) {
		f->wrong = true;
		return;
	}
	for (i = 0; i < n; i++)
		xfs_fork_tree(f, fs_be(p + 4 + most * 8 + i * 8, 8), level - 1);
}

/* Where a fork begins in the inode, and how many bytes it has there. */
static const unsigned char *
xfs_fork_of(const struct xfs *x, const unsigned char *p, bool beside,
    size_t *room)
{
	size_t head = p[D_VERSION] >= 3 ? D_HEAD_3 : D_HEAD_2;
	size_t all = x->inode - head, from = (size_t)p[XFS_D_BESIDE_AT] * 8;

	if (from >= all)
		from = 0;
	*room = beside ? from > 0 ? all - from : 0 : from > 0 ? from : all;
	return p + head + (beside ? from : 0);
}

/* How many extents the inode should have. */
static size_t
xfs_record_count(const unsigned char *p, bool beside)
{
	bool many = p[D_VERSION] >= 3 && (fs_be(p + D_FLAGS_2, 8) & MANY) != 0;

	if (many)
		return (size_t)(beside ? fs_be(p + D_EXTENTS, 4) :
		    fs_be(p + D_MANY, 8));
	return (size_t)(beside ? fs_be(p + D_BESIDE, 2) :
	    fs_be(p + D_EXTENTS, 4));
}

bool
xfs_fork(struct xfs *x, const unsigned char *p, bool beside, bool leaves,
    xfs_take *take, void *arg)
{
	struct fork f = { .x = x, .leaves = leaves, .take = take, .arg = arg };
	unsigned format = p[beside ? D_BESIDE_FORMAT : XFS_D_FORMAT];
	const unsigned char *at;
	size_t room, n;

	at = xfs_fork_of(x, p, beside, &room);
	if (room == 0)
		return true;
	n = xfs_record_count(p, beside);
	if (format == IN_EXTENTS) {
		f.wrong = n > room / RECORD;
		xfs_fork_extents(&f, at, n < room / RECORD ? n : room / RECORD);
	} else if (format == IN_TREE) {
		xfs_fork_root(&f, at, room);
	} else {
		f.wrong = format > IN_TREE;
	}
	return !f.wrong;
}

/* --------------------------------------------------------------- inodes */

/* Note metadata: directories, and blocks that lead to data. */
static void
xfs_inode_note(void *arg, uint64_t from, uint64_t at, uint64_t len, bool leads)
{
	struct inodes *i = arg;

	(void)from, (void)leads;
	fs_note_meta(i->x->io, at, len);
}

static void
note_leads(void *arg, uint64_t from, uint64_t at, uint64_t len, bool leads)
{
	if (leads)
		xfs_inode_note(arg, from, at, len, leads);
}

static void
note_inode(struct xfs *x, const unsigned char *p, uint64_t number, uint64_t at,
    void *arg)
{
	bool directory = (fs_be(p + XFS_D_MODE, 2) & XFS_KIND) == XFS_DIR;

	(void)number, (void)at;
	if (memcmp(p, "IN", 2) == 0)
		xfs_fork(x, p, false, directory, directory ? xfs_inode_note :
		    note_leads, arg);
}

/* Whether an inode of a chunk exists and is in use. */
static bool
xfs_inode_in_use(const struct xfs *x, const unsigned char *record, size_t i)
{
	if (x->sparse && (fs_be(record + C_HOLES, 2) >> i / HOLE & 1) != 0)
		return false;
	return (fs_be(record + C_FREE, 8) >> i & 1) == 0;
}

static void
visit_chunk(struct inodes *i, const unsigned char *record, uint64_t first,
    uint64_t at)
{
	struct xfs *x = i->x;
	size_t k;

	_Static_assert(CHUNK * XFS_INODE <= FS_PIECE, "room in x->buf");
	fs_get_units(x->io, at, x->buf, x->inode, CHUNK, 0);
	for (k = 0; k < CHUNK; k++)
		if (xfs_inode_in_use(x, record, k))
			i->visit(x, x->buf + k * x->inode, first + k,
			    at + k * x->inode, i->arg);
}

/* Take a chunk of 64 inodes, contiguous except for the holes of sparse ones. */
static bool
take_chunk(void *arg, const unsigned char *record)
{
	struct inodes *i = arg;
	struct xfs *x = i->x;
	uint64_t first = fs_be(record, 4), at;

	at = first >> x->inode_log;
	if (first < i->next || at == 0 || at >= xfs_ag_length(x, i->ag))
		return false;
	i->next = first + CHUNK;
	at = xfs_place(x, i->ag, at);
	fs_note_meta(x->io, at, (uint64_t)CHUNK * x->inode);
	if (i->visit != NULL)
		visit_chunk(i, record, (uint64_t)i->ag << (x->ag_log +
		    x->inode_log) | first, at);
	return true;
}

/* Read as much as needed of a group's inode header. */
static bool
xfs_fork_header(struct xfs *x, uint32_t ag, unsigned char *p)
{
	return fs_get(x->io, xfs_place(x, ag, 0) + 2 * (uint64_t)x->sector, p,
	    SECTOR) == 0 && memcmp(p, "XAGI", 4) == 0;
}

bool
xfs_each(struct xfs *x, uint32_t ag, xfs_visit *visit, void *arg)
{
	struct inodes i = { .x = x, .ag = ag, .visit = visit, .arg = arg };
	const struct xfs_tree all = { .magic = { "IABT", "IAB3" }, .key = 4,
		.record = 16, .leaves = true, .take = take_chunk, .arg = &i };
	unsigned char p[SECTOR];

	return xfs_fork_header(x, ag, p) && xfs_tree(x, &all, ag,
	    (uint32_t)fs_be(p + I_ROOT, 4), (uint32_t)fs_be(p + I_LEVELS, 4));
}

void
xfs_inodes(struct xfs *x, uint32_t ag)
{
	struct inodes i = { .x = x, .ag = ag };
	const struct xfs_tree spare = { .magic = { "FIBT", "FIB3" }, .key = 4,
		.record = 16 };
	unsigned char p[SECTOR];

	xfs_each(x, ag, fs_deep(x->io) ? note_inode : NULL, &i);
	if (xfs_fork_header(x, ag, p) && fs_be(p + I_FREE_ROOT, 4) != 0 &&
	    fs_be(p + I_FREE_LEVELS, 4) > 1)
		xfs_tree(x, &spare, ag, (uint32_t)fs_be(p + I_FREE_ROOT, 4),
		    (uint32_t)fs_be(p + I_FREE_LEVELS, 4));
}

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
xfs_superblock(struct xfs *x, uint64_t at)
{
	unsigned char *s = x->super;

	return fs_get(x->io, at, s, XFS_BASIC) == 0 && xfs_geometry(x, s) &&
	    fs_get(x->io, at, s, x->sector) == 0;
}

static void
xfs_judge(struct xfs *x)
{
	unsigned char *s = x->super;
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

	fs_note_meta(x->io, xfs_place(x, ag, 0), (uint64_t)HEADERS * x->sector);
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
xfs_read(void *state)
{
	struct xfs *x = state;
	uint32_t ag;

	fs_label(x->io, x->super + S_NAME, NAME);
	xfs_judge(x);
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
xfs_backup(struct xfs *x)
{
	static const unsigned parts[] = { 4, 8, 16, 32, 64 };
	uint64_t block, at;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (block = 4096; block <= 65536; block *= 16) {
			/* mkfs.xfs rounds so that all groups fit */
			at = (x->io->src->length / block + parts[i] - 1) /
			    parts[i] * block;
			if (xfs_superblock(x, at) &&
			    (uint64_t)x->ag_blocks * x->block == at)
				return true;
		}
	return false;
}

static bool
xfs_open(void *state)
{
	struct xfs *x = state;

	if (!fs_by_start(x->io) || !xfs_superblock(x, 0)) {
		if (!fs_by_copy(x->io) || !xfs_backup(x))
			return false;
		fs_doubt(x->io, FS_DAMAGED, "its superblock is lost");
	}
	x->nodes = fs_alloc(x->io, (size_t)2 * XFS_LEVELS * x->block);
	x->buf = fs_alloc(x->io, FS_PIECE);
	return !x->io->no_memory;
}

static void
xfs_close(void *state)
{
	struct xfs *x = state;

	free(x->nodes);
	free(x->buf);
}

/*
 * XFS: files that contain given blocks, and their names.
 *
 * First all inodes are examined for lost blocks, and for being lost themselves;
 * then all directories, for the names of these; then paths follow ".." up to
 * the root.
 */

enum {				/* offsets in a directory within its inode */
	S_COUNT = 0, S_LONG = 1, S_PARENT = 2,
	SE_NAME = 3,		/* offset of an entry's name */
};

enum {				/* offsets in a directory block */
	B_HEAD_4 = 16, B_HEAD_5 = 64, B_TAIL = 8, B_LEAF = 8,
	BE_LENGTH = 8, BE_NAME = 9, BE_TAG = 2, BE_ALIGN = 8,
	UNUSED = 0xffff, U_LENGTH = 2,
};

/* beyond this byte a directory has only hashes */
static const uint64_t names_end = UINT64_C(32) << 30;

struct search {
	struct xfs	*x;
	struct fs_hits	*hits;
	unsigned char	*block;		/* a block of a directory */
	bool		 touched;	/* the inode has a lost block */
};

/* -------------------------------------------------------------- inodes */

static void
xfs_touch(void *arg, uint64_t from, uint64_t at, uint64_t len, bool leads)
{
	struct search *s = arg;

	(void)from, (void)leads;
	s->touched |= fs_hits_is(s->hits, at, len);
}

static void
xfs_look_at_inode(struct xfs *x, const unsigned char *p, uint64_t number,
    uint64_t at, void *arg)
{
	struct search *s = arg;
	struct fs_id id = { .number = number };
	bool elsewhere = (fs_be(p + XFS_D_FLAGS, 2) & XFS_ELSEWHERE) != 0;
	bool good;

	if (fs_hits_is(s->hits, at, x->inode)) {
		fs_hits_add(s->hits, id, true);
		return;
	}
	if (memcmp(p, "IN", 2) != 0) {
		s->hits->to->more = true;
		return;
	}
	s->touched = false;
	good = elsewhere || xfs_fork(x, p, false, true, xfs_touch, s);
	good &= xfs_fork(x, p, true, true, xfs_touch, s);
	s->hits->to->more |= !good && !s->touched;
	if (s->touched)
		fs_hits_add(s->hits, id, false);
}

/* --------------------------------------------------------- directories */

struct listing {
	struct search	*s;
	fs_entry	*tell;
	void		*arg;
	bool		 over;
};

/* List the entries within the inode. */
static void
list_inside(struct listing *l, const unsigned char *p, size_t room)
{
	size_t wide = p[S_LONG] > 0 ? 8 : 4, at = S_PARENT + wide, n, len, i;

	if (at > room)
		return;
	l->over = !l->tell(l->arg, fs_be(p + S_PARENT, (int)wide),
	    (const unsigned char *)"..", 2);
	for (i = 0; i < p[S_COUNT] && !l->over && at < room; i++, at += len) {
		n = p[at];
		len = SE_NAME + n + l->s->x->kinds + wide;
		if (len > room - at)
			return;
		l->over = !l->tell(l->arg, fs_be(p + at + len - wide,
		    (int)wide), p + at + SE_NAME, n);
	}
}

/* List a block; a single block has its hashes at the end. */
static void
list_block(struct listing *l, const unsigned char *p, size_t size)
{
	size_t at = l->s->x->v5 ? B_HEAD_5 : B_HEAD_4, len, n, hashes;
	bool alone = memcmp(p, "XDB3", 4) == 0 || memcmp(p, "XD2B", 4) == 0;

	if (!alone && memcmp(p, "XDD3", 4) != 0 && memcmp(p, "XD2D", 4) != 0)
		return;
	if (alone) {
		hashes = (size_t)fs_be(p + size - B_TAIL, 4);
		if (hashes > (size - at - B_TAIL) / B_LEAF)
			return;
		size -= B_TAIL + hashes * B_LEAF;
	}
	for (; size - at >= BE_NAME && !l->over; at += len) {
		if (fs_be(p + at, 2) == UNUSED) {
			len = (size_t)fs_be(p + at + U_LENGTH, 2);
			if (len == 0 || len % BE_ALIGN != 0 || len > size - at)
				return;
			continue;
		}
		n = p[at + BE_LENGTH];
		len = BE_NAME + n + l->s->x->kinds + BE_TAG;
		len = (len + BE_ALIGN - 1) / BE_ALIGN * BE_ALIGN;
		if (n == 0 || len > size - at)
			return;
		l->over = !l->tell(l->arg, fs_be(p + at, 8), p + at + BE_NAME,
		    n);
	}
}

static void
list_extent(void *arg, uint64_t from, uint64_t at, uint64_t len, bool leads)
{
	struct listing *l = arg;
	struct search *s = l->s;
	size_t size = (size_t)s->x->directory * s->x->block;

	if (leads || from > names_end / s->x->block)
		return;
	s->hits->to->more |= len % size != 0;	/* it continues elsewhere */
	for (; len >= size && !l->over; len -= size, at += size)
		if (fs_get(s->x->io, at, s->block, size) == 0)
			list_block(l, s->block, size);
}

static void
xfs_list_dir(struct search *s, const unsigned char *inode, fs_entry *tell,
    void *arg)
{
	struct listing l = { .s = s, .tell = tell, .arg = arg };
	const unsigned char *p;
	size_t room;

	if (inode[XFS_D_FORMAT] == XFS_INSIDE) {
		p = xfs_fork_of(s->x, inode, false, &room);
		list_inside(&l, p, room);
	} else {
		xfs_fork(s->x, inode, false, true, list_extent, &l);
	}
}

static bool
xfs_is_dir(const unsigned char *p)
{
	return memcmp(p, "IN", 2) == 0 &&
	    (fs_be(p + XFS_D_MODE, 2) & XFS_KIND) == XFS_DIR;
}

static void
xfs_name_all(struct xfs *x, const unsigned char *p, uint64_t number,
    uint64_t at, void *arg)
{
	struct search *s = arg;
	struct fs_dir f = { s->hits, number };

	(void)x, (void)at;
	if (xfs_is_dir(p))
		xfs_list_dir(s, p, fs_entry_hit, &f);
}

/* --------------------------------------------------------------- paths */

static bool
xfs_dir_inode(struct xfs *x, uint64_t number, unsigned char *p)
{
	uint64_t at = xfs_place_of(x, number >> x->inode_log);
	uint64_t in = number & ((UINT64_C(1) << x->inode_log) - 1);

	return at != UINT64_MAX &&
	    fs_get(x->io, at + in * x->inode, p, x->inode) == 0 &&
	    xfs_is_dir(p);
}

/* The name of a directory, and its parent; NULL if that is unknown. */
static char *
xfs_climb(void *arg, struct fs_id *id)
{
	struct search *s = arg;
	struct fs_step step = { .io = s->x->io, .number = id->number };
	unsigned char p[XFS_INODE];

	if (!xfs_dir_inode(s->x, step.number, p))
		return NULL;
	xfs_list_dir(s, p, fs_entry_parent, &step);
	if (xfs_dir_inode(s->x, step.parent, p))
		xfs_list_dir(s, p, fs_entry_name, &step);
	id->number = step.parent;
	return step.name;
}

/* ----------------------------------------------------------------- all */

static void
xfs_each_inode(struct search *s, xfs_visit *what)
{
	struct xfs *x = s->x;
	uint32_t ag;

	for (ag = 0; ag < x->ags && x->io->budget > 0; ag++)
		s->hits->to->more |= !xfs_each(x, ag, what, s);
}

static void
xfs_names(void *state, struct fs_hits *hits)
{
	struct xfs *x = state;
	struct search s = { .x = x, .hits = hits };
	bool failed;

	s.block = fs_alloc(x->io, (size_t)x->directory * x->block);
	if (s.block == NULL)
		return;
	xfs_each_inode(&s, xfs_look_at_inode);
	failed = x->io->failed;
	if (hits->n > 0)
		xfs_each_inode(&s, xfs_name_all);
	if (!fs_hits_nameless(hits))
		x->io->failed = failed;
	fs_hits_tell(hits, (struct fs_id){ .number = x->root }, xfs_climb, &s);
	free(s.block);
}

const struct fs_kind fs_xfs = { { "xfs" }, sizeof(struct xfs), xfs_open,
	xfs_read, xfs_names, xfs_close };
