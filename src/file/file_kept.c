/*
 * Whether a file or device is still what was opened.
 *
 * Someone may truncate a target file while it is being written.  The next write
 * extends it again, and leaves a hole where data was.  So its length is
 * compared now and then with the end of the data written, and with the earlier
 * length, and its holes are counted at the end.
 *
 * The same can happen to the file below a loop device, whether source or
 * target.  A source may have had holes before, and reading adds none.  But
 * whether allocated blocks that were never written count as holes depends on
 * the page cache, so they are counted again only if the file was changed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/status.h"
#include "disk/disk.h"
#include "disk/sysfs.h"
#include "end/backend.h"
#include "file.h"

/*
 * What the kernel says about the page cache.
 */

#ifndef SYS_cachestat
#define SYS_cachestat	451		/* Linux 6.5 */
#endif

int64_t
cached_pages(int fd, uint64_t off, uint64_t len)
{
	uint64_t range[2] = { off, len };	/* struct cachestat_range */
	uint64_t pages[5] = { 0 };	/* struct cachestat, cached first */

	return syscall(SYS_cachestat, fd, range, pages, 0) == 0 ?
	    (int64_t)pages[0] : -1;
}

int
write_back(int fd, uint64_t from, uint64_t to, unsigned flags)
{
	if (sync_file_range(fd, (off_t)from, (off_t)(to - from), flags) == 0 ||
	    errno == ESPIPE || errno == EINVAL || errno == ENOSYS)
		return 0;
	return errno;
}

bool
cached_only(unsigned long type)
{
	return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

/*
 * Holes where data should be.  When someone truncates a file, the next write
 * extends it again and leaves a hole where data was.  So holes are counted at
 * the end, on file systems that allocate blocks for all that is written, even
 * zeros, and that report holes.
 */

/*
 * Whether holes can be counted. tmpfs would have to visit every page, but knows
 * the exact number of blocks.  ZFS makes holes of zeros, and shows no extents.
 */
static bool
holes_countable(int fd, uint64_t most)
{
	struct fiemap extents = { .fm_length = 1 };
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) != 0)
		return false;
	switch ((unsigned long)fs.f_type) {
	case EXT4_SUPER_MAGIC:		/* also ext2, ext3 */
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
		return true;
	case OVERLAYFS_SUPER_MAGIC:
		return ioctl(fd, FS_IOC_FIEMAP, &extents) == 0;
	case TMPFS_MAGIC:
		return fstat(fd, &st) == 0 && (uint64_t)st.st_blocks * 512 +
		    most < (uint64_t)st.st_size;
	default:
		return false;
	}
}

/* Count bytes of holes, but stop at more than "most". */
static uint64_t
holes_bytes(int fd, uint64_t from, uint64_t to, uint64_t most)
{
	uint64_t sum = 0;
	off_t start, end = (off_t)from;

	while (sum <= most) {
		start = lseek(fd, end, SEEK_HOLE);
		if (start < 0 || (uint64_t)start >= to)
			break;
		end = lseek(fd, start, SEEK_DATA);
		if ((uint64_t)end > to)		/* or there is no more: -1 */
			end = (off_t)to;
		sum += (uint64_t)(end - start);
	}
	return sum;
}

bool
holes_more(int fd, uint64_t from, uint64_t to, uint64_t most)
{
	return most < to - from && holes_countable(fd, most) &&
	    holes_bytes(fd, from, to, most) > most;
}

uint64_t
holes_in(int fd, uint64_t from, uint64_t to)
{
	return holes_countable(fd, 0) ? holes_bytes(fd, from, to, UINT64_MAX) :
	    0;
}

#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ	_IOR(0x12, 128, uint64_t)	/* Linux 5.15 */
#endif

uint64_t
file_medium(int fd)
{
	uint64_t number;

	return ioctl(fd, BLKGETDISKSEQ, &number) == 0 ? number : 0;
}

/* Opening a drive makes it look for its medium. */
static bool
file_ejected(const struct file *file, dev_t node)
{
	int dir = sysfs_open("block", node), fd;
	bool is = false;

	if (dir < 0)
		return false;
	if (sysfs_number(dir, "removable") != 0 ||
	    sysfs_number(dir, "../removable") != 0) {
		fd = reopen(file->plain, "", O_RDONLY);
		is = fd < 0 && errno == ENOMEDIUM;
		if (fd >= 0)
			close(fd);
	}
	close(dir);
	return is || file_medium(file->plain) != file->medium;
}

bool
file_gone(const struct file *file)
{
	struct stat st;

	return disk_gone(file->plain) || (fstat(file->plain, &st) == 0 &&
	    (below_gone(st.st_rdev) || file_ejected(file, st.st_rdev)));
}

