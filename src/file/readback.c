/*
 * Reading a file or block device back from its medium: the page cache must not
 * answer for it.
 *
 *	DIRECT	O_DIRECT.  If a file system accepts the flag but still reads
 *		through the page cache, its pages must be dropped first.
 *	PROVEN	no O_DIRECT: the pages are dropped, and a read begins only when
 *		the kernel says that none is left (cachestat(2), mincore(2)).
 *		Of a file on an overlay only mincore sees the pages, which are
 *		those of a file in a layer.
 *	MEMORY	tmpfs and ramfs, where the page cache is the medium
 *
 * The target was flushed before.
 */
#include "end/backend.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/libc.h"
#include "base/number.h"
#include "base/status.h"
#include "disk/disk.h"
#include "file.h"

enum {
	PAGES = 4096,		/* pages per call of mincore */
	PART = 64 << 10,	/* bytes of a read by way of lane_bounce */
};

enum how { DIRECT, PROVEN, MEMORY };

struct back {
	int		 fd;
	int		 plain;		/* without O_DIRECT, or -1 */
	enum how	 how;
	bool		 device;
};

/* As cached_pages, by mincore, which works for files that we may write. */
static int64_t
count_resident(int fd, uint64_t off, uint64_t len)
{
	const size_t most = (size_t)PAGES * PAGE;
	unsigned char there[PAGES];
	int64_t count = 0;
	size_t i, n;
	void *map;

	for (; len > 0 && count >= 0; off += n, len -= n) {
		n = len < most ? (size_t)len : most;
		map = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, (off_t)off);
		if (map == MAP_FAILED)
			return -1;
		if (mincore(map, n, there) != 0)
			count = -1;
		for (i = 0; count >= 0 && i < round_up(n, PAGE) / PAGE; i++)
			count += there[i] & 1;
		munmap(map, n);
	}
	return count;
}

/* The type of a file system; 0: unknown. */
static unsigned long
readback_fs_type(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 ? (unsigned long)fs.f_type : 0;
}

static int64_t
readback_cached(int fd, uint64_t off, uint64_t len)
{
	int64_t pages = readback_fs_type(fd) == OVERLAYFS_SUPER_MAGIC ? -1 :
	    cached_pages(fd, off, len);

	return pages >= 0 ? pages : count_resident(fd, off, len);
}

static int
back_close(struct endpoint *ep)
{
	struct back *b = ep->priv;

	if (b->fd >= 0)
		close(b->fd);
	if (b->plain >= 0)
		close(b->plain);
	free(b);
	return 0;
}

/* The unit of reads past the page cache. */
static uint32_t
readback_unit(int fd, bool device)
{
	uint32_t least = PAGE;
	int block;
#ifdef STATX_DIOALIGN
	struct statx x;

	if (!device && statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &x) == 0 &&
	    (x.stx_mask & STATX_DIOALIGN) != 0 &&
	    x.stx_dio_offset_align > least)
		return x.stx_dio_offset_align;
#endif
	if (device && ioctl(fd, BLKSSZGET, &block) == 0 && block >= 512)
		least = (uint32_t)block;
	return least;
}

static int
readback_choose(struct back *b, const struct endpoint *target, struct fault *f)
{
	int direct;

	/* the node of a device lies in such a file system, too */
	if (!b->device && cached_only(readback_fs_type(b->plain))) {
		b->how = MEMORY;
		return 0;
	}
	direct = reopen(b->plain, endpoint_path(target), O_RDONLY | O_DIRECT |
	    (fcntl(b->plain, F_GETFL) & O_NOATIME));
	if (direct >= 0) {
		b->how = DIRECT;
		b->fd = direct;
		return 0;
	}
	if (errno != EINVAL && errno != EOPNOTSUPP)
		return fault_errno(f, errno, "%s: opening it to read it back",
		    target->name);
	b->how = PROVEN;
	if (!b->device && readback_cached(b->plain, 0, PAGE) >= 0)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s cannot be read past the page "
	    "cache, so what is on the medium cannot be told", target->name);
}

int
file_readback(const struct endpoint *target, struct endpoint *r,
    struct fault *f)
{
	struct back *b = malloc(sizeof(*b));
	bool ignored;

