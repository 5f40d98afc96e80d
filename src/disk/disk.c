/*
 * Disks by sysfs.  A block node is /sys/dev/block/MAJOR:MINOR, a link into the
 * tree of devices.  The directory of a partition is in that of its disk, and
 * "device" in the disk's directory leads to what the bus driver knows.
 */
#include "disk/disk.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/path.h"
#include "disk/sysfs.h"

enum { USB_UP = 5 };		/* levels: target, host, interface, and more */

/*
 * A missing attribute may be an answer.  An unreadable one is not: keep the
 * first error.
 */
static void
attr_error(int *err, int why)
{
	if (*err == 0)
		*err = why;
}

/* Read an attribute that may be missing. */
static bool
attr_text(int *err, int dir, const char *name, char *buf, size_t room)
{
	bool is = sysfs_text(dir, name, buf, room);

	if (!is && errno != ENOENT)
		attr_error(err, errno);
	return is;
}

/* Read a number that may be missing; 0 without it. */
static uint64_t
attr_number(int *err, int dir, const char *name)
{
	char buf[32];

	return attr_text(err, dir, name, buf, sizeof(buf)) ?
	    strtoull(buf, NULL, 10) : 0;
}

/* Read a number that every disk and partition has. */
static uint64_t
attr_required(int *err, int dir, const char *name)
{
	char buf[32];

	if (sysfs_text(dir, name, buf, sizeof(buf)))
		return strtoull(buf, NULL, 10);
	attr_error(err, errno != 0 ? errno : ENODATA);
	return 0;
}

/* Read a number of sectors that every disk and partition has; in bytes. */
static uint64_t
attr_sectors(int *err, int dir, const char *name)
{
	uint64_t sectors = attr_required(err, dir, name);

	if (sectors <= INT64_MAX / SYSFS_SECTOR)
		return sectors * SYSFS_SECTOR;
	attr_error(err, EOVERFLOW);
	return 0;
}

/* Read the number of a device, if it has one. */
static dev_t
attr_node(int *err, int dir, const char *directory)
{
	dev_t node = sysfs_node(dir, directory);

	if (node == 0)
		attr_error(err, errno != 0 ? errno : ENODATA);
	return node;
}

static void
last_part(const char *path, char *name, size_t room)
{
	snprintf(name, room, "%.*s", (int)room - 1, path_base(path));
}

/* The target of the link of a node, or "". */
static bool
device_dir(const char *kind, dev_t node, char *path, size_t room)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/%s/%u:%u", kind, major(node),
	    minor(node));
	n = readlink(link, path, room - 1);
	path[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

/* Read a name; if it does not fit, there is none. */
static void
ask_name(int *err, int dir, const char *attribute, char *buf, size_t room)
{
	char whole[1024];

	if (!sysfs_text(dir, attribute, whole, sizeof(whole))) {
		attr_error(err, sysfs_unasked(errno));
	} else if (strlen(whole) < room) {
		memcpy(buf, whole, strlen(whole) + 1);
	}
}

/* VPD page 80h, cached by the kernel: SPC-5 7.7.20. */
static void
scsi_serial(int device, char *serial, size_t room)
{
	unsigned char page[4 + 255 + 1];
	int fd = openat(device, "vpd_pg80", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, page, sizeof(page));
	size_t at = 4, len;

	if (fd >= 0)
		close(fd);
	if (n < 5 || n == sizeof(page))
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
			strlcpy(d->transport, buses[i], sizeof(d->transport));
			return;
		}
	}
	if (d->sg[0] != '\0')
		snprintf(d->transport, sizeof(d->transport), "scsi");
}

/*
 * The serial number of the USB device that a disk belongs to, some directories
 * up; usb-storage does not query the disk.
 */
static void
usb_serial(int device, struct disk *d)
{
	int at = openat(device, "..", O_PATH | O_DIRECTORY | O_CLOEXEC), up, i;

	for (i = 0; i < USB_UP && at >= 0; i++) {
		if (faccessat(at, "idVendor", F_OK, 0) == 0) {
			ask_name(&d->err, at, "serial", d->serial,
			    sizeof(d->serial));
			break;
		}
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = up;
	}
	if (at >= 0)
		close(at);
}

/*
 * Read what the bus driver knows; "device" is the SCSI, NVMe or virtio device.
 */
