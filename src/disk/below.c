/*
 * What a block device lies on, by sysfs: a partition on its disk; dm and md on
 * their "slaves"; a loop device on "loop/backing_file", a file or a disk.
 *
 * The loop device itself is queried for the file, because the name may belong
 * to another file by now.
 */
#include "disk/below.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/path.h"
#include "base/status.h"
#include "disk/disk.h"
#include "disk/sysfs.h"

enum {
	DEEP = 16,		/* deeper than any stack of devices */
	MEMBERS = 64,		/* of a dm or md device; of more, the first */
};

static bool
has_members(int dir, const char *slaves)
{
	char name[256] = "";

	return sysfs_first(dir, slaves, name, sizeof(name)) == 0 &&
	    name[0] != '\0';
}

bool
below_any(dev_t node)
{
	int dir = sysfs_open("block", node);
	bool is;

	if (dir < 0)
		return false;
	is = faccessat(dir, "loop", F_OK, 0) == 0 ||
	    faccessat(dir, "../loop", F_OK, 0) == 0 ||
	    has_members(dir, "slaves") || has_members(dir, "../slaves");
	close(dir);
	return is;
}

/*
 * A member that is no longer a device has a dangling link: 0.  Returns their
 * number, or 0 if it is unknown.
 */
static int
below_members(dev_t node, dev_t *member, int room)
{
	int dir = sysfs_open("block", node), n, i, known = 0;
	struct dirent **list;
	char path[300];

	if (dir < 0)
		return 0;
	n = sysfs_entries(dir, "slaves", &list);
	for (i = 0; i < n && i < room; i++) {
		snprintf(path, sizeof(path), "slaves/%s", list[i]->d_name);
		member[i] = sysfs_node(dir, path);
		known += member[i] != 0 || sysfs_unasked(errno) == 0;
	}
	sysfs_forget(list, n);
	close(dir);
	return known == i ? i : 0;
}

/*
 * The size of a block device in bytes, -1 if unknown.  A device that was
 * removed has size 0, and later no directory.
 */
static int64_t
length_of(dev_t node)
{
	int dir = sysfs_open("block", node);
	int64_t bytes = -1;
	char text[32];

	if (dir < 0)
		return -1;
	if (sysfs_text(dir, "size", text, sizeof(text)) &&
	    __builtin_mul_overflow(strtoll(text, NULL, 10), SYSFS_SECTOR,
	    &bytes))
		bytes = -1;
	close(dir);
	return bytes;
}

static bool below_node_gone(dev_t node, int depth);

/* A file is gone if the disk of its file system is. */
static bool
backing_gone(const struct disk *d, int depth)
{
	struct stat st;

	return disk_backing(d->whole_name, d->backing, &st) == 0 &&
	    below_node_gone(S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev,
	    depth);
}

static bool
members_gone(dev_t node, int depth)
{
	dev_t member[MEMBERS];
	int n = below_members(node, member, MEMBERS), i;
	bool all = n > 0;

	for (i = 0; i < n && all; i++)
		all = member[i] == 0 || below_node_gone(member[i], depth);
	return all;
}

static bool
below_node_gone(dev_t node, int depth)
{
	struct disk d;

	if (major(node) == 0)		/* a file system without a disk */
		return false;
	if (length_of(node) == 0 || disk_lost(node, true))
		return true;
	if (depth == 0 || !below_any(node) || !disk_of_block(node, &d))
		return false;
	if (d.backing[0] != '\0')
		return backing_gone(&d, depth - 1);
	return members_gone(d.whole, depth - 1);
}

bool
below_gone(dev_t node)
{
	return below_node_gone(node, DEEP);
}

/* The length of the file below a loop device; -1: unknown. */
static off_t
file_length(const struct disk *d)
{
	struct loop_info64 info = { .lo_inode = 0 };
	struct stat st;
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/dev/%s", d->whole_name);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (ioctl(fd, LOOP_GET_STATUS64, &info) != 0 ||
	    stat(d->backing, &st) != 0 || st.st_ino != info.lo_inode ||
	    st.st_dev != info.lo_device)
		st.st_size = -1;
	close(fd);
	return st.st_size;
}

static int below_node_kept(dev_t node, uint64_t end, int depth,
    struct fault *f);

/* A loop device reads as zeros beyond the end of its file or disk. */
static int
below_device_kept(const struct disk *d, dev_t node, uint64_t end, int depth,
    struct fault *f)
{
	int64_t length = length_of(node);

