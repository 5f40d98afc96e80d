/*
 * The file in the layer of an overlay: found by the mount through which it was
 * opened, and not guessed if that is not enough.
 */
#undef _FORTIFY_SOURCE		/* readlink() is one of the test's own */
#include "test.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "disk/overlay.h"
#include "disk/usage.h"
#include "disks.h"
#define POOR_OF_ALL
#include "poor.h"

#ifndef STATX_MNT_ID
#define STATX_MNT_ID	0x1000U
#endif

static struct {
	bool	 ext4;			/* the files are on that, */
	bool	 unknown;		/* or nobody knows */
	bool	 no_id;			/* mounts have no number, */
	bool	 no_statx;		/* or cannot be asked for it */
	unsigned xattrs;		/* so many files have no data yet */
} fs;

int
fstatfs(int fd, struct statfs *st)
{
	*st = (struct statfs){ .f_type = fs.ext4 ? EXT4_SUPER_MAGIC :
		OVERLAYFS_SUPER_MAGIC };
	return fs.unknown ? -1 : 0;
}

int
statx(int dir, const char *path, int flags, unsigned mask, struct statx *st)
{
	*st = (struct statx){ .stx_mask = fs.no_id ? 0 : STATX_MNT_ID };
	st->stx_mnt_id = 7;
	return fs.no_statx ? -1 : 0;
}

ssize_t
lgetxattr(const char *path, const char *name, void *to, size_t room)
{
	if (fs.xattrs == 0)
		return -1;
	fs.xattrs--;
	return 0;
}

static char path[PATH_MAX];

/* A file of this text, of the same time as all others. */
static void
add_file(const char *name, const char *content)
{
	static const struct timespec same[2] = { { .tv_sec = 1000 },
		{ .tv_sec = 1000 } };
	char there[PATH_MAX];

	has(name, "%s", content);
	assert_int_equal(utimensat(AT_FDCWD, world_path(name, there), same, 0),
	    0);
}

/* Mounted on /merged of the world, with these options; R is its root. */
static void
mounted_as(const char *root, const char *point, const char *type,
    const char *options)
{
	static char text[1024];
	const char *c;

	text[0] = '\0';
	for (c = options; *c != '\0'; c++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    *c == 'R' ? "%s" : "%.1s", *c == 'R' ? world.root : c);
	has(MOUNTINFO, "nonsense\n5 1 0:98 / /x rw - overlay overlay rw\n"
	    "7 1 0:99 %s %s%s rw - %s overlay rw,%s\n", root,
	    point[0] == '/' && point[1] == '\0' ? "" : world.root, point, type,
	    text);
}

static const char *
found(bool written, bool *fleeting)
{
	struct overlaid o = { .fleeting = false };
	struct stat st = { 0 };
	struct located at = { .directory = AT_FDCWD, .name = "/merged/a" };
	bool is;

	assert_int_equal(stat(at.name, &st), 0);
	at.dev = st.st_dev;
	at.ino = st.st_ino;
	path[0] = '\0';
	is = overlay_file(&at, written, &o, path);
	assert_true(is == (path[0] != '\0'));
	if (fleeting != NULL)
		*fleeting = o.fleeting;
	return is ? path + strlen(world.root) : "";
}

static void
begin_files(void)
{
	memset(&fs, 0, sizeof(fs));
	add_file("/merged/a", "text");
	add_file("/low/a", "text");
	add_file("/up/b", "other");
}

EACH(world_begin, world_end)

CASE(is_found)
{
	bool fleeting;

	begin_files();
	mounted_as("/", "/merged", "overlay", "lowerdir=R/low,upperdir=R/up");
	assert_string_equal(found(false, &fleeting), "/low/a");
	assert_false(fleeting);
	assert_string_equal(found(true, NULL), "");	/* written: not there */
	add_file("/up/a", "text");
	assert_string_equal(found(true, NULL), "/up/a");
	mounted_as("/", "/merged", "overlay",
	    "upperdir=R/up,lowerdir=R/low::R/data,volatile");
	assert_string_equal(found(false, &fleeting), "/up/a");
	assert_true(fleeting);
	mounted_as("/", "/merged", "overlay",
	    "fsync=volatile,lowerdir+=R/low,datadir+=R/data");
	assert_string_equal(found(false, &fleeting), "/low/a");
	assert_true(fleeting);
	/* a part of an overlay that is mounted elsewhere, and a root */
	add_file("/low/sub/a", "text");
	mounted_as("/sub", "/merged", "overlay", "lowerdir=R/low,fsync=x");
	assert_string_equal(found(false, &fleeting), "/low/sub/a");
	assert_false(fleeting);
}

