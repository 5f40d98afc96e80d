/*
 * Regular files and block devices, by pread and pwrite.  Workers share
 * descriptors, but never their offset.
 *
 * An end has up to two descriptors: "plain" uses the page cache, "direct"
 * (O_DIRECT) does not.  A request goes to direct if it is aligned and direct is
 * wanted, otherwise to plain.  For a target this is safe: a direct request
 * covers whole pages of a file, so no page is written both ways.  A device gets
 * whole logical blocks, and no request is plain.
 *
 * A copy should not fill the page cache.  With RWF_DONTCACHE the kernel writes
 * early and drops the pages.  If it does not know this flag, or if old data is
 * overwritten, which it does not write early enough, the lane does it: it
 * starts writeback of its own writes, a little at a time, and waits for and
 * drops the pages started before.  An error reported then may be that of an
 * earlier write by anybody, and is reported once; such a write is "spent",
 * because repeating it would prove nothing.  The error is reported once per
 * descriptor.  With map=, which saves the map while others write, the flush has
 * its own descriptor ("flush").  Otherwise it would succeed after a worker was
 * told of the error, and before the worker could stop the saving.  Pages of the
 * source that others had cached stay in the cache.
 *
 * Zeros are made by punching a hole into a file, and on a device by BLKZEROOUT,
 * for which the kernel writes zeros if the device has nothing better.  With
 * oflag=trim a device is asked to free the blocks, by the call that fails
 * unless they then read as zeros; BLKDISCARD promises nothing.
 *
 * Large requests to blocks that a file already has bypass the page cache
 * (choose_overwriting).
 *
 * Two copies to the same bytes of a file would both succeed and leave a
 * mixture.  So a copy locks the range that it writes, for other copies to see
 * (lock_copy).
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/libc.h"
#include "base/number.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "disk/sysfs.h"
#include "end/backend.h"

/* --- opening, and the properties of an end ------------------------------- */

enum {
	SECTOR = 512,
	LARGE = 8 << 20,	/* bytes */
};

static int
file_open_flags(const struct endpoint *ep, bool look)
{
	int flags = O_NOCTTY;

	flags |= ep->spec.role == SOURCE || look ? O_RDONLY : O_WRONLY;
	flags |= (ep->spec.flags & FLAG_NOATIME) != 0 ? O_NOATIME : 0;
	flags |= (ep->spec.flags & FLAG_NONBLOCK) != 0 ? O_NONBLOCK : 0;
	flags |= (ep->spec.flags & FLAG_DSYNC) != 0 ? O_DSYNC : 0;
	flags |= (ep->spec.flags & FLAG_SYNC) != 0 ? O_SYNC : 0;
	return flags;
}

/*
 * Decide whether large requests bypass the page cache if a file has its blocks
 * already.  Nothing has to be allocated there, so this is as fast; and dirty
 * pages of such a file are not written early, but pile up until they push out
 * what others have cached.  Only these file systems are known to behave so;
 * others copy on write, or use the page cache anyway.
 */
static void
choose_overwriting(const struct endpoint *ep, struct file *file,
    const struct stat *st, bool look)
{
	unsigned long type = (unsigned long)ep->fs.f_type;

	if (st->st_size < LARGE || st->st_blocks < st->st_size / SECTOR ||
	    (type != EXT4_SUPER_MAGIC && type != XFS_SUPER_MAGIC) ||
	    (ep->spec.flags & FLAG_NOCACHE) != 0 || file->borrowed)
		return;
	file->direct = reopen(ep->fd, endpoint_path(ep),
	    file_open_flags(ep, look) | O_DIRECT);
	file->overwrites = file->direct >= 0;
}

