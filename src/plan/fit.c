/*
 * Whether the copy fits.  A file system has told how large it is when the
 * target was looked up, so that nothing is asked for a copy that is small
 * enough.  Only for one that is not, the source's data is counted, if its holes
 * stay holes.
 */
#include "plan/fit.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/number.h"

#ifndef EXFAT_SUPER_MAGIC
#define EXFAT_SUPER_MAGIC	0x2011BAB0	/* Linux 5.7 */
#endif

/* File systems that give a block to each that is written, and pack none. */
static const struct plain {
	unsigned long	magic;
	bool		shares;		/* blocks of its files */
} plain[] = {
	{ TMPFS_MAGIC, false },
	{ EXT4_SUPER_MAGIC, false },	/* and ext2, ext3 */
	{ XFS_SUPER_MAGIC, true },
	{ MSDOS_SUPER_MAGIC, false },
	{ EXFAT_SUPER_MAGIC, false },
};

static const struct plain *
plain_of(const struct statfs *fs)
{
	size_t i;

	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (plain[i].magic == (unsigned long)fs->f_type)
			return &plain[i];
	return NULL;
}

/* So many blocks, in bytes; more than can be said is enough. */
static uint64_t
bytes_of(const struct statfs *fs, uint64_t blocks)
{
	uint64_t unit = (uint64_t)(fs->f_frsize > 0 ? fs->f_frsize :
	    fs->f_bsize), bytes;

	return __builtin_mul_overflow(blocks, unit, &bytes) ? UINT64_MAX :
	    bytes;
}

/* Whether the source's blocks may become the target's, so that none is new. */
static bool
may_share(const struct plan *p)
{
	const struct plain *to = plain_of(&p->dst->fs);

	if (!p->reflink || p->src->fs.f_type != p->dst->fs.f_type)
		return false;
	/* Subvolumes of a btrfs are one to share, and two by number. */
	return to == NULL || (to->shares &&
	    p->src->id.file_dev == p->dst->id.file_dev);
}

/* Whether each byte of the plan that is no hole is one that is written. */
static bool
writes_all(const struct plan *p)
{
	const struct opts *o = p->opts;

	return p->bounded && p->store == STORE_ALL && o->base == NULL &&
	    o->domain == NULL && p->dst->fs.f_blocks > 0 && !may_share(p);
}

/* The bytes of the source's data; no further than is enough to know. */
static uint64_t
data_of(const struct plan *p, uint64_t enough)
{
	uint64_t off = p->src_off, end = off + p->length, n, sum = 0;
	struct extent x;

	while (off < end && sum <= enough) {
		if (endpoint_extent(p->src, off, &x) != 0)
			break;
		n = MIN(x.len, end - off);
		sum += x.hole ? 0 : n;
		off += n;
	}
	return sum;
}

/* Whether it needs more than that. */
static bool
exceeds(const struct plan *p, uint64_t room, struct fit *fit)
{
	fit->room = room;
	fit->need = round_up(p->length, p->pad);
	if (fit->need > room && p->holes)
		fit->need = data_of(p, room);
	return fit->need > room;
}

bool
fit_never(const struct plan *p, struct fit *fit)
{
	const struct statfs *fs = &p->dst->fs;

	return plain_of(fs) != NULL && writes_all(p) &&
	    exceeds(p, bytes_of(fs, fs->f_blocks), fit);
}

/* Blocks that the target has where it is written anew. */
static uint64_t
own(const struct plan *p)
{
	const struct endpoint *dst = p->dst;
	uint64_t size = dst->geo.size > 0 ? (uint64_t)dst->geo.size : 0;

	if (dst->is.streamed || size <= p->dst_off)
		return 0;
	return MIN(dst->held, size - p->dst_off);
}

bool
fit_not_now(const struct plan *p, struct fit *fit)
{
	const struct statfs *fs = &p->dst->fs;
	uint64_t room = bytes_of(fs, fs->f_bavail);

	if (!writes_all(p))
		return false;
	/* The rest is kept for root. */
	if (p->length > room && geteuid() == 0)
		room = bytes_of(fs, fs->f_bfree);
	if (__builtin_add_overflow(room, own(p), &room))
		room = UINT64_MAX;
	return exceeds(p, room, fit);
}
