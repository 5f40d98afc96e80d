/*
 * Which disks a file lies on. statx(2) reports the mount through which the file
 * was reached, and the mount table shows what is mounted there.
 */
#include "disk/filesystem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/libc.h"
#include "base/number.h"
#include "disk/overlay.h"
#include "disk/sysfs.h"
#include "tables.h"

enum {
	DEPTH = 4,		/* overlays on overlays */
	MEMBERS = 256,		/* disks of a btrfs */
};

struct nodes {
	dev_t	*node;
	size_t	 n, room;
	int	 depth;
};

static int located_disks(const struct located *, struct nodes *);

static int
nodes_add(struct nodes *to, dev_t node)
{
	if (to->n == to->room)
		return E2BIG;
	to->node[to->n++] = node;
	return 0;
}

/* File systems whose mount does not name the block device. */
static bool
has_no_disk(const char *type)
{
	static const char *const none[] = { "tmpfs", "ramfs", "devtmpfs",
		"hugetlbfs", "proc", "sysfs", "nfs", "nfs4", "cifs", "smb3",
		"ceph", "9p", "virtiofs", "fuse.sshfs" };
	size_t i;

	for (i = 0; i < COUNT(none); i++)
		if (strcmp(type, none[i]) == 0)
			return true;
	return false;
}

/*
 * Read the directory of one btrfs in sysfs: whether the node is in it, or add
 * all nodes.
 */
static int
btrfs_read_members(const char *directory, dev_t node, bool *is,
    struct nodes *to)
{
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, directory, &list), err = 0, i;
	char path[PATH_MAX];
	dev_t one;

	for (i = 0; i < n && err == 0; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory,
		    list[i]->d_name);
		one = sysfs_node(AT_FDCWD, path);
		if (to == NULL)
			*is = *is || one == node;
		else
			err = one == 0 ? ENODEV : nodes_add(to, one);
	}
	sysfs_forget(list, n);
	return err;
}

/* Add the disks of the btrfs that this node belongs to. */
static int
btrfs_members(dev_t node, struct nodes *to)
{
	static const char all[] = "/sys/fs/btrfs";
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, all, &list), err = ENOENT, i;
	char path[300];
	bool is = false;

	for (i = 0; i < n && !is; i++) {
		snprintf(path, sizeof(path), "%s/%s/devices", all,
		    list[i]->d_name);
		(void)btrfs_read_members(path, node, &is, NULL);
		if (is)
			err = btrfs_read_members(path, node, &is, to);
	}
	sysfs_forget(list, n);
	return err;
}

bool
filesystem_has(const char *source, dev_t node)
{
	dev_t all[MEMBERS];
	struct nodes to = { .node = all, .room = MEMBERS };
	struct stat st;
	bool is = false;
	size_t i;

	if (stat(source, &st) != 0 || !S_ISBLK(st.st_mode))
		return false;
	(void)btrfs_members(st.st_rdev, &to);
	for (i = 0; i < to.n; i++)
		is = is || to.node[i] == node;
	return is;
}

/* Add the disks of one layer of an overlay. */
static int
nodes_add_layer(const char *directory, enum layer layer, void *arg)
{
	struct located at = { .directory = AT_FDCWD, .name = directory };
	struct stat st;

	(void)layer;
	if (directory[0] != '/')	/* relative to where mount(8) ran */
		return ENOENT;
	if (stat(directory, &st) != 0)
		return errno;
	at.dev = st.st_dev;
	at.ino = st.st_ino;
	return located_disks(&at, arg);
}

/* Add the disks of a mount that has no device of its own. */
static int
mount_disks(const struct mount *m, struct nodes *to)
{
	struct stat st;

	if (has_no_disk(m->type))
		return 0;
	if (strcmp(m->type, "overlay") == 0)
		return overlay_layers(m->options, nodes_add_layer, to);
	table_unescape(m->source);
	if (m->source[0] != '/')	/* the name of a pool, or none */
		return ENOTBLK;
	if (stat(m->source, &st) != 0)
		return errno;
	if (!S_ISBLK(st.st_mode))
		return ENOTBLK;
	return strcmp(m->type, "btrfs") == 0 ?
	    btrfs_members(st.st_rdev, to) : nodes_add(to, st.st_rdev);
}

/* Add the disks of the mount through which a file was reached. */
static int
by_mount(unsigned long long id, struct nodes *to)
{
	char *rows, *at, *row;
	struct mount m;
	int err = table_read(MOUNTS, &rows);

	if (err != 0)
		return err;
	err = ENOENT;
	for (at = rows; (row = strsep(&at, "\n")) != NULL; )
		if (table_mount(row, &m) && m.id == id) {
			err = major(m.dev) != 0 ? nodes_add(to, m.dev) :
			    mount_disks(&m, to);
			break;
		}
	free(rows);
	return err;
}

static int
located_disks(const struct located *l, struct nodes *to)
{
	struct statx sx;
	int err = EMLINK;

	if (major(l->dev) != 0)
		return nodes_add(to, l->dev);
	if (statx(l->directory, l->name, AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
	    STATX_INO | STATX_MNT_ID, &sx) != 0)
		return errno;
	if (makedev(sx.stx_dev_major, sx.stx_dev_minor) != l->dev ||
	    sx.stx_ino != l->ino)
		return ESTALE;
	if ((sx.stx_mask & STATX_MNT_ID) == 0)
		return ENOSYS;
	if (to->depth < DEPTH) {
		to->depth++;
		err = by_mount(sx.stx_mnt_id, to);
		to->depth--;
	}
	return err;
}

int
filesystem_disks(const struct located *l, dev_t *node, size_t room, size_t *n)
{
	struct nodes to = { .room = room };
	int err;

	to.node = node;
	err = located_disks(l, &to);
	*n = to.n;
	return err;
}