bool
file_cut_off(struct file *file, uint64_t *at)
{
	uint64_t high = file->high;
	struct stat st;

	if (high > 0 && fstat(file->plain, &st) == 0 &&
	    (uint64_t)st.st_size < high)
		file->cut = (uint64_t)st.st_size;
	*at = file->cut;
	return *at != NOWHERE;
}

void
file_look_below(struct endpoint *ep, uint64_t from, uint64_t to)
{
	struct file *file = ep->priv;
	const uint64_t start = file->below.start;
	struct stat st;
	int fd = file->below.fd;

	if (fd < 0)
		return;
	file->below.holes = holes_in(fd, start + from, start + to);
	if (file->below.holes > 0) {	/* from the source's file */
		disk_settle(file->plain);
		file->below.holes = holes_in(fd, start + from, start + to);
	}
	file->below.known = fstat(fd, &st) == 0;
	file->below.changed = st.st_ctim;
	file->below.written = st.st_mtim;
	file->below.writes = below_writes(ep->id.node);
}

bool
file_below_moved(const struct endpoint *ep)
{
	const struct file *file = ep->priv;
	const struct timespec *was = &file->below.written;
	struct stat st;

	return file->below.known && fstat(file->below.fd, &st) == 0 &&
	    (st.st_mtim.tv_sec != was->tv_sec ||
	    st.st_mtim.tv_nsec != was->tv_nsec) &&
	    below_writes(ep->id.node) == file->below.writes;
}

/* Whether the file below has more than "most" bytes of new holes. */
static bool
below_holed(const struct endpoint *ep, const struct file *file, uint64_t from,
    uint64_t to, uint64_t most)
{
	const struct timespec *was = &file->below.changed;
	struct stat st;
	int fd = file->below.fd;

	from += file->below.start;
	to += file->below.start;
	if (fd < 0)
		return false;
	if (ep->spec.role == TARGET)
		return (ep->spec.sync || file->prefer_direct) &&
		    holes_more(fd, from, to, most);
	return file->below.known && fstat(fd, &st) == 0 &&
	    (st.st_ctim.tv_sec != was->tv_sec ||
	    st.st_ctim.tv_nsec != was->tv_nsec) &&
	    holes_more(fd, from, to, file->below.holes);
}

int
file_stayed(const struct endpoint *ep, int status, struct fault *f)
{
	const struct file *file = ep->priv;
	int moved = file->shifted ? 1 : below_elsewhere(ep->id.node,
	    &file->place);

	if (moved < 0)
		return fault_errno(f, errno, "%s: what it lies on", ep->name);
	return moved == 0 ? 0 : fault_set(f, status, "%s begins at another "
	    "byte of what lies below it than when it was opened, or has done "
	    "so for a while, or lies on something else", ep->name);
}

static int
file_device_kept(const struct endpoint *ep, dev_t node, uint64_t from,
    uint64_t to, uint64_t most, struct fault *f)
{
	const struct file *file = ep->priv;
	int block;

	if (file_medium(file->plain) != file->medium)
		return fault_set(f, status_errno(ENODEV), "%s: the medium was "
		    "changed during the copy", ep->name);
	if (ioctl(file->plain, BLKSSZGET, &block) == 0 &&
	    (uint32_t)block != ep->geo.block)
		return fault_set(f, status_errno(ENODEV), "%s was "
		    "reformatted during the copy: its blocks have %d bytes now",
		    ep->name, block);
	if (below_kept(node, to, f) != 0 ||
	    file_stayed(ep, status_errno(ENODEV), f) != 0)
		return -1;
	return !below_holed(ep, file, from, to, most) ? 0 :
	    fault_set(f, STATUS_FILE, "%s: its file was truncated during the "
	    "copy, or holes were made in it, which are zeros now", ep->name);
}

/*
 * Whether somebody has made a target file longer by a hole that lies before
 * what was written, as fallocate(1) -i does.
 */
static bool
file_shifted(const struct file *file, uint64_t size)
{
	uint64_t end = MIN(file->from, file->length);

	return size > file->high && end > 0 &&
	    holes_more(file->counts, 0, end, file->before);
}

int
file_check_kept(const struct endpoint *ep, uint64_t from, uint64_t to,
    uint64_t most, struct fault *f)
{
	struct file *file = ep->priv;
	struct stat st;
	uint64_t at;

	if (fstat(file->plain, &st) != 0)
		return fault_errno(f, errno, "%s, at the end", ep->name);
	if (ep->is.device)
		return file_device_kept(ep, st.st_rdev, from, to, most, f);
	if ((uint64_t)st.st_size < to)
		return endpoint_cut_off(ep, (uint64_t)st.st_size, f);
	if (file_cut_off(file, &at))
		return endpoint_cut_off(ep, at, f);
	if (holes_more(file->counts, from, to, most) ||
	    file_shifted(file, (uint64_t)st.st_size))
		return endpoint_holed(ep, f);
	return endpoint_named(ep, &st, f);
}
