/*
 * What a file lies on: the disks of its file system, and its name in the layer
 * of an overlay, on a mock machine.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include "test.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "disk/filesystem.h"
#include "disk/overlay.h"
#include "world.h"

#define SDA	makedev(8, 0)
#define SDB	makedev(8, 16)
#define SDC	makedev(8, 32)
#define MOUNTINFO	"/proc/self/mountinfo"

enum { ID = 20 };		/* of the mount */

static struct {
	int	 statx_err;
	bool	 no_id;		/* an older kernel */
	bool	 other;		/* the name leads to another file by now */
	bool	 meta;		/* the upper file has no data */
	bool	 no_overlay;
} answers;

static bool
in_merged(int fd)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlinkat(AT_FDCWD, link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return strstr(path, "/merged") != NULL;
}

int
statx(int dir, const char *restrict path, int flags, unsigned mask,
    struct statx *restrict sx)
{
	char there[PATH_MAX];

	if (answers.statx_err != 0) {
		errno = answers.statx_err;
		return -1;
	}
	if (syscall(SYS_statx, dir, path[0] == '\0' ? "" :
	    world_path(path, there), flags, mask, sx) != 0)
		return -1;
	sx->stx_dev_major = major(world.fs);
	sx->stx_dev_minor = minor(world.fs);
	sx->stx_ino += answers.other;
	sx->stx_mnt_id = ID;
	if (answers.no_id)
		sx->stx_mask &= ~(unsigned)STATX_MNT_ID;
	return 0;
}

int
lstat(const char *path, struct stat *st)
{
	char there[PATH_MAX];

	return fstatat(AT_FDCWD, world_path(path, there), st,
	    AT_SYMLINK_NOFOLLOW);
}

int
fstatfs(int fd, struct statfs *fs)
{
	*fs = (struct statfs){ .f_type = in_merged(fd) && !answers.no_overlay ?
	    OVERLAYFS_SUPER_MAGIC : TMPFS_MAGIC };
	return 0;
}

ssize_t
lgetxattr(const char *path, const char *name, void *value, size_t room)
{
	assert_string_equal(name, "trusted.overlay.metacopy");
	errno = ENODATA;
	return answers.meta ? 0 : -1;
}

static int
begin(void **state)
{
	memset(&answers, 0, sizeof(answers));
	return world_begin(state);
}

EACH(begin, world_end)

/* ------------------------------------------------------------------- disks */

static dev_t node[2];
static size_t n;

/* The answer for a file, of whose mount this is what the kernel says. */
static int
disks(const char *mount)
{
	struct located l = { AT_FDCWD, "/file", world.fs, 0 };
	struct stat st = { .st_ino = 0 };

	assert_int_equal(stat("/file", &st), 0);
	l.ino = st.st_ino;
	has(MOUNTINFO, "nonsense\n19 1 8:1 / /x rw - ext4 /dev/x rw\n%d 1 %s\n",
	    ID, mount);
	node[0] = node[1] = n = 0;
	return filesystem_disks(&l, node, 2, &n);
}

static dev_t
of(int minor_of)
{
	return minor_of < 0 ? 0 : makedev(8, (unsigned)minor_of);
}

CASE(a_file_lies_on_disks)
{
	static const struct {
		const char	*mount;
		int		 err, first, second;	/* of major 8 */
	} row[] = {
		{ "8:1 / / rw - ext4 /dev/sda1 rw", 0, 1, -1 },
		{ "0:99 / / rw - tmpfs none rw", 0, -1, -1 },
		{ "0:99 / / rw - nfs4 server:/x rw", 0, -1, -1 },
		{ "0:99 / / rw - zfs pool/x rw", ENOTBLK, -1, -1 },
		{ "0:99 / / rw - other /none rw", ENOENT, -1, -1 },
		{ "0:99 / / rw - other /file rw", ENOTBLK, -1, -1 },
		{ "0:99 / / rw - other /dev/sda rw", 0, 0, -1 },
		{ "0:99 / / rw - btrfs /dev/sdb rw", 0, 0, 16 },
		{ "0:99 / / rw - btrfs /dev/sdc rw", ENOENT, -1, -1 },
		{ "0:99 / / rw - overlay x rw,lowerdir=a", ENOENT, -1, -1 },
		{ "0:99 / / rw - overlay x rw,lowerdir=/a", ENOENT, -1, -1 },
		{ "0:99 / / rw - overlay x rw,upperdir=/dir", EMLINK, -1, -1 },
	};

	add_disk("ata1", "sda", SDA, 100);
	add_part("ata1", "sda", SDA, 1, 10, 10);
	add_disk("ata2", "sdb", SDB, 100);
	add_disk("ata3", "sdc", SDC, 100);
	has("/file", "x");
	has("/dir/file", "x");
	has("/sys/fs/btrfs/features/x", "1\n");
	has("/sys/fs/btrfs/one/devices/sda/dev", "8:0\n");
	has("/sys/fs/btrfs/one/devices/sdb/dev", "8:16\n");
	EACH_OF(i, row) {
		if (disks(row[i].mount) != row[i].err)
			fail_msg("%s", row[i].mount);
		assert_int_equal(node[0], of(row[i].first));
		assert_int_equal(node[1], of(row[i].second));
	}
	assert_true(filesystem_has("/dev/sda", SDB));
	assert_false(filesystem_has("/dev/sda", SDC));
	assert_false(filesystem_has("/dev/sdc", SDC));
	assert_false(filesystem_has("/file", SDA));
	assert_false(filesystem_has("/none", SDA));
	has("/sys/fs/btrfs/one/devices/sdc/dev", "8:32\n");
	assert_int_equal(disks("0:99 / / rw - btrfs /dev/sdb rw"), E2BIG);
	has("/sys/fs/btrfs/one/devices/sdc/dev", "\n");	/* which? */
	assert_int_equal(disks("0:99 / / rw - btrfs /dev/sda rw"), ENODEV);
}

