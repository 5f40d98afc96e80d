/*
 * Disks by sysfs.  A block node is /sys/dev/block/MAJOR:MINOR, a link into the
 * tree of devices: a partition's folder lies in its disk's, and "device" in
 * the disk's folder leads to what the bus driver knows.
 *
 * The tables of who uses what are short and looked up anew each time.
 */
#include "disk.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SYSFS_SECTOR = 512 };	/* unit of start and size, whatever the disk */

static int
sys_open(const char *kind, dev_t node)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/%s/%u:%u", kind, major(node),
	    minor(node));
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Read an attribute below dir; trimmed, "" and false when there is none. */
static bool
attribute(int dir, const char *name, char *buf, size_t room)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, room - 1);
	size_t len = n > 0 ? (size_t)n : 0, lead = 0;

	if (fd >= 0)
		close(fd);
	while (len > 0 && (isspace((unsigned char)buf[len - 1]) ||
	    buf[len - 1] == '\0'))
		len--;
	while (lead < len && buf[lead] == ' ')
		lead++;
	memmove(buf, buf + lead, len - lead);
	buf[len - lead] = '\0';
	return len > lead;
}

static uint64_t
number(int dir, const char *name)
{
	char text[32];

	return attribute(dir, name, text, sizeof(text)) ?
	    strtoull(text, NULL, 10) : 0;
}

static dev_t
device_number(int dir)
{
	char text[32];
	unsigned maj, min;

	if (!attribute(dir, "dev", text, sizeof(text)) ||
	    sscanf(text, "%u:%u", &maj, &min) != 2)
		return 0;
	return makedev(maj, min);
}

/* The last part of the path that an opened folder really has. */
static void
real_name(int dir, char *name, size_t room, char *path, size_t path_room)
{
	char link[64];
	const char *base;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, path, path_room - 1);
	path[n > 0 ? n : 0] = '\0';
	base = strrchr(path, '/');
	snprintf(name, room, "%s", base == NULL ? path : base + 1);
}

