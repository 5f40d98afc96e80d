/*
 * Finding a disk: by its identity, by its other paths, and by its names below
 * /dev; and writing back what its nodes have cached.
 */
#include "disk/disk.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "disk/sysfs.h"

static bool
is_called(const struct disk *d, const struct disk *like)
{
	return (like->serial[0] != '\0' || like->wwn[0] != '\0') &&
	    strcmp(d->serial, like->serial) == 0 &&
	    strcmp(d->wwn, like->wwn) == 0;
}

/* A whole disk in service, or an sg node without a block node. */
static bool
in_service(dev_t node, bool block, struct disk *d)
{
	return block ? disk_of_block(node, d) && !disk_lost(node, true) :
	    disk_of_char(node, d) && d->node == 0;
}

/* A different disk, not another path to this one. */
static bool
is_other(const struct disk *d, const struct disk *like)
{
	bool node = d->node != 0 ? d->whole != like->whole :
	    like->node != 0 || strcmp(d->sg, like->sg) != 0;

	return node && (d->wwn[0] == '\0' || !is_called(d, like));
}

static bool
shares_serial(const struct disk *d, const struct disk *like)
{
	return strcmp(d->serial, like->serial) == 0 && is_other(d, like);
}

static bool
shares_wwn(const struct disk *d, const struct disk *like)
{
	return strcmp(d->wwn, like->wwn) == 0 && is_other(d, like);
}

/* Search one directory of devices: see disk_find. */
static size_t
disk_find_in(const char *directory, bool block, bool (*is)(const struct disk *,
    const struct disk *), const struct disk *like, struct disk *d)
{
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, directory, &list), i;
	struct disk one;
	char path[300];
	size_t found = 0;
	dev_t node;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory,
		    list[i]->d_name);
		node = sysfs_node(AT_FDCWD, path);
		if (node != 0 && in_service(node, block, &one) &&
		    is(&one, like)) {
			*d = one;
			found++;
		}
	}
	sysfs_forget(list, n);
	return found;
}

size_t
disk_find(const struct disk *like, struct disk *d)
{
	size_t found = disk_find_in("/sys/block", true, is_called, like, d);

	return found + disk_find_in("/sys/class/scsi_generic", false, is_called,
	    like, d);
}

bool
disk_namesake(const struct disk *d, enum disk_name by, struct disk *other)
{
	bool (*is)(const struct disk *, const struct disk *) =
	    by == NAME_WWN ? shares_wwn : shares_serial;

	return by != NAME_LINK &&
	    (disk_find_in("/sys/block", true, is, d, other) > 0 ||
	    disk_find_in("/sys/class/scsi_generic", false, is, d, other) > 0);
}

uint64_t
disk_id(const struct disk *d)
{
	uint64_t sum;

	if (d->partition != 0 || d->wwn[0] == '\0')
		return 0;
	sum = number_sum(NUMBER_SUM, d->serial, strlen(d->serial) + 1);
	sum = number_sum(sum, d->wwn, strlen(d->wwn) + 1);
	return number_sum(sum, &d->length, sizeof(d->length));
}

/*
 * Whether this is a path to the same disk; the size counts, unless it cannot be
 * read.
 */
static bool
is_path(const struct disk *d, const struct disk *other)
{
	return other->err != 0 ? is_called(other, d) :
	    disk_id(other) == disk_id(d);
}

/* Whether at least the WWN is the same, which is faster to read. */
static bool
has_wwn(const char *directory, const char *wwn)
{
	char path[300], text[sizeof(((struct disk *)NULL)->wwn)];

	snprintf(path, sizeof(path), "%s/device/wwid", directory);
	if (!sysfs_text(AT_FDCWD, path, text, sizeof(text)) &&
	    sysfs_unasked(errno) == 0) {
		snprintf(path, sizeof(path), "%s/wwid", directory);
		sysfs_text(AT_FDCWD, path, text, sizeof(text));
	}
	return strcmp(text, wwn) == 0;
}

/*
 * The node of a directory, if it is another path to the disk, else 0.  Returns
 * 0, or an errno value if that is unknown.
 */
