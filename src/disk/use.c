/*
 * Who uses a disk: mounts and swap space by the kernel's tables in /proc, what
 * is made of it (dm, md, loop devices) by sysfs.
 *
 * The tables are short and looked up anew each time.  What cannot be read is
 * not taken for unused: it is noted as unknown.
 */
#include "disk/use.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/disk.h"
#include "disk/sysfs.h"

enum {
	TABLE = 2048,		/* bytes of a table to begin with */
};

static bool
found(struct use *use, enum use_kind kind, const char *by)
{
	use->kind = kind;
	snprintf(use->by, sizeof(use->by), "%s", by);
	return true;
}

/* The first that could not be read is told. */
static bool
unknown(struct use *use, enum use_kind kind, const char *file, int err)
{
	use->unknown |= kind;
	if (use->err == 0) {
		use->err = err;
		snprintf(use->unread, sizeof(use->unread), "%.63s", file);
	}
	return false;
}

/* A field of the kernel's tables: up to a blank, with \ooo for odd bytes. */
static void
unescape(char *field)
{
	const char *c = field;
	char *to = field;

	while (*c != '\0' && *c != ' ' && *c != '\t' && *c != '\n') {
		if (c[0] == '\\' && strspn(c + 1, "01234567") >= 3) {
			*to++ = (char)((c[1] - '0') << 6 | (c[2] - '0') << 3 |
			    (c[3] - '0'));
			c += 4;
		} else {
			*to++ = *c++;
		}
	}
	*to = '\0';
}

/* Whether this is a node of that device (ino 0), or that file. */
static bool
is_of(const struct stat *st, dev_t dev, ino_t ino)
{
	if (ino == 0)
		return S_ISBLK(st->st_mode) && st->st_rdev == dev;
	return st->st_dev == dev && st->st_ino == ino;
}

static bool
is_it(const char *path, dev_t dev, ino_t ino)
{
	struct stat st;

	return stat(path, &st) == 0 && is_of(&st, dev, ino);
}

/* Leave the next n words of a row out. */
static void
skip(char **row, int n)
{
	while (n > 0 && strsep(row, " ") != NULL)
		n--;
}

/*
 * A row of mountinfo: id, parent, device, root, mount point ... - type, source,
 * options, see proc_pid_mountinfo(5).  It has the number of the file system's
 * device, or else (btrfs) the device's name: no mount point is touched, for one
 * whose server is dead would hang us.
 */
static bool
mount_row(char *row, dev_t node, struct use *use)
{
	char *fs = strstr(row, " - "), *device, *source;
	dev_t dev;

	if (fs == NULL)
		return false;
	fs += 3;
	skip(&row, 2);
	device = strsep(&row, " ");
	skip(&row, 1);
	skip(&fs, 1);
	source = strsep(&fs, " ");
	if (row == NULL || fs == NULL || !sysfs_pair(&device, &dev))
		return false;
	unescape(source);
	if (dev != node && (strncmp(source, "/dev/", 5) != 0 ||
	    !is_it(source, node, 0)))
		return false;
	use->writable = strncmp(fs, "rw", 2) == 0;
	unescape(row);
	return found(use, USE_MOUNTED, row);
}

/* All there is to read, in *text; returns an errno. */
static int
read_all(int fd, char **text)
{
	size_t len = 0, room = 0;
	char *more;
	ssize_t n;

	do {
		if (room - len <= 1) {
			room = room == 0 ? TABLE : room * 2;
			more = realloc(*text, room);
			if (more == NULL)
				return ENOMEM;
			*text = more;
		}
		n = read(fd, *text + len, room - len - 1);
		if (n < 0 && errno != EINTR)
			return errno;
		len += n > 0 ? (size_t)n : 0;
	} while (n != 0);
	(*text)[len] = '\0';
	return 0;
}

/* One of the kernel's tables, the caller's to free; returns an errno. */
static int
table(const char *path, char **text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? errno : 0;

	*text = NULL;
	if (fd < 0)
		return err;
	err = read_all(fd, text);
	close(fd);
	if (err != 0) {
		free(*text);
		*text = NULL;
	}
	return err;
}

