/*
 * Who uses a disk: mounts and swap space by the kernel's tables in /proc, what
 * is made of it (dm, md, loop devices) by sysfs.
 *
 * The tables are short and looked up anew each time.
 */
#include "use.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sysfs.h"

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

/* Whether a path is this node (ino 0), or this file. */
static bool
is_it(const char *path, dev_t dev, ino_t ino)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return false;
	if (ino == 0)
		return S_ISBLK(st.st_mode) && st.st_rdev == dev;
	return st.st_dev == dev && st.st_ino == ino;
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

/* One of the kernel's tables: the caller's to free, or NULL. */
static char *
table(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0, room = TABLE;
	char *text = fd < 0 ? NULL : malloc(room), *more;
	ssize_t n;

	while (text != NULL && (n = read(fd, text + len, room - len - 1)) > 0) {
		len += (size_t)n;
		if (room - len > 1)
			continue;
		room *= 2;
		more = realloc(text, room);
		if (more == NULL)
			free(text);
		text = more;
	}
	if (text != NULL)
		text[len] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

static bool
mounted(dev_t node, struct use *use)
{
	char *rows = table("/proc/self/mountinfo"), *at = rows, *row;
	bool is = false;

	while (!is && (row = strsep(&at, "\n")) != NULL)
		is = mount_row(row, node, use);
	free(rows);
	return is;
}

static bool
swapped(dev_t dev, ino_t ino, struct use *use)
{
	char *rows = table("/proc/swaps"), *at = rows, *row;
	bool is = false;

	while (!is && (row = strsep(&at, "\n")) != NULL) {
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

static bool
lies_on(const char *loop, dev_t dev, ino_t ino, struct use *use)
{
	char path[300], backing[PATH_MAX];

	if (strncmp(loop, "loop", 4) != 0)
		return false;
	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", loop);
	return sysfs_text(AT_FDCWD, path, backing, sizeof(backing)) &&
	    is_it(backing, dev, ino) && found(use, USE_LOOPED, loop);
}

static bool
any_lies_on(dev_t dev, ino_t ino, struct use *use)
{
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, "/sys/block", &list), i;
	bool is = false;

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
	char *rows = table("/proc/partitions"), *at = rows, *row, *name;
	bool is = false;

	if (rows == NULL)
		return any_lies_on(dev, ino, use);
	while (!is && (row = strsep(&at, "\n")) != NULL) {
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
	return ((but & USE_SWAP) == 0 && swapped(dev, ino, use)) ||
	    ((but & USE_LOOPED) == 0 && looped(dev, ino, use));
}