/* Query logical block and size of a block device. */
static int
ask_device(struct endpoint *ep, struct file *file, struct fault *f)
{
	uint64_t bytes;
	unsigned optimal;
	struct disk d;
	int block, read_only = 0;

	if (ep->spec.role == TARGET && ioctl(file->plain, BLKROGET,
	    &read_only) == 0 && read_only != 0) {
		errno = EROFS;
		return fault_found(f, ep);
	}
	if (ioctl(file->plain, BLKSSZGET, &block) != 0 ||
	    ioctl(file->plain, BLKGETSIZE64, &bytes) != 0)
		return fault_errno(f, errno, "%s: size", ep->name);
	if (block < 512 || bytes > INT64_MAX)
		return fault_set(f, STATUS_FILE, "%s says it has %llu bytes "
		    "in blocks of %d", ep->name, (unsigned long long)bytes,
		    block);
	ep->geo.block = (uint32_t)block;
	if (ioctl(file->plain, BLKIOOPT, &optimal) == 0)
		ep->geo.io_opt = optimal;
	ep->geo.io_align = SECTOR;	/* else through the page cache */
	ep->geo.size = ep->geo.room = (int64_t)bytes;
	file->align = file->read_align = ep->geo.block;
	file->medium = file_medium(file->plain);
	/* its other nodes have page caches of their own */
	if (ep->spec.role == SOURCE && disk_place(ep->id.node, &d))
		disk_settle_all(&d);
	errno = file->place.stacked ? 0 :
	    below_locate(ep->id.node, bytes, &file->place);
	if (errno == 0 && file->place.stacked && file->below.fd < 0) {
		file->below.fd = below_file(ep->id.node, &file->below.start);
		errno = file->below.fd < 0 ? sysfs_unasked(errno) : 0;
	}
	if (errno != 0)
		return fault_errno(f, errno, "%s: what it lies on", ep->name);
	/* a file system on it may have cached parts */
	file->cached = ep->spec.role == SOURCE && file->prefer_direct &&
	    cached_pages(file->plain, 0, 0) != 0;
	return 0;
}

/*
 * Whether others may have cached part of it, given what cached_pages says: that
 * is 0 for a file on an overlay, whatever the page cache has of it in its
 * layer.
 */
static bool
shares_cache(const struct endpoint *ep, int64_t pages)
{
	return pages > 0 || endpoint_overlaid(ep);
}

/*
 * A large source that is not in the page cache is read directly, which saves
 * two copies in memory and dropping the pages.
 */
static void
choose_way(const struct endpoint *ep, struct file *file, off_t size)
{
	int64_t there = cached_pages(file->plain, 0, 0);

	file->cached = shares_cache(ep, there);
	if (there == 0 && size >= LARGE && (ep->spec.flags & FLAG_NOCACHE) == 0)
		file->prefer_direct = true;
}

static int
ask_file(struct endpoint *ep, struct file *file, bool look, struct fault *f)
{
	struct stat st;
	struct statx x;

	if (fstat(file->plain, &st) != 0)
		return fault_errno(f, errno, "%s", ep->name);
	ep->is.memory = cached_only((unsigned long)ep->fs.f_type);
	file->behind = file->behind && !ep->is.memory;
	if (ep->spec.role == SOURCE && file->behind)
		choose_way(ep, file, st.st_size);
	if (ep->spec.role == TARGET && file->behind)
		choose_overwriting(ep, file, &st, look);
	ep->geo.size = st.st_size;
	ep->geo.fs_block = ep->fs.f_bsize > 0 && ep->fs.f_bsize <= INT32_MAX ?
	    (uint32_t)ep->fs.f_bsize : 0;
	ep->is.sparse = ep->spec.role == SOURCE && !file->borrowed &&
	    st.st_blocks < st.st_size / SECTOR;
	file->length = (uint64_t)st.st_size;
	file->align = PAGE;
	file->read_align = SECTOR;	/* if it cannot, EINVAL shows that */
#ifdef STATX_DIOALIGN
	if (file->direct >= 0 && statx(file->plain, "", AT_EMPTY_PATH,
	    STATX_DIOALIGN, &x) == 0 && (x.stx_mask & STATX_DIOALIGN) != 0 &&
	    x.stx_dio_offset_align >= SECTOR) {
		file->read_align = x.stx_dio_offset_align;
		if (x.stx_dio_offset_align > PAGE)
			file->align = x.stx_dio_offset_align;
	}
#else
	(void)x;
#endif
	return 0;
}

/*
 * If an inherited descriptor cannot be reopened, it is used itself; but it
 * claims no device, and reading by it sets the access time.
 */
static int
open_plain(const struct endpoint *ep, struct file *file, int flags)
{
	int fd = open_found(ep->fd, endpoint_path(ep), flags);

	file->borrowed = fd < 0 && ep->is.inherited &&
	    (flags & (O_EXCL | O_NOATIME)) == 0;
	if (file->borrowed)
		fd = fcntl(ep->fd, F_DUPFD_CLOEXEC, 3);
	file->counts = file->borrowed ? reopen(ep->fd, "", O_RDONLY) : fd;
	return fd;
}