CASE(a_file_may_lie_anywhere)
{
	static const char mount[] = "0:99 / / rw - other /dev/sda rw";
	struct located l = { AT_FDCWD, "", SDB, 0 };

	add_node("sda", SDA, 0);
	has("/file", "x");
	assert_int_equal(filesystem_disks(&l, node, 2, &n), 0);
	assert_int_equal(node[0], SDB);		/* st_dev says it */
	assert_int_equal(disks(mount), 0);
	answers.statx_err = EACCES;
	assert_int_equal(disks(mount), EACCES);
	answers.statx_err = 0;
	answers.other = true;
	assert_int_equal(disks(mount), ESTALE);
	answers.other = false;
	answers.no_id = true;
	assert_int_equal(disks(mount), ENOSYS);
	answers.no_id = false;
	world.broken = "mountinfo";
	world.err = EMFILE;
	assert_int_equal(disks(mount), EMFILE);
}

/* ----------------------------------------------------------------- overlays */

static struct overlaid layer;
static char found[PATH_MAX];

/* Whether a file is found in a layer, on a mount with these options. */
static bool
below(const char *point, const char *type, const char *options, bool written)
{
	struct located l = { AT_FDCWD, "/merged/file", world.fs, 0 };
	struct stat st = { .st_ino = 0 };

	assert_int_equal(stat("/merged/file", &st), 0);
	l.ino = st.st_ino;
	has(MOUNTINFO, "19 1 8:1 / /x rw - ext4 /dev/x rw\n"
	    "%d 1 0:99 / %s%s rw - %s x %s\n", ID, world.root, point, type,
	    options);
	found[0] = '\0';
	return overlay_file(&l, written, &layer, found);
}

static bool
merged(const char *options)
{
	return below("/merged", "overlay", options, false);
}

/* The same file, in a layer. */
static void
put(const char *path)
{
	char there[PATH_MAX], here[PATH_MAX];

	world_dirs(world_path(path, there));
	(void)remove(there);
	assert_int_equal(link(world_path("/merged/file", here), there), 0);
}

CASE(a_layer_has_the_file)
{
	static const char both[] = "rw,lowerdir=/low,upperdir=/up,workdir=/w";

	has("/merged/file", "x");
	has("/up/.keep", "%s", "");
	put("/low/file");
	assert_true(merged(both));
	assert_string_equal(found, "/low/file");
	assert_false(layer.fleeting);
	assert_false(below("/merged", "overlay", both, true));
	put("/up/file");
	assert_true(merged(both));
	assert_string_equal(found, "/up/file");
	assert_true(below("/merged", "overlay", both, true));
	assert_true(merged("rw,upperdir=/up,lowerdir=/low,volatile"));
	assert_string_equal(found, "/up/file");
	assert_true(layer.fleeting);
	assert_true(merged("rw,upperdir=/up,fsync=volatile"));
	assert_true(layer.fleeting);
	assert_true(merged("rw,upperdir=/up,fsync=strict"));
	assert_false(layer.fleeting);
	assert_true(merged("ro,lowerdir=/up:/low"));
	assert_string_equal(found, "/up/file");	/* the topmost */
	answers.meta = true;			/* none has its data */
	assert_false(merged(both));
}

CASE(a_layer_may_not_be_seen)
{
	static const char both[] = "rw,lowerdir=/low,upperdir=/up";

	has("/merged/file", "x");
	put("/low/file");
	has("/up/.keep", "%s", "");
	assert_true(merged(both));
	assert_false(below("/merged", "ext4", both, false));
	assert_false(below("/elsewhere", "overlay", both, false));
	assert_false(below("/merg", "overlay", both, false));
	assert_false(merged("rw,lowerdir=/low,upperdir=up"));	/* relative */
	assert_false(merged("rw,lowerdir=/low,upperdir=/none"));
	assert_false(merged("rw,xino=off"));
	answers.no_overlay = true;
	assert_false(merged(both));
	answers.no_overlay = false;
	answers.no_id = true;
	assert_false(merged(both));
	answers.no_id = false;
	answers.statx_err = ENOSYS;
	assert_false(merged(both));
	answers.statx_err = 0;
	world.broken = "mountinfo";
	world.err = EACCES;
	assert_false(merged(both));
	world.broken = NULL;
	has("/up/file", "another");		/* it is not that one */
	assert_false(merged(both));
	lacks("/up/file");
	has("/up/file/.keep", "%s", "");	/* a directory by now */
	assert_true(merged(both));
	assert_string_equal(found, "/low/file");
}
