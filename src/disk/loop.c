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

/*
 * Use the answer of LOOP_GET_STATUS64.  For a file, kernels before 5.13 set
 * lo_rdevice to lo_device.
 */
static void
set_backing(const struct loop_info64 *info, struct stat *st)
{
	bool block = info->lo_rdevice != 0 &&
	    info->lo_rdevice != info->lo_device;

	*st = (struct stat){ .st_dev = info->lo_device,
		.st_ino = info->lo_inode,
		.st_mode = block ? S_IFBLK : S_IFREG,
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
	return stat(backing, st) == 0 ? 0 : err;
}

int
disk_loops(dev_t **node, size_t *n)
{
	struct dirent **list;
	int all = sysfs_entries(AT_FDCWD, "/sys/block", &list), i;
	int err = all < 0 ? errno : 0;
	char path[300];

	*n = 0;
	*node = reallocarray(NULL, (size_t)(all < 0 ? 0 : all) + 1,
	    sizeof(**node));
	if (*node == NULL)
		err = ENOMEM;
	for (i = 0; i < all && err == 0; i++) {
		if (strncmp(list[i]->d_name, "loop", 4) != 0)
			continue;
		snprintf(path, sizeof(path), "/sys/block/%s", list[i]->d_name);
		(*node)[*n] = sysfs_node(AT_FDCWD, path);
		if ((*node)[*n] != 0)
			(*n)++;
		else
			err = sysfs_unasked(errno);
	}
	sysfs_forget(list, all);
	if (err != 0) {
		free(*node);
		*node = NULL;
	}
	return err;
}
