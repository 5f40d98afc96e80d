/*
 * What uses a disk: mounts and swap space by the tables in /proc, devices built
 * on it (dm, md, loop) by sysfs, exports by configfs.
 *
 * The tables are short, and read each time.  If one cannot be read, the disk is
 * not taken for unused; the failure is recorded.
 */
#include "disk/usage.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/disk.h"
#include "disk/filesystem.h"
#include "disk/opened.h"
#include "disk/overlay.h"
#include "disk/sysfs.h"
#include "tables.h"

static void
usage_begin(struct usage *use)
{
	use->kind = USE_NONE;
	use->writable = false;
	use->unknown = 0;
	use->err = 0;
}

/* Note a use, if that is one; returns whether it is. */
static bool
usage_found(bool is, struct usage *use, enum usage_kind kind, const char *by)
{
	if (is) {
		use->kind = kind;
		strlcpy(use->by, by, sizeof(use->by));
	}
	return is;
}

/* Keep the first file that could not be read. */
static bool
usage_unknown(struct usage *use, enum usage_kind kind, const char *file,
    int err)
{
	use->unknown |= kind;
	if (use->err == 0) {
		use->err = err;
		snprintf(use->unread, sizeof(use->unread), "%.63s", file);
	}
	return false;
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

/*
 * A row has the number of the file system's device; for btrfs, it has the name
 * of its first device instead, and for erofs and FUSE it may have that of a
 * file.  Mount points are not touched, because that of a dead server would
 * hang.
 */
static bool
is_mount_of(const struct mount *m, dev_t dev, ino_t ino)
{
	if (ino != 0)
		return (strcmp(m->type, "erofs") == 0 ||
		    strncmp(m->type, "fuse", 4) == 0) &&
		    m->source[0] == '/' && is_it(m->source, dev, ino);
	return m->dev == dev || (strncmp(m->source, "/dev/", 5) == 0 &&
	    (is_it(m->source, dev, 0) || (strcmp(m->type, "btrfs") == 0 &&
	    filesystem_has(m->source, dev))));
}

/* Whether a row is of a kind that mounts files; quick, as each copy asks. */
static bool
row_may_be_file(const char *row)
{
	const char *at = row;

	for (; (at = strchr(at, '-')) != NULL; at++)
		if (at > row && (strncmp(at - 1, " - fuse", 7) == 0 ||
		    strncmp(at - 1, " - erofs ", 9) == 0))
			return true;
	return false;
}

static bool
mount_row(char *row, dev_t dev, ino_t ino, struct usage *use)
{
	struct mount m;

	if (ino != 0 && !row_may_be_file(row))
		return false;
	if (!table_mount(row, &m))
		return false;
	table_unescape(m.source);
	if (!is_mount_of(&m, dev, ino))
		return false;
	use->writable = strncmp(m.options, "rw", 2) == 0;
	table_unescape(m.point);
	return usage_found(true, use, USE_MOUNTED, m.point);
}

static bool
usage_mounted(dev_t dev, ino_t ino, struct usage *use)
{
	static const char file[] = MOUNTS;
	char *rows, *at, *row;
	int err = table_read(file, &rows);
	bool is = false;

	if (err != 0)
		return usage_unknown(use, USE_MOUNTED, file, err);
	for (at = rows; !is && (row = strsep(&at, "\n")) != NULL; )
		is = mount_row(row, dev, ino, use);
	free(rows);
	return is;
}

/*
 * Only erofs (Linux 6.12) and FUSE (fuse2fs, ntfs-3g) mount a file without a
 * loop device.  erofs has a directory for each mount, and one for its features.
 * FUSE has a directory for each connection, if its control file system is
 * mounted, whose root is inode 1.  Without sysfs there may be some.
 */
static bool
files_mounted(void)
{
	struct stat st;

	return (stat("/sys/fs/fuse/connections", &st) == 0 &&
	    (st.st_ino != 1 || st.st_nlink > 2)) ||
	    (stat("/sys/fs/erofs", &st) == 0 && st.st_nlink > 3) ||
	    access("/sys/fs", F_OK) != 0;
}

/* A kernel without swap support lacks this table only. */
static bool
usage_swapped(dev_t dev, ino_t ino, struct usage *use)
{
	static const char file[] = "/proc/swaps";
	char *rows, *at, *row;
	int err = table_read(file, &rows);
	bool is = false;

	if (err == ENOENT && access("/proc/filesystems", F_OK) == 0)
		return false;
	if (err != 0)
		return usage_unknown(use, USE_SWAP, file, err);
	for (at = rows; !is && (row = strsep(&at, "\n")) != NULL; ) {
		table_unescape(row);
		is = row[0] == '/' && is_it(row, dev, ino);
	}
	free(rows);
	return usage_found(is, use, USE_SWAP, "swap space");
}

/*
 * The kernel's servers, by configfs.  Their files name the exported object,
 * perhaps among other words; they open it without claiming it.
 */
static const struct server {
	const char *name, *files, *before, *behind;
	const char *enabled;	/* file beside it that has 1, or NULL */
} servers[] = {
	{ "the NVMe target", "nvmet/subsystems/*/namespaces/*/device_path",
	    "", "", "enable" },
	{ "the SCSI target", "target/core/fileio_*/*/info", "File: ",
	    "  Size: ", NULL },
	{ "the USB gadget", "usb_gadget/*/functions/mass_storage.*/lun.*/file",
	    "", "", NULL },
};

#define CONFIGFS	"/sys/kernel/config/"

/* Read a file of a server; what cannot be asked is noted. */
static bool
server_text(const char *file, char *text, size_t room, struct usage *use)
{
	if (sysfs_text(AT_FDCWD, file, text, room))
		return true;
	if (sysfs_unasked(errno) != 0)
		usage_unknown(use, USE_HELD, CONFIGFS, errno);
	return false;
}

/* Whether this file of a server names the device or file. */
static bool
server_names(const struct server *s, const char *file, dev_t dev, ino_t ino,
    struct usage *use)
{
	char text[PATH_MAX + 512], path[PATH_MAX], on[8];
	char *name, *end;

	if (s->enabled != NULL) {
		snprintf(path, sizeof(path), "%.*s%s",
		    (int)(strrchr(file, '/') + 1 - file), file, s->enabled);
		if (!server_text(path, on, sizeof(on), use) ||
		    strcmp(on, "1") != 0)
			return false;
	}
	if (!server_text(file, text, sizeof(text), use))
		return false;
	name = strstr(text, s->before);
	if (name == NULL)
		return false;
	name += strlen(s->before);
	end = s->behind[0] != '\0' ? strstr(name, s->behind) : NULL;
	if (end != NULL)
		*end = '\0';
	return name[0] == '/' && is_it(name, dev, ino);
}

/* For glob(3): a directory that is missing is no error. */
static int
glob_unasked(const char *directory, int err)
{
	(void)directory;
	return sysfs_unasked(err);
}

static bool
exported_by(const struct server *s, dev_t dev, ino_t ino, struct usage *use)
{
	char pattern[128];
	glob_t all = { .gl_pathc = 0 };
	bool is = false;
	size_t i;
	int got;

	snprintf(pattern, sizeof(pattern), CONFIGFS "%s", s->files);
	got = glob(pattern, GLOB_NOSORT, glob_unasked, &all);
	if (got != 0 && got != GLOB_NOMATCH)
		usage_unknown(use, USE_HELD, CONFIGFS, got == GLOB_ABORTED ?
		    EMFILE : ENOMEM);
	for (i = 0; got == 0 && i < all.gl_pathc && !is; i++)
		is = server_names(s, all.gl_pathv[i], dev, ino, use);
	globfree(&all);
	return usage_found(is, use, USE_HELD, s->name);
}

static bool
usage_exported(dev_t dev, ino_t ino, struct usage *use)
{
	size_t i;
	bool is = false;

	if (access(CONFIGFS, F_OK) != 0)
		return false;
	for (i = 0; i < sizeof(servers) / sizeof(servers[0]) && !is; i++)
		is = exported_by(&servers[i], dev, ino, use);
	return is;
}

static bool
usage_held(dev_t node, struct usage *use)
{
	int dir = sysfs_open("block", node), err = errno;
	char name[256] = "";

	if (dir >= 0) {
		err = sysfs_first(dir, "holders", name, sizeof(name));
		close(dir);
	}
	if (sysfs_unasked(err) != 0)
		usage_unknown(use, USE_HELD, "/sys/dev/block", err);
	return usage_found(name[0] != '\0', use, USE_HELD, name) ||
	    usage_exported(node, 0, use);
}

struct looking {		/* for loop devices */
	dev_t	 dev;
	ino_t	 ino;
	bool	 writers;	/* only those that may write */
	struct usage *use;
	char	*mounts;	/* for overlay_loop */
};

/* Whether a loop device lies on it, perhaps by its name on an overlay. */
static int
lies_on(const char *loop, void *arg)
{
	struct looking *at = arg;
	char path[300];
	struct stat st;
	int err = disk_medium(loop, &st);

	if (err == 0 && at->writers && (st.st_mode & S_IWUSR) == 0)
		return 0;
	if (err == 0 && at->ino != 0 && st.st_dev != at->dev)
		err = overlay_loop(loop, &st, &at->mounts);
	if (err == 0)
		return usage_found(is_of(&st, at->dev, at->ino), at->use,
		    USE_LOOPED, loop);
	snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file", loop);
	return err != ENXIO && usage_unknown(at->use, USE_LOOPED, path, err);
}

static bool
usage_looped(dev_t dev, ino_t ino, unsigned but, struct usage *use)
{
	struct looking at = { dev, ino, (but & USE_LOOPED_TO_READ) != 0, use,
		NULL };
	int got = disk_each_loop(lies_on, &at);

	free(at.mounts);
	return got < 0 ? usage_unknown(use, USE_LOOPED, "/sys/block", -got) :
	    got > 0;
}

bool
usage_of_node(dev_t node, unsigned but, struct usage *use)
{
	usage_begin(use);
	return ((but & USE_MOUNTED) == 0 && usage_mounted(node, 0, use)) ||
	    ((but & USE_SWAP) == 0 && usage_swapped(node, 0, use)) ||
	    ((but & USE_HELD) == 0 && usage_held(node, use)) ||
	    ((but & USE_LOOPED) == 0 && usage_looped(node, 0, but, use));
}

bool
usage_of_file(dev_t dev, ino_t ino, unsigned but, struct usage *use)
{
	usage_begin(use);
	return ((but & USE_MOUNTED) == 0 && files_mounted() &&
	    usage_mounted(dev, ino, use)) ||
	    ((but & USE_SWAP) == 0 && usage_swapped(dev, ino, use)) ||
	    ((but & USE_HELD) == 0 && usage_exported(dev, ino, use)) ||
	    ((but & USE_LOOPED) == 0 && usage_looped(dev, ino, but, use));
}

/* Whether it may be worth asking all processes: there is such a lock. */
static bool
any_locks(void)
{
	char *rows, *at, *row;
	bool is = false;

	if (table_read("/proc/locks", &rows) != 0)
		return true;
	for (at = rows; !is && (row = strsep(&at, "\n")) != NULL; )
		is = opened_is_lock(row, LOCKS_OF_COPIES);
	free(rows);
	return is;
}

bool
usage_of_locked(bool (*is)(dev_t node, void *arg), void *arg,
    struct usage *use)
{
	pid_t pid = any_locks() ? opened_locked(LOCKS_OF_COPIES, is, arg) : 0;
	char by[64];

	usage_begin(use);
	if (pid < 0)
		return usage_unknown(use, USE_HELD, "/proc", errno);
	snprintf(by, sizeof(by), "a lock of process %ld", (long)pid);
	return usage_found(pid != 0, use, USE_HELD, by);
}

bool
usage_of_locks(int fd, struct usage *use)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_len = LOCKS_OF_COPIES };
	char by[64] = "a lock of another program";

	usage_begin(use);
	if (fcntl(fd, F_OFD_GETLK, &range) != 0)
		return usage_unknown(use, USE_HELD, "its locks", errno);
	if (range.l_type == F_UNLCK)
		return false;
	if (range.l_pid > 0)
		snprintf(by, sizeof(by), "a lock of process %ld",
		    (long)range.l_pid);
	return usage_found(true, use, USE_HELD, by);
}
