/*
 * Loop devices: all of them, and what each lies on.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/disk.h"
#include "disk/sysfs.h"
#include "tables.h"

/*
 * Use the answer of LOOP_GET_STATUS64.  A device that was attached read-only
 * stays so until it is detached, whatever blockdev(8) may say.  For a file,
 * kernels before 5.13 set lo_rdevice to lo_device.
 */
static void
set_backing(const struct loop_info64 *info, struct stat *st)
{
	bool block = info->lo_rdevice != 0 &&
	    info->lo_rdevice != info->lo_device;
	bool writes = (info->lo_flags & LO_FLAGS_READ_ONLY) == 0;

	*st = (struct stat){ .st_dev = info->lo_device,
		.st_ino = info->lo_inode,
		.st_mode = (block ? S_IFBLK : S_IFREG) |
		(writes ? S_IWUSR : 0),
		.st_rdev = block ? info->lo_rdevice : 0 };
}

/* Query the device itself; ENXIO: nothing below it could answer. */
static int
ask_loop(const char *loop, struct stat *st)
{
	struct loop_info64 info;
	char path[300];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/dev/%s", loop);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (ioctl(fd, LOOP_GET_STATUS64, &info) == 0)
		set_backing(&info, st);
	else
		err = errno == ENOTTY ? ENOTTY : ENXIO;
	close(fd);
	return err;
}

int
disk_backing(const char *loop, const char *backing, struct stat *st)
{
	int err = ask_loop(loop, st);

	if (err == 0 || err == ENXIO || err == EMFILE || err == ENFILE ||
	    backing == NULL)
		return err;
	if (stat(backing, st) != 0)
		return err;
	st->st_mode |= S_IWUSR;
	return 0;
}

/*
 * A free device has no such attribute; while one is being detached, it is empty
 * for a moment, or disappears.
 */
static bool
is_free(const char *directory, const char *path)
{
	char text[8];

	return sysfs_text(AT_FDCWD, path, text, sizeof(text)) ? false :
	    errno == 0 || (errno == ENOENT && access(directory, F_OK) == 0);
}

int
disk_medium(const char *loop, struct stat *st)
{
	char path[300], directory[280], backing[PATH_MAX];
	int lost = disk_backing(loop, NULL, st), err;

	if (lost == 0 || lost == ENXIO)
		return lost;
	snprintf(directory, sizeof(directory), "/sys/block/%s", loop);
	snprintf(path, sizeof(path), "%s/loop/backing_file", directory);
	err = sysfs_text(AT_FDCWD, path, backing, sizeof(backing)) ? 0 : errno;
	if (err == ENOENT && access(directory, F_OK) == 0)
		return ENXIO;
	lost = disk_backing(loop, backing, st);
	if (lost == 0 || is_free(directory, path))
		return lost == 0 ? 0 : ENXIO;
	return err == 0 ? lost : err;
}

/* Whether that is the name of a whole loop device. */
static bool
is_loop(const char *name)
{
	return strncmp(name, "loop", 4) == 0 && name[4] != '\0' &&
	    name[4 + strspn(name + 4, "0123456789")] == '\0';
}

/* All of them, free ones too. */
static int
each_of_all(int (*fn)(const char *loop, void *arg), void *arg)
{
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, "/sys/block", &list), i;
	int got = n < 0 ? -errno : 0;

	for (i = 0; i < n && got == 0; i++)
		if (is_loop(list[i]->d_name))
			got = fn(list[i]->d_name, arg);
	sysfs_forget(list, n);
	return got;
}

/*
 * /proc/partitions lists all devices that are not empty.  Most machines have
 * some free ones, and querying all of them would take longer than a small copy.
 */
int
disk_each_loop(int (*fn)(const char *loop, void *arg), void *arg)
{
	char *rows, *at, *row, *name;
	int got = 0;

	if (table_read("/proc/partitions", &rows) != 0)
		return each_of_all(fn, arg);
	for (at = rows; got == 0 && (row = strsep(&at, "\n")) != NULL; ) {
		name = strrchr(row, ' ');
		if (name != NULL && is_loop(name + 1))
			got = fn(name + 1, arg);
	}
	free(rows);
	return got;
}