	if (length == 0 || disk_lost(node, true))
		return fault_set(f, status_errno(ENODEV), "%s: the disk "
		    "under it is gone, and it may read as zeros", d->name);
	if (length > 0 && (uint64_t)length < end)
		return fault_set(f, STATUS_SHORT, "%s: the device under it now "
		    "ends at byte %lld, and all past that may read as zeros",
		    d->name, (long long)length);
	return below_node_kept(node, end, depth, f);
}

static int
loop_kept(const struct disk *d, uint64_t end, int depth, struct fault *f)
{
	struct stat st;
	off_t length;

	if (disk_backing(d->whole_name, d->backing, &st) != 0)
		return 0;
	if (S_ISBLK(st.st_mode))
		return below_device_kept(d, st.st_rdev, d->backing_off + end,
		    depth, f);
	length = file_length(d);
	if (length < 0 || (uint64_t)length >= d->backing_off + end)
		return 0;
	return fault_set(f, STATUS_SHORT, "%s: its file %s was truncated at "
	    "byte %lld, and all past that may read as zeros", d->name,
	    d->backing, (long long)length);
}

static int
below_node_kept(dev_t node, uint64_t end, int depth, struct fault *f)
{
	dev_t member[MEMBERS];
	struct disk d;
	int n, i, failed = 0;

	if (depth == 0 || !below_any(node) || !disk_of_block(node, &d))
		return 0;
	end = (end < d.length ? end : d.length) + d.start;
	if (d.backing[0] != '\0')
		return loop_kept(&d, end, depth - 1, f);
	n = below_members(d.whole, member, MEMBERS);
	for (i = 0; i < n && failed == 0; i++)
		failed = member[i] == 0 ? 0 :
		    below_node_kept(member[i], UINT64_MAX, depth - 1, f);
	return failed;
}

int
below_kept(dev_t node, uint64_t end, struct fault *f)
{
	return below_node_kept(node, end, DEEP, f);
}

static int
below_open_backing(const char *name, const struct stat *is)
{
	int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    same_file(&st, is)))
		return fd;
	close(fd);
	return -1;
}

int
below_file(dev_t node, uint64_t *start)
{
	struct disk d;
	struct stat st;
	int i;

	*start = 0;
	for (i = 0; i < DEEP && below_any(node) && disk_of_block(node, &d) &&
	    d.backing[0] != '\0'; i++) {
		*start += d.start + d.backing_off;
		if (disk_backing(d.whole_name, d.backing, &st) != 0)
			return -1;
		if (!S_ISBLK(st.st_mode))
			return below_open_backing(d.backing, &st);
		node = st.st_rdev;
	}
	return -1;
}

/*
 * The writes and discards that a disk has done: columns 5 and 12 of its
 * statistics, see Documentation/block/stat.rst of the kernel.
 */
static uint64_t
writes_of(dev_t whole)
{
	int dir = sysfs_open("block", whole), i;
	char text[512], *at = text;
	uint64_t n, all = 0;

	if (dir < 0)
		return 0;
	if (sysfs_text(dir, "stat", text, sizeof(text)))
		for (i = 1; i <= 12; i++) {
			n = strtoull(at, &at, 10);
			all += i == 5 || i == 12 ? n : 0;
		}
	close(dir);
	return all;
}

uint64_t
below_writes(dev_t node)
{
	struct disk d;
	struct stat st = { .st_mode = S_IFBLK };
	uint64_t all = 0;
	int i;

	for (i = 0; i < DEEP && S_ISBLK(st.st_mode) && below_any(node) &&
	    disk_of_block(node, &d) && d.backing[0] != '\0' &&
	    disk_backing(d.whole_name, d.backing, &st) == 0; i++) {
		all += writes_of(d.whole);
		node = st.st_rdev;
	}
	return all;
}

static int
below_each_member(dev_t node, int (*fn)(dev_t, const char *, void *), void *arg,
    int depth)
{
	int dir = sysfs_open("block", node), n, i, got = 0;
	const char *directory = "slaves";
	struct dirent **list;
	char path[300];
	dev_t member;

	if (dir < 0)
		return 0;
	n = sysfs_entries(dir, directory, &list);
	if (n < 0) {			/* a partition has none itself */
		directory = "../slaves";
		n = sysfs_entries(dir, directory, &list);
	}
	for (i = 0; i < n && got == 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory,
		    list[i]->d_name);
		member = sysfs_node(dir, path);
		if (member != 0)
			got = fn(member, list[i]->d_name, arg);
		if (member != 0 && got == 0 && depth > 0)
			got = below_each_member(member, fn, arg, depth - 1);
	}
	sysfs_forget(list, n);
	close(dir);
	return got;
}

int
below_each(dev_t node, int (*fn)(dev_t, const char *, void *), void *arg)
{
	return below_each_member(node, fn, arg, DEEP);
}