static void
ask_bus(int whole, struct disk *d)
{
	int device = openat(whole, "device", O_PATH | O_DIRECTORY | O_CLOEXEC);

	ask_name(&d->err, whole, "serial", d->serial, sizeof(d->serial));
	ask_name(&d->err, whole, "wwid", d->wwn, sizeof(d->wwn));
	if (device < 0)
		return;
	sysfs_text(device, "vendor", d->vendor, sizeof(d->vendor));
	sysfs_text(device, "model", d->model, sizeof(d->model));
	if (d->serial[0] == '\0')
		ask_name(&d->err, device, "serial", d->serial,
		    sizeof(d->serial));
	if (d->serial[0] == '\0')
		scsi_serial(device, d->serial, sizeof(d->serial));
	if (d->serial[0] == '\0')
		usb_serial(device, d);
	if (d->wwn[0] == '\0')
		ask_name(&d->err, device, "wwid", d->wwn, sizeof(d->wwn));
	sysfs_first(device, "scsi_generic", d->sg, sizeof(d->sg));
	sysfs_first(device, "bsg", d->bsg, sizeof(d->bsg));
	close(device);
}

/*
 * The other node of an NVMe namespace, given the directory of one: nvme0n1 and
 * ng0n1 are side by side.  The number after the n is the same; the one before
 * it may differ after a controller was removed and came back.  0: there is
 * none.
 */
static dev_t
disk_other_node(int dir, const char *name, const char *prefix, char *found,
    size_t room)
{
	const char *last = strrchr(name, 'n'), *end;
	struct dirent **list;
	char path[300];
	dev_t node = 0;
	int n, i;

	snprintf(found, room, "%s%s", prefix, name +
	    strcspn(name, "0123456789"));
	snprintf(path, sizeof(path), "../%s", found);
	if (last == NULL || (node = sysfs_node(dir, path)) != 0)
		return node;
	n = sysfs_entries(dir, "..", &list);
	for (i = 0; i < n && node == 0; i++) {
		end = strrchr(list[i]->d_name, 'n');
		if (strncmp(list[i]->d_name, prefix, strlen(prefix)) != 0 ||
		    end == NULL || strcmp(end, last) != 0)
			continue;
		snprintf(path, sizeof(path), "../%s", list[i]->d_name);
		node = sysfs_node(dir, path);
		strlcpy(found, list[i]->d_name, room);
	}
	sysfs_forget(list, n);
	return node;
}

static void
ask_generic(int whole, struct disk *d)
{
	if (strncmp(d->whole_name, "nvme", 4) == 0)
		d->ng_node = disk_other_node(whole, d->whole_name, "ng", d->ng,
		    sizeof(d->ng));
	if (d->ng_node == 0)
		d->ng[0] = '\0';
}

/* "path" is the directory of the whole disk. */
static void
ask_whole(int whole, struct disk *d, const char *path)
{
	last_part(path, d->whole_name, sizeof(d->whole_name));
	d->whole = attr_node(&d->err, whole, ".");
	attr_text(&d->err, whole, "loop/backing_file", d->backing,
	    sizeof(d->backing));
	d->backing_off = attr_number(&d->err, whole, "loop/offset");
}

/* What the disk itself is like. */
static void
ask_kind(int whole, struct disk *d, const char *path)
{
	d->logical = (uint32_t)attr_required(&d->err, whole,
	    "queue/logical_block_size");
	d->physical = (uint32_t)sysfs_number(whole,
	    "queue/physical_block_size");
	d->rotates = sysfs_number(whole, "queue/rotational") != 0;
	d->removable = sysfs_number(whole, "removable") != 0;
	d->discards = sysfs_number(whole, "queue/discard_max_bytes") != 0;
	ask_bus(whole, d);
	ask_generic(whole, d);
	set_transport(d, path);
}