	if (b == NULL)
		return fault_errno(f, ENOMEM, "%s", target->name);
	*b = (struct back){ .fd = -1, .device = target->is.device };
	r->be = &readback_backend;
	r->priv = b;
	b->plain = target->be->view(target, &ignored);
	if (b->plain < 0) {
		fault_errno(f, errno, "%s: opening it to read it back",
		    target->name);
		back_close(r);
		return -1;
	}
	if (readback_choose(b, target, f) != 0) {
		back_close(r);
		return -1;
	}
	if (b->how == PROVEN)		/* no read-ahead */
		posix_fadvise(b->plain, 0, 0, POSIX_FADV_RANDOM);
	r->geo.io_align = b->how == MEMORY ? 1 :
	    readback_unit(b->plain, b->device);
	return 0;
}

/*
 * Whether the pages of a range are gone.  Unknown if another program has them
 * mapped.
 */
static bool
readback_dropped(const struct back *b, struct io *io)
{
	if (b->how == MEMORY || b->device)
		return true;
	posix_fadvise(b->plain, (off_t)io->off, (off_t)io->len,
	    POSIX_FADV_DONTNEED);
	if (b->how == DIRECT || readback_cached(b->plain, io->off, io->len) ==
	    0)
		return true;
	io->err = EBUSY;
	snprintf(io->why, sizeof(io->why), "it stays in the page cache, so "
	    "what is on the medium cannot be told");
	return false;
}

/*
 * Whether the file system accepts O_DIRECT but cannot read by it; use PROVEN
 * then.
 */
static bool
falls_back(struct back *b, const struct io *io)
{
	return b->how == DIRECT && !b->device && io->done == 0 &&
	    readback_cached(b->plain, 0, PAGE) >= 0;
}

/* Read from "at" on; a negative result is -errno. */
static ssize_t
readback_read_some(const struct back *b, int fd, const struct io *io, size_t at)
{
	ssize_t n = pread(fd, io->buf + at, io->len - at,
	    (off_t)(io->off + at));
	int err;

	if (n > 0)
		return n;
	err = n < 0 ? errno : 0;
	return (err == EIO || err == 0) && b->device && disk_gone(b->plain) ?
	    -ENODEV : -err;
}

/*
 * After a read that ends within a unit, continue at the start of that unit.
 * Only at the end of a file does this make no progress.
 */
static void
readback_read_all(const struct lane *lane, const struct back *b, int fd,
    size_t whole, struct io *io)
{
	struct clock_limit limit = { .seconds = lane->ep->spec.timeout };
	size_t at;
	ssize_t n;

	while (io->done < io->len) {
		at = io->done - io->done % whole;
		n = readback_read_some(b, fd, io, at);
		if (n < 0 && io_again((int)-n, &limit))
			continue;
		if (n < 0)
			io->err = (int)-n;
		if (n < 0 || at + (size_t)n <= io->done)
			return;
		io->done = at + (size_t)n;
	}
}

static void
back_transfer(struct lane *lane, struct io *io)
{
	struct back *b = lane->ep->priv;
	struct back proven = { .fd = -1, .plain = b->plain, .how = PROVEN };

	if (!readback_dropped(b, io))
		return;
	if (b->how != DIRECT) {
		readback_read_all(lane, b, b->plain, 1, io);
		return;
	}
	readback_read_all(lane, b, b->fd, lane->ep->geo.io_align, io);
	if (io->err != EINVAL || !falls_back(b, io))
		return;
	io->err = 0;
	posix_fadvise(b->plain, 0, 0, POSIX_FADV_RANDOM);
	if (readback_dropped(&proven, io))
		readback_read_all(lane, &proven, b->plain, 1, io);
}

/* The same for what is not whole units, by way of a buffer. */
static void
back_transfer_any(struct lane *lane, struct io *io)
{
	size_t unit = lane->ep->geo.io_align, skip, n = 0;
	struct io part = { .op = OP_READ };

	if (io->off % unit == 0 && io->len % unit == 0) {
		back_transfer(lane, io);
		return;
	}
	part.buf = lane_bounce(lane);
	io->err = part.buf == NULL ? ENOMEM : unit > PART ? EINVAL : 0;
	while (io->err == 0 && io->done < io->len) {
		skip = (size_t)((io->off + io->done) % unit);
		part.off = io->off + io->done - skip;
		part.len = (size_t)round_up(skip + MIN(io->len - io->done,
		    PART), unit);
		part.done = 0;
		back_transfer(lane, &part);
		io->err = part.err;
		strlcpy(io->why, part.why, sizeof(io->why));
		if (part.done <= skip)
			break;
		n = MIN(part.done - skip, io->len - io->done);
		memcpy(io->buf + io->done, part.buf + skip, n);
		io->done += n;
	}
}

const struct backend readback_backend = {
	.transfer = back_transfer_any,
	.close = back_close,
};