/*
 * Only one descriptor can claim a device by O_EXCL: a second claim is refused
 * even in the same process. claim.c claims and locks the target.
 */
static int
open_fds(struct endpoint *ep, struct file *file, bool look, struct fault *f)
{
	int flags = file_open_flags(ep, look);
	int claim = (ep->spec.flags & FLAG_EXCL) != 0 && ep->is.device &&
	    ep->spec.role == SOURCE ? O_EXCL : 0;

	file->plain = open_plain(ep, file, flags | claim);
	if (file->plain < 0)
		return fault_found(f, ep);
	if ((ep->spec.flags & FLAG_FLOCK) != 0 &&
	    (ep->spec.role == SOURCE || !ep->is.device) &&
	    flock(file->plain, LOCK_EX | LOCK_NB) != 0)
		return fault_errno(f, errno, "%s: flock", ep->name);
	if (file->prefer_direct || ep->spec.role == SOURCE)
		file->direct = reopen(ep->fd, endpoint_path(ep),
		    flags | O_DIRECT);
	if (file->direct < 0 && (ep->spec.flags & FLAG_DIRECT) != 0 &&
	    errno != EINVAL)
		return fault_errno(f, errno, "%s: O_DIRECT", ep->name);
	return ep->is.device ? ask_device(ep, file, f) :
	    ask_file(ep, file, look, f);
}

static int
file_close(struct endpoint *ep)
{
	struct file *file = ep->priv;
	const int fds[] = { file->direct, file->flush, file->plain,
		file->borrowed ? file->counts : -1 };
	int err = 0;
	size_t i;

	for (i = 0; i < COUNT(fds); i++)
		if (fds[i] >= 0 && close(fds[i]) != 0)
			err = errno;
	if (file->below.fd >= 0)
		close(file->below.fd);
	below_forget(&file->place);
	free(file);
	return err;
}

/*
 * --dry-run: check what a run would find.  A file is opened for writing at
 * once, a device only later: see endpoint_look.
 */
static int
file_dry_run(const struct endpoint *ep, struct fault *f)
{
	struct statx x;

	if (ep->spec.role == SOURCE || ep->is.inherited || ep->is.device)
		return 0;
	if (faccessat(AT_FDCWD, ep->name, W_OK, AT_EACCESS) != 0)
		return fault_found(f, ep);
	if (statx(AT_FDCWD, ep->name, 0, 0, &x) != 0 ||
	    (x.stx_attributes & STATX_ATTR_APPEND) == 0)
		return 0;
	errno = EPERM;
	return fault_found(f, ep);
}

/*
 * Whether to open a device for writing only when the copy begins, because
 * closing such a descriptor makes udev probe the disk.
 */
static bool
file_opened_later(const struct endpoint *ep)
{
	return ep->spec.role == TARGET && ep->is.device && !ep->is.inherited;
}

/* Check that the disk was not exchanged while the user was asked. */
static int
file_check_medium(const struct endpoint *ep, const struct file *was,
    int64_t size, struct fault *f)
{
	const struct file *file = ep->priv;

	if (file->medium != was->medium || ep->geo.size != size)
		return fault_set(f, STATUS_REFUSED, "%s: the medium was "
		    "changed since it was looked at", ep->name);
	return file_stayed(ep, STATUS_REFUSED, f);
}

static int
file_open_writable(struct endpoint *ep, struct file *file, struct fault *f)
{
	const struct geometry geo = ep->geo;
	const struct file was = *file;
	int64_t size = ep->lim.part > 0 ? ep->lim.disk_size : geo.size;
	int failed;

	ep->fd = was.plain;
	file->plain = file->direct = -1;
	failed = open_fds(ep, file, false, f);
	ep->fd = -1;
	close(was.plain);
	if (was.direct >= 0)
		close(was.direct);
	if (failed == 0)
		failed = file_check_medium(ep, &was, size, f);
	ep->geo = geo;
	return failed;
}

