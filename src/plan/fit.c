/*
 * Whether the copy fits.  The size of the file system is known from opening the
 * target, so a small copy needs no further questions.  Only for a large one is
 * the data of the source counted, if its holes stay holes.
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

/*
 * File systems that allocate a block for each one written, without compression.
 */
static const struct plain {
	unsigned long	magic;
	bool		shares;		/* files may share blocks */
} plain[] = {
	{ TMPFS_MAGIC, false },
	{ EXT4_SUPER_MAGIC, false },	/* also ext2, ext3 */
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

/* Blocks in bytes; UINT64_MAX on overflow. */
static uint64_t
bytes_of(const struct statfs *fs, uint64_t blocks)
{
	uint64_t unit = (uint64_t)(fs->f_frsize > 0 ? fs->f_frsize :
	    fs->f_bsize), bytes;

	return __builtin_mul_overflow(blocks, unit, &bytes) ? UINT64_MAX :
	    bytes;
}

/* Whether blocks of the source may be shared, so that none is allocated. */
static bool
may_share(const struct plan *p)
{
	const struct plain *to = plain_of(&p->dst->fs);

	if (!p->reflink || p->src->fs.f_type != p->dst->fs.f_type)
		return false;
	/* subvolumes of a btrfs share blocks, but differ in number */
	return to == NULL || (to->shares &&
	    p->src->id.file_dev == p->dst->id.file_dev);
}

/* Whether every byte of the plan that is not in a hole is written. */
static bool
writes_all(const struct plan *p)
{
	const struct opts *o = p->opts;

	return p->bounded && p->store == STORE_ALL && o->base == NULL &&
	    o->domain == NULL && (o->used & USED_ONLY) == 0 &&
	    o->bmap == NULL && p->dst->fs.f_blocks > 0 && !may_share(p);
}

/* Count the bytes of data in the source, but stop at "enough". */
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

/* Whether the copy needs more than "room". */
static bool
fit_exceeds(const struct plan *p, uint64_t room, struct fit *fit)
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
	    fit_exceeds(p, bytes_of(fs, fs->f_blocks), fit);
}

/* Bytes that the target has allocated, where it is overwritten. */
static uint64_t
fit_allocated(const struct plan *p)
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
	/* the rest is reserved for root */
	if (p->length > room && geteuid() == 0)
		room = bytes_of(fs, fs->f_bfree);
	if (__builtin_add_overflow(room, fit_allocated(p), &room))
		room = UINT64_MAX;
	return fit_exceeds(p, room, fit);
}