/* The first entry of a folder, as a name; "" without one. */
static void
first_entry(int dir, const char *folder, char *name, size_t room)
{
	int fd = openat(dir, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	name[0] = '\0';
	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while (name[0] == '\0' && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			snprintf(name, room, "%s", e->d_name);
	closedir(d);
}

/* VPD page 80h as the kernel keeps it: SPC-5 7.7.20. */
static void
scsi_serial(int device, char *serial, size_t room)
{
	unsigned char page[256];
	int fd = openat(device, "vpd_pg80", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, page, sizeof(page));
	size_t at = 4, len;

	if (fd >= 0)
		close(fd);
	if (n < 5)
		return;
	len = (size_t)n;
	while (at < len && page[at] == ' ')
		at++;
	while (len > at && (page[len - 1] == ' ' || page[len - 1] == '\0'))
		len--;
	snprintf(serial, room, "%.*s", (int)(len - at),
	    (const char *)page + at);
}

static void
set_transport(struct disk *d, const char *path)
{
	static const char *const buses[] = { "usb", "ata", "nvme", "virtio",
		"loop", "zram", "mmc", "dm-", "md" };
	size_t i;

	for (i = 0; i < sizeof(buses) / sizeof(buses[0]); i++) {
		char part[16];

		snprintf(part, sizeof(part), "/%s", buses[i]);
		if (strstr(path, part) != NULL) {
			snprintf(d->transport, sizeof(d->transport), "%s",
			    buses[i]);
			return;
		}
	}
	if (d->sg[0] != '\0')
		snprintf(d->transport, sizeof(d->transport), "scsi");
}

/* What the bus driver knows; "device" is the SCSI, NVMe or virtio device. */
static void
ask_bus(int whole, struct disk *d)
{
	int device = openat(whole, "device", O_PATH | O_DIRECTORY | O_CLOEXEC);

	attribute(whole, "serial", d->serial, sizeof(d->serial));
	attribute(whole, "wwid", d->wwn, sizeof(d->wwn));
	if (device < 0)
		return;
	attribute(device, "vendor", d->vendor, sizeof(d->vendor));
	attribute(device, "model", d->model, sizeof(d->model));
	if (d->serial[0] == '\0')
		attribute(device, "serial", d->serial, sizeof(d->serial));
	if (d->serial[0] == '\0')
		scsi_serial(device, d->serial, sizeof(d->serial));
	if (d->wwn[0] == '\0')
		attribute(device, "wwid", d->wwn, sizeof(d->wwn));
	first_entry(device, "scsi_generic", d->sg, sizeof(d->sg));
	first_entry(device, "bsg", d->bsg, sizeof(d->bsg));
	close(device);
}

static void
ask_whole(int whole, struct disk *d)
{
	char path[PATH_MAX];

	real_name(whole, d->whole_name, sizeof(d->whole_name), path,
	    sizeof(path));
	d->whole = device_number(whole);
	d->logical = (uint32_t)number(whole, "queue/logical_block_size");
	d->physical = (uint32_t)number(whole, "queue/physical_block_size");
	d->rotates = number(whole, "queue/rotational") != 0;
	d->removable = number(whole, "removable") != 0;
	attribute(whole, "loop/backing_file", d->backing, sizeof(d->backing));
	d->backing_off = number(whole, "loop/offset");
	ask_bus(whole, d);
	set_transport(d, path);
}

bool
disk_of_block(dev_t node, struct disk *d)
{
	int dir = sys_open("block", node), whole;
	char path[PATH_MAX];

	*d = (struct disk){ .node = node };
	if (dir < 0)
		return false;
	real_name(dir, d->name, sizeof(d->name), path, sizeof(path));
	d->partition = (int)number(dir, "partition");
	d->start = number(dir, "start") * SYSFS_SECTOR;
	d->length = number(dir, "size") * SYSFS_SECTOR;
	whole = d->partition == 0 ? dir :
	    openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (whole >= 0)
		ask_whole(whole, d);
	if (whole >= 0 && whole != dir)
		close(whole);
	close(dir);
	return true;
}

bool
disk_of_char(dev_t node, struct disk *d)
{
	int dir = sys_open("char", node), block;
	char path[300], name[256];
	dev_t sibling = 0;

	*d = (struct disk){ .node = 0 };
	if (dir < 0)
		return false;
	first_entry(dir, "device/block", name, sizeof(name));
	snprintf(path, sizeof(path), "device/block/%s", name);
	block = name[0] == '\0' ? -1 :
	    openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (block >= 0) {
		sibling = device_number(block);
		close(block);
	}
	if (sibling == 0)
		ask_bus(dir, d);
	close(dir);
	return sibling == 0 || disk_of_block(sibling, d);
}

static int
by_start(const void *a, const void *b)
{
	const struct disk_part *p = a, *q = b;

	return p->start < q->start ? -1 : p->start > q->start;
}

/* A partition's folder, as an entry; false when it is none. */
static bool
read_part(int whole, const char *name, struct disk_part *part)
{
	int dir = openat(whole, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return false;
	*part = (struct disk_part){ .number = (int)number(dir, "partition") };
	part->node = device_number(dir);
	part->start = number(dir, "start") * SYSFS_SECTOR;
	part->length = number(dir, "size") * SYSFS_SECTOR;
	snprintf(part->name, sizeof(part->name), "%s", name);
	close(dir);
	return part->number > 0 && part->node != 0;
}

size_t
disk_parts(dev_t whole, struct disk_part **parts)
{
	int dir = sys_open("block", whole), fd;
	struct disk_part part, *grown;
	const struct dirent *e;
	size_t n = 0;
	DIR *d;

	*parts = NULL;
	fd = dir < 0 ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d != NULL && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.' || !read_part(dir, e->d_name, &part))
			continue;
		grown = reallocarray(*parts, n + 1, sizeof(part));
		if (grown == NULL)
			break;
		*parts = grown;
		grown[n++] = part;
	}
	if (d != NULL)
		closedir(d);
	if (dir >= 0)
		close(dir);
	if (n > 1)
		qsort(*parts, n, sizeof(part), by_start);
	return n;
}

size_t
disk_slaves(dev_t node, dev_t *slave, size_t room)
{
	int dir = sys_open("block", node), fd, one;
	const struct dirent *e;
	size_t n = 0;
	DIR *d;

	fd = dir < 0 ? -1 : openat(dir, "slaves", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	while (d != NULL && n < room && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		one = openat(fd, e->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (one < 0)
			continue;
		slave[n++] = device_number(one);
		close(one);
	}
	if (d != NULL)
		closedir(d);
	if (dir >= 0)
		close(dir);
	return n;
}

static bool
found(struct use *use, enum use_kind kind, const char *by)
{
	use->kind = kind;
	snprintf(use->by, sizeof(use->by), "%s", by);
	return true;
}

/* Only local sources are looked at: a dead network mount would hang us. */
static bool
mounted(dev_t node, struct use *use)
{
	FILE *table = setmntent("/proc/self/mounts", "re");
	const struct mntent *m;
	struct stat st;
	bool is = false;

	if (table == NULL)
		return false;
	while (!is && (m = getmntent(table)) != NULL) {
		if (m->mnt_fsname[0] != '/')
			continue;
		is = stat(m->mnt_fsname, &st) == 0 && S_ISBLK(st.st_mode) &&
		    st.st_rdev == node;
		is = is || (stat(m->mnt_dir, &st) == 0 && st.st_dev == node);
		if (is)
			found(use, USE_MOUNTED, m->mnt_dir);
		use->writable = is && hasmntopt(m, "rw") != NULL;
	}
	endmntent(table);
	return is;
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

static bool
swapped(dev_t dev, ino_t ino, struct use *use)
{
	FILE *table = fopen("/proc/swaps", "re");
	char line[PATH_MAX];
	bool is = false;

	while (table != NULL && !is &&
	    fgets(line, sizeof(line), table) != NULL) {
		line[strcspn(line, " \t\n")] = '\0';
		is = line[0] == '/' && is_it(line, dev, ino);
	}
	if (table != NULL)
		fclose(table);
	return is && found(use, USE_SWAP, "swap space");
}

static bool
held(dev_t node, struct use *use)
{
	int dir = sys_open("block", node);
	char name[256] = "";

	if (dir >= 0) {
		first_entry(dir, "holders", name, sizeof(name));
		close(dir);
	}
	return name[0] != '\0' && found(use, USE_HELD, name);
}

static bool
looped(dev_t dev, ino_t ino, struct use *use)
{
	char path[PATH_MAX], backing[PATH_MAX];
	DIR *d = opendir("/sys/block");
	const struct dirent *e;
	bool is = false;

	while (d != NULL && !is && (e = readdir(d)) != NULL) {
		if (strncmp(e->d_name, "loop", 4) != 0)
			continue;
		snprintf(path, sizeof(path), "/sys/block/%s/loop/backing_file",
		    e->d_name);
		if (attribute(AT_FDCWD, path, backing, sizeof(backing)) &&
		    is_it(backing, dev, ino))
			is = found(use, USE_LOOPED, e->d_name);
	}
	if (d != NULL)
		closedir(d);
	return is;
}

bool
disk_use(dev_t node, struct use *use)
{
	use->kind = USE_NONE;
	return mounted(node, use) || swapped(node, 0, use) ||
	    held(node, use) || looped(node, 0, use);
}

bool
file_use(dev_t dev, ino_t ino, struct use *use)
{
	use->kind = USE_NONE;
	return swapped(dev, ino, use) || looped(dev, ino, use);
}

/* The better of two by-id names: one with a serial, not a bare number. */
static bool
better(const char *name, const char *than)
{
	bool plain = strncmp(name, "wwn-", 4) == 0 ||
	    strncmp(name, "scsi-3", 6) == 0 || strncmp(name, "nvme-eui", 8) == 0;

	return than[0] == '\0' || (!plain && strcmp(name, than) < 0);
}

void
disk_by_id(dev_t node, char *name, size_t room)
{
	DIR *d = opendir("/dev/disk/by-id");
	const struct dirent *e;
	struct stat st;

	name[0] = '\0';
	while (d != NULL && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st,
		    0) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == node &&
		    better(e->d_name, name))
			snprintf(name, room, "%s", e->d_name);
	if (d != NULL)
		closedir(d);
}

/* A WWN without what says which kind it is. */
static const char *
bare(const char *wwn)
{
	static const char *const kinds[] = { "naa.", "eui.", "t10.", "0x" };
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strncmp(wwn, kinds[i], strlen(kinds[i])) == 0)
			return wwn + strlen(kinds[i]);
	return wwn;
}

bool
disk_is(const struct disk *d, const char *called)
{
	char path[PATH_MAX];
	struct stat st;

	if (*called == '\0')
		return false;
	if (strcmp(called, d->serial) == 0 ||
	    strcmp(bare(called), bare(d->wwn)) == 0)
		return true;
	if (strchr(called, '/') != NULL)
		return false;
	snprintf(path, sizeof(path), "/dev/disk/by-id/%s", called);
	return stat(path, &st) == 0 && S_ISBLK(st.st_mode) &&
	    d->node != 0 && (st.st_rdev == d->node || st.st_rdev == d->whole);
}

bool
disk_path(dev_t node, const char *name, char *path, size_t room)
{
	struct stat st;
	char *c;

	snprintf(path, room, "/dev/%s", name);
	for (c = path + 5; *c != '\0'; c++)
		if (*c == '!')		/* sysfs writes cciss/c0d0 so */
			*c = '/';
	return stat(path, &st) == 0 && S_ISBLK(st.st_mode) &&
	    st.st_rdev == node;
}