/* Opening and closing, as in struct backend. */
static int
file_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct file *file = calloc(1, sizeof(*file));
	int failed = 0;

	if (file == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	*file = (struct file){ .plain = -1, .direct = -1, .flush = -1,
		.counts = -1, .below.fd = -1, .cut = NOWHERE,
		.device = ep->is.device };
	file->waits = (ep->spec.flags & (FLAG_SYNC | FLAG_DSYNC)) != 0;
	file->behind = (ep->spec.flags & (FLAG_CACHED | FLAG_DIRECT)) == 0;
	file->prefer_direct = (ep->spec.flags & FLAG_DIRECT) != 0 ||
	    (ep->is.device &&
	    (ep->spec.flags & (FLAG_CACHED | FLAG_NOCACHE)) == 0);
	ep->priv = file;
	ep->is.seekable = true;
	ep->is.durable = ep->is.zeroes = ep->spec.role == TARGET;
	ep->is.shares = !ep->is.device;
	ep->is.past_cache = file->prefer_direct;
	if (ep->is.absent)
		ep->is.memory = cached_only((unsigned long)ep->fs.f_type);
	else
		failed = open_fds(ep, file, look || file_opened_later(ep), f);
	if (failed == 0 && !ep->is.absent && look)
		failed = file_dry_run(ep, f);
	if (!ep->is.absent)
		ep->is.past_cache = file->direct >= 0 && (file->prefer_direct ||
		    file->overwrites);
	if (failed != 0)
		file_close(ep);
	return failed;
}

int
file_lock(const struct endpoint *ep, int fd, uint64_t from, uint64_t to,
    struct fault *f)
{
	if (ep->spec.held || (lock_copy(fd, F_WRLCK, from, to) &&
	    (ep->layer < 0 || lock_copy(ep->layer, F_WRLCK, from, to))))
		return 0;
	return opts_refuse(f, FORCE_HELD, "%s: another copy is being made to "
	    "the same bytes of it, or by way of a server that has it open; end "
	    "that first", ep->name);
}

/* A lock on a shared descriptor would outlive this process. */
static int
lock_range(const struct endpoint *ep, const struct file *file, struct fault *f)
{
	return file->borrowed ? 0 : file_lock(ep, file->plain, file->from,
	    file->to, f);
}

static int
file_check_range(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from, struct fault *f)
{
	struct file *file = ep->priv;

	(void)src, (void)src_from;
	if (file->device || ep->spec.role == SOURCE)
		return 0;
	file->from = from;
	file->to = (ep->spec.flags & FLAG_TRUNC) != 0 ? UINT64_MAX : to;
	return file->plain < 0 ? 0 : lock_range(ep, file, f);
}

/*
 * Truncate the file, if length >= 0, and note how much it has.  It may have
 * grown since it was examined, as while the user was asked.
 */
static int
file_truncate(const struct endpoint *ep, struct file *file, int64_t length,
    struct fault *f)
{
	struct stat st;

	if (fstat(file->plain, &st) != 0)
		return fault_errno(f, errno, "%s", ep->name);
	file->length = (uint64_t)st.st_size;
	if (length >= 0 && ftruncate(file->plain, length) != 0)
		return fault_errno(f, errno, "%s: truncating", ep->name);
	if (length >= 0) {
		file->length = MIN(file->length, (uint64_t)length);
		file->high = 0;		/* it need not be longer any more */
	}
	raise_to(&file->high, file->length);
	if (file->from > 0 && file->length > 0)
		file->before = holes_in(file->counts, 0,
		    MIN(file->from, file->length));
	return 0;
}

static int
file_prepare(struct endpoint *ep, int64_t length, struct fault *f)
{
	struct file *file = ep->priv;

	if (file->plain < 0 && (open_fds(ep, file, false, f) != 0 ||
	    lock_range(ep, file, f) != 0))
		return -1;
	if (file_opened_later(ep) && file_open_writable(ep, file, f) != 0)
		return -1;
	if (ep->spec.rescue && file->flush < 0)
		file->flush = reopen(file->plain, endpoint_path(ep),
		    O_WRONLY);
	if (ep->is.device)
		return 0;
	/* as long as when it was compared with a map or manifest */
	if (ep->spec.keeps && ep->geo.size > 0)
		raise_to(&file->high, MIN((uint64_t)ep->geo.size, file->to));
	return file_truncate(ep, file, length, f);
}

static int
file_view(const struct endpoint *ep, bool *cached)
{
	const struct file *file = ep->priv;
	int fd = reopen(file->plain, endpoint_path(ep), O_RDONLY |
	    (file_open_flags(ep, true) & O_NOATIME));

	*cached = !file->behind || (fd >= 0 && shares_cache(ep,
	    cached_pages(fd, 0, 0)));
	return fd;
}