static int
other_path(const struct disk *d, const char *directory, dev_t *node)
{
	struct disk one;
	dev_t other;

	*node = 0;
	if (!has_wwn(directory, d->wwn) ||
	    (other = sysfs_node(AT_FDCWD, directory)) == 0)
		return sysfs_unasked(errno);
	if (other == d->node)
		return 0;
	if (!disk_of_block(other, &one) || !is_path(d, &one))
		return sysfs_unasked(one.err);
	*node = other;
	return 0;
}

int
disk_paths(const struct disk *d, dev_t **node)
{
	struct dirent **list;
	int all = sysfs_entries(AT_FDCWD, "/sys/block", &list), i;
	int err = all < 0 ? errno : 0;
	char path[280];
	size_t n = 0;

	*node = calloc((size_t)(all < 0 ? 0 : all) + 1, sizeof(**node));
	if (*node == NULL)
		err = ENOMEM;
	for (i = 0; i < all && err == 0; i++) {
		snprintf(path, sizeof(path), "/sys/block/%s", list[i]->d_name);
		err = other_path(d, path, &(*node)[n]);
		n += (*node)[n] != 0;
	}
	sysfs_forget(list, all);
	if (err != 0) {
		free(*node);
		*node = NULL;
	}
	return err;
}

/*
 * Whether a by-id name is a bare number: that of the disk, or of what is on it.
 */
static bool
has_no_serial(const char *name)
{
	static const char *const numbers[] = { "wwn-", "scsi-3", "nvme-eui.",
		"nvme-nvme.", "lvm-pv-uuid-" };
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strncmp(name, numbers[i], strlen(numbers[i])) == 0)
			return true;
	return false;
}

static bool
name_better(const char *name, const char *than)
{
	if (than[0] == '\0')
		return true;
	if (has_no_serial(name) != has_no_serial(than))
		return has_no_serial(than);
	return strcmp(name, than) < 0;
}

static bool
path_is_node(const char *path, dev_t node)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISBLK(st.st_mode) &&
	    st.st_rdev == node;
}

void
disk_by_id(dev_t node, char *name, size_t room)
{
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, "/dev/disk/by-id", &list), i;
	char path[300];

	name[0] = '\0';
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/dev/disk/by-id/%s",
		    list[i]->d_name);
		if (path_is_node(path, node) &&
		    name_better(list[i]->d_name, name))
			strlcpy(name, list[i]->d_name, room);
	}
	sysfs_forget(list, n);
}

/* A WWN without the prefix that names its kind. */
static const char *
wwn_bare(const char *wwn)
{
	static const char *const kinds[] = { "naa.", "eui.", "t10.", "0x" };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(wwn, kinds[i], strlen(kinds[i])) == 0)
			return wwn + strlen(kinds[i]);
	return wwn;
}

enum disk_name
disk_is(const struct disk *d, const char *called)
{
	char path[PATH_MAX];

	if (*called == '\0')
		return NAME_OTHER;
	if (d->wwn[0] != '\0' && strcmp(wwn_bare(called), wwn_bare(d->wwn)) ==
	    0)
		return NAME_WWN;
	if (strcmp(called, d->serial) == 0)
		return NAME_SERIAL;
	if (strchr(called, '/') != NULL)
		return NAME_OTHER;
	snprintf(path, sizeof(path), "/dev/disk/by-id/%s", called);
	return d->node != 0 &&
	    (path_is_node(path, d->node) || path_is_node(path, d->whole)) ?
	    NAME_LINK : NAME_OTHER;
}

bool
disk_path(dev_t node, const char *name, char *path, size_t room)
{
	char *c;

	snprintf(path, room, "/dev/%s", name);
	for (c = path + 5; *c != '\0'; c++)
		if (*c == '!')		/* sysfs writes ! for / */
			*c = '/';
	return path_is_node(path, node);
}

/* --- writing back what its nodes have cached ---------------------------- */

void
disk_settle(int fd)
{
	(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE |
	    SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
}

static void
settle_node(dev_t node, const char *name)
{
	char path[300];
	int fd = disk_path(node, name, path, sizeof(path)) ?
	    open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	disk_settle(fd);
	close(fd);
}

void
disk_settle_all(const struct disk *d)
{
	struct disk_part *part;
	size_t n, i;

	settle_node(d->whole, d->whole_name);
	if (d->partition > 0 || disk_parts(d->whole, &part, &n) != 0)
		return;
	for (i = 0; i < n; i++)
		settle_node(part[i].node, part[i].name);
	free(part);
}