/* Describe the disk of a node, or only where it is and what it lies on. */
static bool
disk_describe(dev_t node, struct disk *d, bool kind)
{
	int dir = sysfs_open("block", node), whole;
	char path[PATH_MAX], *slash;

	*d = (struct disk){ .node = node };
	if (dir < 0) {
		d->err = errno;
		return false;
	}
	if (!device_dir("block", node, path, sizeof(path)))
		attr_error(&d->err, errno);
	last_part(path, d->name, sizeof(d->name));
	d->partition = (int)attr_number(&d->err, dir, "partition");
	if (d->partition != 0)
		d->start = attr_sectors(&d->err, dir, "start");
	d->length = attr_sectors(&d->err, dir, "size");
	whole = d->partition == 0 ? dir :
	    openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	slash = strrchr(path, '/');
	if (d->partition != 0 && slash != NULL)
		*slash = '\0';
	if (whole < 0)
		attr_error(&d->err, errno);
	else
		ask_whole(whole, d, path);
	if (whole >= 0 && kind)
		ask_kind(whole, d, path);
	if (whole >= 0 && whole != dir)
		close(whole);
	close(dir);
	return true;
}

bool
disk_of_block(dev_t node, struct disk *d)
{
	return disk_describe(node, d, true);
}

bool
disk_place(dev_t node, struct disk *d)
{
	return disk_describe(node, d, false);
}

/* The block node of an ng node, or 0. */
static dev_t
nvme_sibling(int dir, dev_t node)
{
	char directory[PATH_MAX], name[256], sibling[256];

	device_dir("char", node, directory, sizeof(directory));
	last_part(directory, name, sizeof(name));
	return strncmp(name, "ng", 2) == 0 ?
	    disk_other_node(dir, name, "nvme", sibling, sizeof(sibling)) : 0;
}

bool
disk_of_char(dev_t node, struct disk *d)
{
	int dir = sysfs_open("char", node), err;
	char path[300], name[256];
	dev_t sibling = 0;

	*d = (struct disk){ .node = 0 };
	if (dir < 0) {
		d->err = errno;
		return false;
	}
	err = sysfs_first(dir, "device/block", name, sizeof(name));
	if (err != 0 && err != ENOENT)
		d->err = err;
	snprintf(path, sizeof(path), "device/block/%s", name);
	if (name[0] != '\0')
		sibling = attr_node(&d->err, dir, path);
	else
		sibling = nvme_sibling(dir, node);
	if (sibling == 0)
		ask_bus(dir, d);
	close(dir);
	return sibling == 0 || disk_of_block(sibling, d);
}

bool
disk_zoned(dev_t node, char *model, size_t room)
{
	int dir = sysfs_open("block", node);
	bool is = dir >= 0 &&
	    (sysfs_text(dir, "queue/zoned", model, room) ||
	    sysfs_text(dir, "../queue/zoned", model, room)) &&
	    strcmp(model, "none") != 0;

	if (dir >= 0)
		close(dir);
	if (!is)
		model[0] = '\0';
	return is;
}

/* A limit of the zones of a disk; "unsaid" if the kernel does not say. */
static unsigned
zone_limit(int dir, const char *name, unsigned unsaid)
{
	char text[32];
	uint64_t n;

	if (!sysfs_text(dir, name, text, sizeof(text)))
		return unsaid;
	n = strtoull(text, NULL, 10);
	return n == 0 || n > UINT_MAX ? UINT_MAX : (unsigned)n;
}

struct zone_limits
disk_zone_limits(dev_t node)
{
	int dir = sysfs_open("block", node);
	struct zone_limits most = {
		.open = zone_limit(dir, "queue/max_open_zones", 1),
		.active = zone_limit(dir, "queue/max_active_zones", UINT_MAX) };

	if (dir >= 0)
		close(dir);
	return most;
}

/*
 * State names of SCSI disks and NVMe controllers: scsi_device_state and
 * nvme_ctrl_state of Linux.
 */
bool
disk_lost(dev_t node, bool block)
{
	static const char *const lost[] = { "cancel", "deleted", "offline",
		"transport-offline", "deleting", "deleting (no IO)", "dead" };
	bool known = false, is = false;
	char state[32];
	size_t i;
	int dir;

	/* twice, as it is taken from /sys/dev before its state is */
	for (i = 0; i < 2 && !known; i++) {
		dir = sysfs_open(block ? "block" : "char", node);
		if (dir < 0)	/* gone, if there is a sysfs */
			return errno == ENOENT &&
			    access("/sys/dev/block", F_OK) == 0;
		known = sysfs_text(dir, "device/state", state,
		    sizeof(state)) || sysfs_text(dir, "../device/state",
		    state, sizeof(state));
		close(dir);
	}
	for (i = 0; known && i < sizeof(lost) / sizeof(lost[0]); i++)
		is = is || strcmp(state, lost[i]) == 0;
	return is;
}