/* --- moving bytes -------------------------------------------------------- */

#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE	0x00000080	/* Linux 6.14 */
#endif

enum {
	LOOK = 1 << 20,		/* bytes written between two checks */
	LONG = 256 << 10,	/* bytes of a request worth waiting for */
	WINDOW = 2 << 20,	/* bytes that a lane writes back at a time */
	HUGE_PAGE = 2 << 20,
};

/*
 * tmpfs does not find data in the last page before 8 EiB, which may be a huge
 * one: from here on, what seems to be a hole may be data.
 */
static const off_t unsure = INT64_MAX - HUGE_PAGE + 1;

struct stretch {		/* a range of a file, with other lanes' writes
				 * in it */
	uint64_t	off, end;
	size_t		bytes;	/* written by this lane */
};

struct trail {			/* of one lane */
	struct stretch	written;	/* not dropped yet, */
	struct stretch	started;	/* being written back */
	size_t		unseen;		/* bytes written since the last check */
};

static int
file_attach(struct lane *lane)
{
	lane->priv = calloc(1, sizeof(struct trail));
	return lane->priv == NULL ? ENOMEM : 0;
}

/*
 * Before a write: false if the file was cut off below the length it has to
 * keep.  If there are few writes, all may come after that and extend it again.
 */
static bool
file_still_long(const struct lane *lane, struct io *io)
{
	struct file *file = lane->ep->priv;
	struct trail *t = lane->priv;
	uint64_t at;

	if (io->op != OP_WRITE || file->device)
		return true;
	t->unseen += io->len;
	if (t->unseen < LOOK && file->cut == NOWHERE && !lane->ep->spec.keeps)
		return true;
	t->unseen = 0;
	if (!file_cut_off(file, &at))
		return true;
	io_cut_off(io, at);
	return false;
}

static bool
file_aligned(const struct file *file, const struct io *io)
{
	uint32_t align = io->op == OP_READ ? file->read_align : file->align;

	return (io->off + io->done) % align == 0 &&
	    (io->len - io->done) % align == 0;
}

/* One system call of a request; a negative result is -errno. */
static ssize_t
file_call(const struct io *io, int fd, int flags)
{
	struct iovec iov = { io->buf + io->done, io->len - io->done };
	off_t off = (off_t)(io->off + io->done);
	ssize_t n = io->op == OP_READ ? preadv2(fd, &iov, 1, off, flags) :
	    pwritev2(fd, &iov, 1, off, flags);

	return n < 0 ? -errno : n;
}

/* Whether the lane must drop the pages itself, and see what is written back. */
static bool
file_drops_pages(const struct file *file, const struct io *io)
{
	return file->behind && (file->no_dontcache || (io->op == OP_WRITE &&
	    (file->borrowed || io->off < file->length)));
}

static ssize_t
call_plain(struct file *file, const struct io *io)
{
	ssize_t n;

	if (!file->behind || file_drops_pages(file, io))
		return file_call(io, file->plain, 0);
	n = file_call(io, file->plain, RWF_DONTCACHE);
	if (n != -EOPNOTSUPP && n != -ENOSYS)
		return n;
	file->no_dontcache = true;
	return file_call(io, file->plain, 0);
}

static bool
goes_direct(const struct file *file, const struct io *io)
{
	if (file->direct < 0 || !file_aligned(file, io))
		return false;
	if (file->prefer_direct || io->op == OP_READ)
		return file->prefer_direct || io->careful;
	return file->overwrites && io->len >= LONG &&
	    io->off + io->len <= file->length;
}

static void
file_failed(const struct file *file, struct io *io, int err, bool direct)
{
	bool maybe = err == EIO || err == ENOSPC || err == 0;

	io->err = maybe && file->device && file_gone(file) ? ENODEV : err;
	io->spent = errno_is_full(err) ? file->waits : !direct;
}

/*
 * io_again, for timeout=; not at all if nothing has succeeded since that was
 * over.
 */
static bool
file_again(struct file *file, int err, struct clock_limit *limit)
{
	if (err != EINTR && err != EAGAIN)
		return false;
	if (!file->stalled && io_again(err, limit))
		return true;
	file->stalled = true;
	return false;
}

