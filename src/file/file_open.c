/*
 * Opening regular files and block devices, and querying their properties.
 *
 * Large requests to blocks that a file already has bypass the page cache
 * (choose_overwriting).
 *
 * Two copies to the same bytes of a file would both succeed and leave a
 * mixture.  So a copy locks the range that it writes, for other copies to see
 * (LOCKS_OF_COPIES).
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/libc.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/sysfs.h"
#include "disk/usage.h"
#include "end/backend.h"

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
	errno = below_locate(ep->id.node, bytes, &file->place);
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
	return pages > 0 ||
	    (unsigned long)ep->fs.f_type == OVERLAYFS_SUPER_MAGIC;
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

int
file_close(struct endpoint *ep)
{
	struct file *file = ep->priv;
	int err = 0;

	if (file->direct >= 0 && close(file->direct) != 0)
		err = errno;
	if (file->flush >= 0 && close(file->flush) != 0)
		err = errno;
	if (file->plain >= 0 && close(file->plain) != 0)
		err = errno;
	if (file->below.fd >= 0)
		close(file->below.fd);
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
	int moved;

	if (file->medium != was->medium || ep->geo.size != size)
		return fault_set(f, STATUS_REFUSED, "%s: the medium was "
		    "changed since it was looked at", ep->name);
	moved = below_elsewhere(ep->id.node, &was->place);
	if (moved < 0)
		return fault_errno(f, errno, "%s: what it lies on", ep->name);
	if (moved > 0)
		return fault_set(f, STATUS_REFUSED, "%s: it begins at another "
		    "byte of what lies below it than when it was looked at, or "
		    "lies on something else", ep->name);
	return 0;
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

int
file_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct file *file = calloc(1, sizeof(*file));
	int failed = 0;

	if (file == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	*file = (struct file){ .plain = -1, .direct = -1, .flush = -1,
		.below.fd = -1, .cut = NOWHERE, .device = ep->is.device };
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

/* If the target is only looked at (EBADF), test instead. */
static bool
file_lock_range(int fd, const struct flock *range)
{
	struct flock ask = *range;

	return fcntl(fd, F_OFD_SETLK, range) == 0 ||
	    (errno != EAGAIN && errno != EACCES && (errno != EBADF ||
	    fcntl(fd, F_OFD_GETLK, &ask) != 0 || ask.l_type == F_UNLCK));
}

int
file_lock(const struct endpoint *ep, int fd, uint64_t from, uint64_t to,
    struct fault *f)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = (off_t)(LOCKS_OF_COPIES + from) };

	if (from >= to || from >= LOCKS_OF_COPIES || ep->spec.held)
		return 0;
	if (to < LOCKS_OF_COPIES)
		range.l_len = (off_t)(to - from);
	if (file_lock_range(fd, &range) &&
	    (ep->layer < 0 || file_lock_range(ep->layer, &range)))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: another copy is "
	    "being made to the same bytes of it; end that first (force=held "
	    "writes anyway)", ep->name);
}

/* A lock on a shared descriptor would outlive this process. */
static int
lock_range(const struct endpoint *ep, const struct file *file, struct fault *f)
{
	return file->borrowed ? 0 : file_lock(ep, file->plain, file->from,
	    file->to, f);
}

int
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
	file_note_end(file, file->length);
	if (!file->borrowed && file->from > 0 && file->length > 0)
		file->before = holes_in(file->plain, 0,
		    MIN(file->from, file->length));
	return 0;
}

int
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
		file_note_end(file, MIN((uint64_t)ep->geo.size, file->to));
	return file_truncate(ep, file, length, f);
}

int
file_view(const struct endpoint *ep, bool *cached)
{
	const struct file *file = ep->priv;
	int fd = reopen(file->plain, endpoint_path(ep), O_RDONLY |
	    (file_open_flags(ep, true) & O_NOATIME));

	*cached = !file->behind || (fd >= 0 && shares_cache(ep,
	    cached_pages(fd, 0, 0)));
	return fd;
}
