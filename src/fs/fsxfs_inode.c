/*
 * XFS: the inodes, and metadata in their contents: directories, and blocks that
 * lead to the data of files.
 */
#include <string.h>

#include "fsxfs.h"

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

const unsigned char *
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