/*
 * Make some progress; false at the end or after an error.  A direct request
 * that the kernel rejects as invalid, as some file systems do at times, is
 * repeated through the page cache.
 */
static bool
file_step(struct file *file, struct io *io, struct clock_limit *limit)
{
	bool direct = goes_direct(file, io);
	ssize_t n = direct ? file_call(io, file->direct, 0) :
	    call_plain(file, io);

	if (n == -EINVAL && direct) {
		direct = false;
		n = call_plain(file, io);
	}
	if (n > 0) {
		io->done += (size_t)n;
		limit->until = 0;
		file->stalled = false;
		return true;
	}
	if (n < 0 && file_again(file, (int)-n, limit))
		return true;
	if (n == 0 && io->op == OP_WRITE)
		n = -EIO;		/* else it would be retried for ever */
	file_failed(file, io, (int)-n, direct);
	return false;
}

/* If we must drop pages ourselves, transfer does so. */
static bool
file_start(struct lane *lane, struct io *io, struct io_uring_sqe *sqe)
{
	struct file *file = lane->ep->priv;
	bool direct = goes_direct(file, io);
	int fd = direct ? file->direct : file->plain;

	if (!direct && file_drops_pages(file, io))
		return false;
	if (!file_still_long(lane, io))
		return false;		/* transfer reports it */
	if (io->op == OP_READ)
		io_uring_prep_read(sqe, fd, io->buf, (unsigned)io->len,
		    io->off);
	else
		io_uring_prep_write(sqe, fd, io->buf, (unsigned)io->len,
		    io->off);
	sqe->rw_flags = !direct && file->behind ? RWF_DONTCACHE : 0;
	return true;
}

/* Note where a target file ends now, and whether the bytes lie elsewhere. */
static void
file_note_transfer(struct file *file, const struct io *io)
{
	if (below_shifted(&file->place))
		file->shifted = true;
	if (io->op == OP_WRITE && !file->device && io->done > 0)
		raise_to(&file->high, io->off + io->done);
}

/*
 * Transient errors, and those that need the other descriptor, are left to
 * transfer.
 */