CASE(is_not_guessed)
{
	static const char *const blind[] = { "lowerdir=low",
		"upperdir=R/none,lowerdir=R/low", "lowerdir=R/none:R/low",
		"upperdir=R/none", "xino=off", "lowerdir=R/low:R/none" };

	begin_files();
	EACH_OF(i, blind) {
		mounted_as("/", "/merged", "overlay", blind[i]);
		assert_string_equal(found(false, NULL),
		    i == 5 ? "/low/a" : "");
	}
	mounted_as("/", "/merged", "ext4", "lowerdir=R/low");
	assert_string_equal(found(false, NULL), "");
	mounted_as("/", "/merge", "overlay", "lowerdir=R/low");
	assert_string_equal(found(false, NULL), "");
	mounted_as("/", "/other", "overlay", "lowerdir=R/low");
	assert_string_equal(found(false, NULL), "");
	mounted_as("/", "/", "overlay", "lowerdir=R/low");
	assert_string_equal(found(false, NULL), "");
	mounted_as("/", "/merged", "overlay", "lowerdir=R/low");
	assert_string_equal(found(false, NULL), "/low/a");
	fs.xattrs = 1;
	assert_string_equal(found(false, NULL), "");
	fs.ext4 = true;
	assert_string_equal(found(false, NULL), "");
	fs.ext4 = false;
	fs.unknown = true;
	assert_string_equal(found(false, NULL), "");
	fs.unknown = false;
	fs.no_id = true;
	assert_string_equal(found(false, NULL), "");
	fs.no_id = false;
	fs.no_statx = true;
	assert_string_equal(found(false, NULL), "");
	fs.no_statx = false;
	add_file("/low/a", "another");
	assert_string_equal(found(false, NULL), "");
	has("/low/a", "text");			/* of now */
	assert_string_equal(found(false, NULL), "");
	world.broken = "mountinfo";
	world.err = EACCES;
	assert_string_equal(found(false, NULL), "");
	world.broken = NULL;
	has(MOUNTINFO, "%s", "");
	assert_string_equal(found(false, NULL), "");
}

/* Whatever memory is refused, no other file is found. */
CASE(is_found_or_memory_is_short)
{
	const char *it;
	unsigned i;

	begin_files();
	add_file("/up/a", "text");
	mounted_as("/", "/merged", "overlay", "lowerdir=R/low,upperdir=R/up");
	for (i = 0; i == 0 || poor_was(); i++) {
		poor_after(i);
		it = found(false, NULL);
		poor.on = false;
		assert_true(it[0] == '\0' || strcmp(it, "/up/a") == 0);
	}
	assert_string_equal(found(false, NULL), "/up/a");
}

CASE(is_found_in_the_dir_that_is_open)
{
	struct overlaid o;
	struct stat st;
	struct located at = { .name = "" };

	begin_files();
	mounted_as("/", "/merged", "overlay", "lowerdir=R/low");
	at.directory = open("/merged/a", O_PATH);
	assert_int_equal(fstat(at.directory, &st), 0);
	at.dev = st.st_dev;
	at.ino = st.st_ino;
	assert_true(overlay_file(&at, false, &o, NULL));
	at.ino++;				/* it is another file by now */
	assert_false(overlay_file(&at, false, &o, NULL));
	at.dev = SDA;
	assert_false(overlay_file(&at, false, &o, NULL));
	close(at.directory);
}

/* A loop device on a file of an overlay uses the file in the layer. */
CASE(is_used_by_loop_devices)
{
	static struct usage use;
	static char there[PATH_MAX];
	struct stat st;

	begin_files();
	two_disks();
	add_loop("loop0", LOOP0, "/merged/a", 1);
	assert_int_equal(fstatat(AT_FDCWD, world_path("/low/a", there), &st, 0),
	    0);
	mounted_as("/", "/merged", "overlay", "lowerdir=R/low");
	assert_true(usage_of_file(st.st_dev, st.st_ino, 0, &use));
	assert_string_equal(use.by, "loop0");
	/* what is on no overlay is not looked for in one */
	mounted_as("/", "/merged", "tmpfs", "size=1");
	assert_false(usage_of_file(st.st_dev, st.st_ino, 0, &use));
	has(MOUNTINFO, "%s", "1 2 0:99 cut off\n");
	assert_false(usage_of_file(st.st_dev, st.st_ino, 0, &use));
	has(MOUNTINFO, "%s", "");
	assert_false(usage_of_file(st.st_dev, st.st_ino, 0, &use));
	has(MOUNTINFO, "%s", "1 2 0:5 / /x rw - overlay overlay rw\n");
	assert_false(usage_of_file(st.st_dev, st.st_ino, 0, &use));
	world.broken = "mountinfo";
	world.err = EACCES;
	assert_false(usage_of_file(st.st_dev, st.st_ino, 0, &use));
	world.broken = "backing_file";
	mounted_as("/", "/merged", "overlay", "lowerdir=R/low");
	assert_false(usage_of_file(st.st_dev, st.st_ino, 0, &use));
	world.broken = NULL;
	world.fs = SDB;				/* on a disk */
	assert_false(usage_of_file(st.st_dev, st.st_ino, 0, &use));
}
