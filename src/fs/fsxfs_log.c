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
#include <stdlib.h>

#include "fsxfs.h"

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