static void
file_finish(struct lane *lane, struct io *io, int result)
{
	static const int passing[] = { EINTR, EAGAIN, EINVAL, EOPNOTSUPP,
		ENOSYS, ECANCELED, ENOMEM };
	struct file *file = lane->ep->priv;
	size_t i;

	if (result >= 0 && (size_t)result < io->len)
		return;
	for (i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
		if (-result == passing[i])
			return;
	if (result < 0)
		file_failed(file, io, -result, goes_direct(file, io));
	else
		io->done = io->len;
	file_note_transfer(file, io);
}

/* Wait until a range is written back, and drop it from the page cache. */
static int
stretch_settle(const struct endpoint *ep, struct stretch *s)
{
	const struct file *file = ep->priv;
	int err;

	if (s->bytes == 0)
		return 0;
	s->bytes = 0;
	err = write_back(file->plain, s->off, s->end,
	    SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
	    SYNC_FILE_RANGE_WAIT_AFTER);
	if (!endpoint_overlaid(ep))	/* that would only begin it there */
		posix_fadvise(file->plain, (off_t)s->off, (off_t)(s->end -
		    s->off), POSIX_FADV_DONTNEED);
	return err;
}

static void
stretch_add(struct stretch *s, const struct io *io)
{
	uint64_t end = io->off + io->done;

	if (s->bytes == 0)
		*s = (struct stretch){ .off = io->off, .end = end };
	s->off = io->off < s->off ? io->off : s->off;
	s->end = end > s->end ? end : s->end;
	s->bytes += io->done;
}

/* Write back early and drop pages if the kernel does not. */
static void
file_drop_behind(struct lane *lane, struct io *io)
{
	struct file *file = lane->ep->priv;
	struct trail *t = lane->priv;
	int err;

	if (io->op == OP_READ) {
		if (!file->cached)
			posix_fadvise(file->plain, (off_t)io->off,
			    (off_t)io->done, POSIX_FADV_DONTNEED);
		return;
	}
	stretch_add(&t->written, io);
	if (t->written.bytes < WINDOW)
		return;
	io->err = write_back(file->plain, t->written.off, t->written.end,
	    SYNC_FILE_RANGE_WRITE);
	err = stretch_settle(lane->ep, &t->started);
	io->err = err != 0 ? err : io->err;
	io->spent = true;
	t->started = t->written;
	t->written.bytes = 0;
}

/* The errno value of a call that makes zeros, or 0. */
static int
zero_result(int res)
{
	if (res == 0)
		return 0;
	return errno == ENOSYS || errno == ENOTTY || errno == EINVAL ?
	    EOPNOTSUPP : errno;
}

static int
file_punch(const struct file *file, const struct io *io)
{
	return zero_result(fallocate(file->plain, FALLOC_FL_PUNCH_HOLE |
	    FALLOC_FL_KEEP_SIZE, (off_t)io->off, (off_t)io->len));
}

static int
zero_device(struct file *file, const struct endpoint *ep, const struct io *io)
{
	uint64_t range[2] = { io->off, io->len };
	int err;

	if ((ep->spec.flags & FLAG_TRIM) != 0 && !file->no_trim) {
		err = file_punch(file, io);
		if (err == 0 || err == EINTR)
			return err;
		file->no_trim = true;
	}
	err = zero_result(ioctl(file->plain, BLKZEROOUT, range));
	return err == EIO && file_gone(file) ? ENODEV : err;
}

/* A file that ends before the range has no blocks to free. */
static void
file_zero(struct file *file, const struct endpoint *ep, struct io *io)
{
	struct clock_limit limit = { .seconds = ep->spec.timeout };

	if (!ep->is.device && io->off >= file->length) {
		io->done = io->len;
		return;
	}
	do {
		io->err = ep->cmd.no_zero ? EOPNOTSUPP : ep->is.device ?
		    zero_device(file, ep, io) : file_punch(file, io);
	} while (io->err == EINTR && file_again(file, EINTR, &limit));
	if (io->err == 0)
		io->done = io->len;
	file_note_transfer(file, io);
}

static void
file_transfer(struct lane *lane, struct io *io)
{
	struct file *file = lane->ep->priv;
	struct clock_limit limit = { .seconds = lane->ep->spec.timeout };

	if (io->op == OP_ZERO) {
		file_zero(file, lane->ep, io);
		return;
	}
	if (!file_still_long(lane, io))
		return;
	while (io->done < io->len && file_step(file, io, &limit))
		continue;
	file_note_transfer(file, io);
	if (io->err == 0 && file_drops_pages(file, io) &&
	    !goes_direct(file, io))
		file_drop_behind(lane, io);
}

static int
file_detach(struct lane *lane)
{
	struct trail *t = lane->priv;
	int err = stretch_settle(lane->ep, &t->started);
	int last = stretch_settle(lane->ep, &t->written);

	free(lane->priv);
	return err != 0 ? err : last;
}

/* No data was found from "at" on: how far that is a hole, or all is data. */
static off_t
hole_to_end(const struct file *file, off_t at, bool *hole)
{
	struct stat st;

	if (fstat(file->plain, &st) != 0)
		return -1;
	*hole = at < unsure || st.st_size <= unsure;
	return *hole && st.st_size > unsure ? unsure : st.st_size;
}

/*
 * lseek moves the offset of a descriptor that nobody reads or writes by, so
 * threads may call it at the same time.
 */
static int
file_extent(const struct endpoint *ep, uint64_t off, bool changed,
    struct extent *x)
{
	const struct file *file = ep->priv;
	off_t at = (off_t)off, end = lseek(file->plain, at, SEEK_DATA);

	(void)changed;
	x->hole = end != at;
	if (end == at)
		end = lseek(file->plain, at, SEEK_HOLE);
	else if (end < 0 && errno == ENXIO)
		end = hole_to_end(file, at, &x->hole);
	if (end < 0)
		return end == -1 ? errno : EOVERFLOW;	/* tmpfs, there */
	if (end <= at)
		return ENXIO;
	x->off = off;
	x->len = (uint64_t)(end - at);
	return 0;
}

int
endpoint_share(struct endpoint *dst, uint64_t to, const struct endpoint *src,
    uint64_t from, uint64_t len)
{
	const struct file *a = src->priv, *b = dst->priv;
	struct file_clone_range r = { .src_offset = from, .src_length = len,
		.dest_offset = to };

	if (src->be != &file_backend || dst->be != &file_backend)
		return EOPNOTSUPP;
	r.src_fd = a->plain;
	return ioctl(b->plain, FICLONERANGE, &r) == 0 ? 0 : errno;
}

static int
file_extend(struct endpoint *ep, uint64_t length)
{
	const struct file *file = ep->priv;
	struct stat st;

	if (ep->is.device)
		return 0;
	if (fstat(file->plain, &st) != 0)
		return errno;
	if ((uint64_t)st.st_size >= length)
		return 0;
	return ftruncate(file->plain, (off_t)length) == 0 ? 0 : errno;
}

void
endpoint_restat(struct endpoint *ep)
{
	struct file *file = ep->priv;
	struct stat st;

	if (ep->be != &file_backend || ep->is.absent || ep->is.device ||
	    fstat(file->plain, &st) != 0)
		return;
	file->length = (uint64_t)st.st_size;
	ep->geo.size = MIN(st.st_size, ep->lim.part > 0 ?
	    (int64_t)ep->lim.end : INT64_MAX);
}

void
endpoint_go_on(struct endpoint *ep)
{
	ep->is.absent = false;
	endpoint_restat(ep);
}

void
endpoint_look_below(struct endpoint *ep, uint64_t from, uint64_t to)
{
	if (ep->be == &file_backend)
		file_look_below(ep, from, to);
}

/*
 * Blocks that are allocated and were never written do not count as holes while
 * they are cached, so they are dropped from the cache first.
 */
uint64_t
endpoint_holes(const struct endpoint *ep, uint64_t from, uint64_t to)
{
	const struct file *file = ep->priv;
	struct stat st;
	int fd;

	if (ep->be != &file_backend || ep->is.absent)
		return 0;
	fd = file->device ? file->below.fd : file->counts;
	if (fd < 0 || fstat(fd, &st) != 0)
		return 0;
	from += file->below.start;
	to = MIN(file->below.start + to, (uint64_t)st.st_size);
	if (from >= to)
		return 0;
	posix_fadvise(fd, (off_t)from, (off_t)(to - from),
	    POSIX_FADV_DONTNEED);
	return holes_in(fd, from, to);
}

/*
 * Not on a server or FUSE daemon, which may use its own clock or coarser times.
 */
static int
file_written(const struct endpoint *ep, struct timespec *t)
{
	const struct file *file = ep->priv;
	struct stat st;
	int err;

	switch ((unsigned long)ep->fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case TMPFS_MAGIC:
		break;
	default:
		return EOPNOTSUPP;
	}
	if (file->device)
		return EOPNOTSUPP;
	if (ep->spec.role == SOURCE) {
		*t = ep->id.written;
		return 0;
	}
	/* fdatasync may leave the time behind, for a power cut to undo */
	err = flush_fd(fsync, file->plain, ep->spec.timeout);
	if (err == 0 && fstat(file->plain, &st) != 0)
		err = errno;
	if (err == 0)
		*t = st.st_mtim;
	return err;
}

static void
file_drop_cache(struct endpoint *ep, uint64_t off, uint64_t len)
{
	const struct file *file = ep->priv;

	if (len > 0 && file->behind &&		/* 0 would be all the rest */
	    (ep->spec.role == TARGET || !file->cached))
		posix_fadvise(file->plain, (off_t)off, (off_t)len,
		    POSIX_FADV_DONTNEED);
	if (ep->is.inherited)
		(void)lseek(ep->fd, (off_t)(off + len), SEEK_SET);
}

/* Someone may be writing to the source. */
static void
file_note(const struct endpoint *ep, char *text, size_t room)
{
	const struct file *file = ep->priv;

	if (ep->spec.role == SOURCE && !ep->is.device)
		endpoint_moved(ep, file->plain, text, room);
	else if (ep->spec.role == SOURCE && file_below_moved(ep))
		snprintf(text, room, "its file was written to by others while "
		    "it was read; the copy may mix old and new data");
}

const struct backend file_backend = {
	.open = file_open,
	.check_range = file_check_range,
	.prepare = file_prepare,
	.attach = file_attach,
	.detach = file_detach,
	.transfer = file_transfer,
	.start = file_start,
	.finish = file_finish,
	.extent = file_extent,
	.extend = file_extend,
	.written = file_written,
	.check_kept = file_check_kept,
	.flush = file_flush,
	.view = file_view,
	.note = file_note,
	.open_readback = file_readback,
	.drop_cache = file_drop_cache,
	.close = file_close,
};