static bool
mounted(dev_t node, struct use *use)
{
	static const char file[] = "/proc/self/mountinfo";
	char *rows, *at, *row;
	int err = table(file, &rows);
	bool is = false;

	if (err != 0)
		return unknown(use, USE_MOUNTED, file, err);
	for (at = rows; !is && (row = strsep(&at, "\n")) != NULL; )
		is = mount_row(row, node, use);
	free(rows);
	return is;
}

/* A kernel without swap space has no such table, but all others. */
static bool
swapped(dev_t dev, ino_t ino, struct use *use)
{
	static const char file[] = "/proc/swaps";
	char *rows, *at, *row;
	int err = table(file, &rows);
	bool is = false;

	if (err == ENOENT && access("/proc/filesystems", F_OK) == 0)
		return false;
	if (err != 0)
		return unknown(use, USE_SWAP, file, err);
	for (at = rows; !is && (row = strsep(&at, "\n")) != NULL; ) {
		unescape(row);
		is = row[0] == '/' && is_it(row, dev, ino);
	}
	free(rows);
	return is && found(use, USE_SWAP, "swap space");
}

static bool
held(dev_t node, struct use *use)
{
	int dir = sysfs_open("block", node);
	char name[256] = "";

	if (dir >= 0) {
		sysfs_first(dir, "holders", name, sizeof(name));
		close(dir);
	}
	return name[0] != '\0' && found(use, USE_HELD, name);
}

/* Not a partition of one. */
static bool
is_loop(const char *name)
{
	return strncmp(name, "loop", 4) == 0 &&
	    name[4 + strspn(name + 4, "0123456789")] == '\0';
}

/* One that is free has no such attribute. */
static bool
lies_on(const char *loop, dev_t dev, ino_t ino, struct use *use)
{
	char path[300], folder[280], backing[PATH_MAX];
	struct stat st;
	int err, lost;

	if (!is_loop(loop))
		return false;
	snprintf(folder, sizeof(folder), "/sys/block/%s", loop);
	snprintf(path, sizeof(path), "%s/loop/backing_file", folder);
	err = sysfs_text(AT_FDCWD, path, backing, sizeof(backing)) ? 0 : errno;
	if (err == ENOENT && access(folder, F_OK) == 0)
		return false;
	lost = disk_backing(loop, backing, &st);
	if (lost == 0)
		return is_of(&st, dev, ino) && found(use, USE_LOOPED, loop);
	return lost != ENXIO && unknown(use, USE_LOOPED, path, err == 0 ?
	    lost : err);
}

static bool
any_lies_on(dev_t dev, ino_t ino, struct use *use)
{
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, "/sys/block", &list), i;
	bool is = false;

	if (n < 0)
		return unknown(use, USE_LOOPED, "/sys/block", errno);
	for (i = 0; i < n && !is; i++)
		is = lies_on(list[i]->d_name, dev, ino, use);
	sysfs_forget(list, n);
	return is;
}

/*
 * The partitions of proc(5) are all that have a byte, loop devices too.  Most
 * machines have some that are free: to ask them all would take longer than a
 * small copy.
 */
static bool
looped(dev_t dev, ino_t ino, struct use *use)
{
	char *rows, *at, *row, *name;
	bool is = false;

	if (table("/proc/partitions", &rows) != 0)
		return any_lies_on(dev, ino, use);
	for (at = rows; !is && (row = strsep(&at, "\n")) != NULL; ) {
		name = strrchr(row, ' ');
		is = name != NULL && lies_on(name + 1, dev, ino, use);
	}
	free(rows);
	return is;
}

bool
use_of_node(dev_t node, unsigned but, struct use *use)
{
	use->kind = USE_NONE;
	use->writable = false;
	use->unknown = 0;
	use->err = 0;
	return ((but & USE_MOUNTED) == 0 && mounted(node, use)) ||
	    ((but & USE_SWAP) == 0 && swapped(node, 0, use)) ||
	    ((but & USE_HELD) == 0 && held(node, use)) ||
	    ((but & USE_LOOPED) == 0 && looped(node, 0, use));
}

bool
use_of_file(dev_t dev, ino_t ino, unsigned but, struct use *use)
{
	use->kind = USE_NONE;
	use->writable = false;
	use->unknown = 0;
	use->err = 0;
	return ((but & USE_SWAP) == 0 && swapped(dev, ino, use)) ||
	    ((but & USE_LOOPED) == 0 && looped(dev, ino, use));
}
