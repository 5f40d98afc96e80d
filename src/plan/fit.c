/*
 * Whether the copy fits.  The size of the file system is known from opening the
 * target, so a small copy needs no further questions.  Only for a large one is
 * the data of the source counted, if its holes stay holes, and the longest file
 * looked up.  Several targets in one file system share its room: each has what
 * those before it leave.
 */
#include "plan/fit.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"

#ifndef EXFAT_SUPER_MAGIC
#define EXFAT_SUPER_MAGIC	0x2011BAB0	/* Linux 5.7 */
#endif
#ifndef NTFS3_SUPER_MAGIC
#define NTFS3_SUPER_MAGIC	0x7366746e	/* fs/ntfs3/super.c */
#endif

#define FAT_LONGEST	UINT32_MAX	/* bytes: fs/fat/inode.c */

/*
 * File systems that allocate a block for each one written, without compression.
 */
static const struct plain {
	unsigned long	magic;
	bool		shares;		/* files may share blocks */
	bool		dense;		/* they have no holes */
} plain[] = {
	{ TMPFS_MAGIC, false, false },
	{ EXT4_SUPER_MAGIC, false, false },	/* also ext2, ext3 */
	{ XFS_SUPER_MAGIC, true, false },
	{ MSDOS_SUPER_MAGIC, false, true },
	{ EXFAT_SUPER_MAGIC, false, true },
	{ NTFS3_SUPER_MAGIC, false, false },
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

/* Whether its files have no holes. */
static bool
fit_dense(const struct statfs *fs)
{
	const struct plain *to = plain_of(fs);

	return to != NULL && to->dense;
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

/*
 * Whether what will be written is known: every byte of the plan that is neither
 * in a hole nor left out.
 */
static bool
fit_known(const struct plan *p)
{
	const struct opts *o = p->opts;

	return p->bounded && p->store == STORE_ALL && o->base == NULL &&
	    o->domain == NULL && p->dst->fs.f_blocks > 0 && !may_share(p);
}

uint64_t
fit_data(const struct plan *p, uint64_t off, uint64_t length, uint64_t enough)
{
	uint64_t end = off + length, n, sum = 0;
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
	uint64_t more;

	fit->room = room;
	fit->need = round_up(p->length, p->pad);
	if (fit_dense(&p->dst->fs))
		return fit->need > room;
	if (__builtin_add_overflow(room, p->omitted, &more))
		more = UINT64_MAX;
	if (fit->need > more && p->holes)
		fit->need = fit_data(p, p->src_off, p->length, more);
	fit->need -= MIN(p->omitted, fit->need);
	return fit->need > room;
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

/*
 * Bytes of the same file system that the targets before this one will take; at
 * most, unless holes of the source are counted.
 */
static uint64_t
fit_taken(const struct plan *p, bool counted)
{
	const struct statfs *fs = &p->dst->fs, *other;
	bool dense = fit_dense(fs);
	uint64_t sum = 0, need, has;
	const struct plan *q;

	for (q = p->first; q != NULL && q < p; q++) {
		other = &q->dst->fs;
		if (!fit_known(q) || other->f_type != fs->f_type ||
		    memcmp(&other->f_fsid, &fs->f_fsid, sizeof(fs->f_fsid)) !=
		    0)
			continue;
		need = counted && !dense ? fit_data(q, q->src_off, q->length,
		    UINT64_MAX) : round_up(q->length, q->pad);
		has = fit_allocated(q);
		if (!dense && __builtin_add_overflow(has, q->omitted, &has))
			has = UINT64_MAX;
		need -= MIN(has, need);
		if (__builtin_add_overflow(sum, need, &sum))
			sum = UINT64_MAX;
	}
	return sum;
}

static bool
fit_not_now(const struct plan *p, struct fit *fit)
{
	const struct statfs *fs = &p->dst->fs;
	uint64_t room = bytes_of(fs, fs->f_bavail), taken;

	/* the rest is reserved for root */
	if ((p->length > room || p->first != NULL) && geteuid() == 0)
		room = bytes_of(fs, fs->f_bfree);
	if (__builtin_add_overflow(room, fit_allocated(p), &room))
		room = UINT64_MAX;
	taken = fit_taken(p, false);
	if (!fit_exceeds(p, room - MIN(taken, room), fit))
		return false;
	fit->beside = taken > 0;
	if (taken == 0 || !p->holes)
		return true;
	taken = fit_taken(p, true);
	return fit_exceeds(p, room - MIN(taken, room), fit);
}

/* The length of the longest file, by trying; nothing is written. */
static uint64_t
longest_tried(int fd)
{
	uint64_t longest = 0, bit;

	for (bit = UINT64_C(1) << 62; bit > 0; bit >>= 1)
		if (lseek(fd, (off_t)(longest | bit), SEEK_SET) >= 0)
			longest |= bit;
	return longest;
}

/*
 * The same at the target; UINT64_MAX if it is not known.  What is tried is a
 * file without a name in that directory.
 */
static uint64_t
fit_longest(const struct endpoint *dst)
{
	const char *base;
	struct statfs fs;
	uint64_t longest = 0;
	int dir, fd;

	if (dst->fs.f_type == MSDOS_SUPER_MAGIC)
		return FAT_LONGEST;
	dir = dst->is.inherited ? -1 : path_dir(dst->name, O_PATH, &base);
	fd = dir < 0 ? -1 : openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
	    0600);
	/* the name may be a link to another file system */
	if (fd >= 0 && fstatfs(fd, &fs) == 0 &&
	    memcmp(&fs.f_fsid, &dst->fs.f_fsid, sizeof(fs.f_fsid)) == 0)
		longest = longest_tried(fd);
	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return longest > 0 ? longest : UINT64_MAX;
}

/* Whether the file would be too long. */
static bool
fit_no_file(const struct plan *p, struct fit *fit)
{
	const struct endpoint *dst = p->dst;
	uint64_t from = dst->is.streamed && dst->geo.size > 0 ?
	    (uint64_t)dst->geo.size : p->dst_off;

	if (!endpoint_is_file(dst) || !p->bounded ||
	    __builtin_add_overflow(from, round_up(p->length, p->pad),
	    &fit->need) || fit->need <= INT32_MAX)
		return false;	/* all file systems have such files */
	fit->room = fit_longest(dst);
	return fit->need > fit->room;
}

struct fit
fit_judge(const struct plan *p)
{
	const struct statfs *fs = &p->dst->fs;
	struct fit fit = { .is = FITS };

	if (p->dst->encoded != NULL)
		return fit;		/* nobody knows how long it will be */
	if (fit_no_file(p, &fit))
		fit.is = FITS_NO_FILE;
	else if (!fit_known(p))
		fit.is = FITS;
	else if (fit_exceeds(p, bytes_of(fs, fs->f_blocks), &fit))
		fit.is = FITS_NEVER;
	else if (fit_not_now(p, &fit))
		/* a rescue that goes on may have little left to write */
		fit.is = plain_of(fs) == NULL || (p->work == WORK_RESCUE &&
		    !p->dst->is.absent) ? FITS_PERHAPS : FITS_NOT_NOW;
	return fit;
}

void
fit_tell(const struct plan *p, const struct fit *fit, char *text, size_t room)
{
	unsigned long long has = fit->room, need = fit->need;

	if (fit->is == FITS_NO_FILE)
		snprintf(text, room, "%s: its file system has files of %llu "
		    "bytes at most, and this would have %llu", p->dst->name,
		    has, need);
	else if (fit->is == FITS_NEVER)
		snprintf(text, room, "%s: its file system has %llu bytes in "
		    "all, but %llu are to be written", p->dst->name, has, need);
	else
		snprintf(text, room, "%s: its file system has room for %llu "
		    "bytes now%s, but %llu are to be written", p->dst->name,
		    has, fit->beside ? " beside the other targets" : "", need);
}

/* The number in a file of a cgroup; UINT64_MAX for "max", or without it. */
static uint64_t
cgroup_limit(const char *root, const char *group, const char *file)
{
	char path[PATH_MAX], text[32];
	uint64_t limit = UINT64_MAX;
	FILE *in;

	if (snprintf(path, sizeof(path), "%s%s/%s", root, group, file) >=
	    (int)sizeof(path) || (in = fopen(path, "re")) == NULL)
		return limit;
	if (fgets(text, sizeof(text), in) != NULL && text[0] >= '0' &&
	    text[0] <= '9')
		limit = strtoull(text, NULL, 10);
	fclose(in);
	return limit;
}

/* *least, or that of a group or one above it; "group" is cut off. */
static void
cgroups_limit(uint64_t *least, const char *root, char *group, const char *file)
{
	char *end = group + strlen(group);
	uint64_t limit;

	for (; end != NULL; end = strrchr(group, '/')) {
		*end = '\0';
		limit = cgroup_limit(root, group, file);
		*least = MIN(*least, limit);
	}
}

uint64_t
fit_memory(void)
{
	FILE *groups = fopen("/proc/self/cgroup", "re");
	uint64_t least = UINT64_MAX;
	char line[PATH_MAX], *group;

	/* "4:memory:/group" of version 1, "0::/group" of version 2 */
	while (groups != NULL && fgets(line, sizeof(line), groups) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if ((group = strstr(line, ":memory:")) != NULL)
			cgroups_limit(&least, "/sys/fs/cgroup/memory", group +
			    strlen(":memory:"), "memory.limit_in_bytes");
		else if ((group = strstr(line, "::")) != NULL)
			cgroups_limit(&least, "/sys/fs/cgroup",
			    group + strlen("::"), "memory.max");
	}
	if (groups != NULL)
		fclose(groups);
	return least == UINT64_MAX ? least : least / 4;
}