bool
disk_gone(int fd)
{
	uint64_t bytes;
	struct stat st;

	return ioctl(fd, BLKGETSIZE64, &bytes) != 0 || bytes == 0 ||
	    (fstat(fd, &st) == 0 && disk_lost(st.st_rdev, true));
}

static int
by_start(const void *a, const void *b)
{
	const struct disk_part *p = a, *q = b;

	return p->start < q->start ? -1 : p->start > q->start;
}

/* Read an entry of a disk's directory; only partitions have a number. */
static int
disk_read_part(int whole, const char *name, struct disk_part *part)
{
	int dir = openat(whole, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	*part = (struct disk_part){ .number = 0 };
	if (dir < 0)
		return errno == ENOTDIR || errno == ENOENT ? 0 : errno;
	part->number = (int)attr_number(&err, dir, "partition");
	if (part->number > 0) {
		part->node = attr_node(&err, dir, ".");
		part->start = attr_sectors(&err, dir, "start");
		part->length = attr_sectors(&err, dir, "size");
	}
	strlcpy(part->name, name, sizeof(part->name));
	close(dir);
	return err;
}

int
disk_parts(dev_t whole, struct disk_part **parts, size_t *n)
{
	int dir = sysfs_open("block", whole), all, i, err = 0;
	struct dirent **list;

	*parts = NULL;
	*n = 0;
	if (dir < 0)
		return errno;
	all = sysfs_entries(dir, ".", &list);
	if (all < 0)
		err = errno;
	else
		*parts = reallocarray(NULL, (size_t)all + 1, sizeof(**parts));
	if (err == 0 && *parts == NULL)
		err = ENOMEM;
	for (i = 0; i < all && err == 0; i++) {
		if (list[i]->d_type == DT_REG || list[i]->d_type == DT_LNK)
			continue;
		err = disk_read_part(dir, list[i]->d_name, &(*parts)[*n]);
		*n += (*parts)[*n].number > 0;
	}
	sysfs_forget(list, all);
	close(dir);
	if (err != 0) {
		free(*parts);
		*parts = NULL;
		*n = 0;
	}
	if (*n > 1)
		qsort(*parts, *n, sizeof(**parts), by_start);
	return err;
}

int
disk_holders(dev_t node, dev_t *holder, size_t room, size_t *n)
{
	int dir = sysfs_open("block", node), all, i, err = 0;
	struct dirent **list;
	char path[300];

	*n = 0;
	if (dir < 0)
		return errno;
	all = sysfs_entries(dir, "holders", &list);
	if (all < 0 && errno != ENOENT)		/* a partition has none */
		err = errno;
	for (i = 0; i < all && err == 0; i++) {
		if (*n == room) {
			err = E2BIG;
			break;
		}
		snprintf(path, sizeof(path), "holders/%s", list[i]->d_name);
		holder[(*n)++] = attr_node(&err, dir, path);
	}
	sysfs_forget(list, all);
	close(dir);
	return err;
}

/*
 * The first sensor of a directory, in thousandths of a degree.  SATA and SCSI
 * disks have one if the module drivetemp is loaded, NVMe disks their own.
 */
static bool
read_first(int dir, const char *directory, double *celsius)
{
	struct dirent **list;
	int n = sysfs_entries(dir, directory, &list), i;
	char path[320], text[32], *end = text;
	bool is = false;
	long value;

	for (i = 0; i < n && !is; i++) {
		if (strncmp(list[i]->d_name, "hwmon", 5) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s/temp1_input", directory,
		    list[i]->d_name);
		if (!sysfs_text(dir, path, text, sizeof(text)))
			continue;
		value = strtol(text, &end, 10);
		is = end > text && *end == '\0';
		*celsius = (double)value / 1000;
	}
	sysfs_forget(list, n);
	return is;
}

bool
disk_temperature(dev_t whole, double *celsius)
{
	int dir = sysfs_open("block", whole);
	bool is;

	if (dir < 0)
		return false;
	is = read_first(dir, "device/hwmon", celsius) ||
	    read_first(dir, "device", celsius);
	close(dir);
	return is;
}
