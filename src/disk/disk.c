/*
 * Disks by sysfs.  A block node is /sys/dev/block/MAJOR:MINOR, a link into the
 * tree of devices: a partition's folder lies in its disk's, and "device" in
 * the disk's folder leads to what the bus driver knows.
 */
#include "disk/disk.h"

#include <bsd/string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "disk/sysfs.h"

enum { USB_UP = 5 };		/* target, host, interface, and some more */

/*
 * Not to be there may be an answer; what cannot be read is none, and is noted
 * in *err unless something is already.
 */
static void
note(int *err, int why)
{
	if (*err == 0)
		*err = why;
}

/* An attribute that may be missing. */
static bool
text(int *err, int dir, const char *name, char *buf, size_t room)
{
	bool is = sysfs_text(dir, name, buf, room);

	if (!is && errno != ENOENT)
		note(err, errno);
	return is;
}

/* The same of a number; 0 without one. */
static uint64_t
number(int *err, int dir, const char *name)
{
	char buf[32];

	return text(err, dir, name, buf, sizeof(buf)) ?
	    strtoull(buf, NULL, 10) : 0;
}

/* One that each disk and partition has. */
static uint64_t
measure(int *err, int dir, const char *name)
{
	char buf[32];

	if (sysfs_text(dir, name, buf, sizeof(buf)))
		return strtoull(buf, NULL, 10);
	note(err, errno != 0 ? errno : ENODATA);
	return 0;
}

/* The number of a device that has one. */
static dev_t
node_of(int *err, int dir, const char *folder)
{
	dev_t node = sysfs_node(dir, folder);

	if (node == 0)
		note(err, errno != 0 ? errno : ENODATA);
	return node;
}

static void
last_part(const char *path, char *name, size_t room)
{
	const char *base = strrchr(path, '/');

	snprintf(name, room, "%.*s", (int)room - 1, base == NULL ? path :
	    base + 1);
}

/* The folder that a node's link leads to, or "". */
static bool
device_folder(const char *kind, dev_t node, char *path, size_t room)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/%s/%u:%u", kind, major(node),
	    minor(node));
	n = readlink(link, path, room - 1);
	path[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

/* The same of a block node, and its last part. */
static void
real_name(struct disk *d, char *path, size_t room)
{
	if (!device_folder("block", d->node, path, room))
		note(&d->err, errno);
	last_part(path, d->name, sizeof(d->name));
}

/* A name, which is none where there is no room for all of it. */
static void
ask_name(int dir, const char *attribute, char *buf, size_t room)
{
	char whole[1024];

	if (sysfs_text(dir, attribute, whole, sizeof(whole)) &&
	    strlen(whole) < room)
		memcpy(buf, whole, strlen(whole) + 1);
}

/* VPD page 80h as the kernel keeps it: SPC-5 7.7.20. */
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
			strlcpy(d->transport, buses[i],
			    sizeof(d->transport));
			return;
		}
	}
	if (d->sg[0] != '\0')
		snprintf(d->transport, sizeof(d->transport), "scsi");
}

/*
 * The serial number of the USB device that a disk belongs to, some folders up:
 * usb-storage asks the disk for none.
 */
static void
usb_serial(int device, struct disk *d)
{
	int at = openat(device, "..", O_PATH | O_DIRECTORY | O_CLOEXEC), up, i;

	for (i = 0; i < USB_UP && at >= 0; i++) {
		if (faccessat(at, "idVendor", F_OK, 0) == 0) {
			ask_name(at, "serial", d->serial, sizeof(d->serial));
			break;
		}
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = up;
	}
	if (at >= 0)
		close(at);
}

/* What the bus driver knows; "device" is the SCSI, NVMe or virtio device. */
static void
ask_bus(int whole, struct disk *d)
{
	int device = openat(whole, "device", O_PATH | O_DIRECTORY | O_CLOEXEC);

	ask_name(whole, "serial", d->serial, sizeof(d->serial));
	ask_name(whole, "wwid", d->wwn, sizeof(d->wwn));
	if (device < 0)
		return;
	sysfs_text(device, "vendor", d->vendor, sizeof(d->vendor));
	sysfs_text(device, "model", d->model, sizeof(d->model));
	if (d->serial[0] == '\0')
		ask_name(device, "serial", d->serial, sizeof(d->serial));
	if (d->serial[0] == '\0')
		scsi_serial(device, d->serial, sizeof(d->serial));
	if (d->serial[0] == '\0')
		usb_serial(device, d);
	if (d->wwn[0] == '\0')
		ask_name(device, "wwid", d->wwn, sizeof(d->wwn));
	sysfs_first(device, "scsi_generic", d->sg, sizeof(d->sg));
	sysfs_first(device, "bsg", d->bsg, sizeof(d->bsg));
	close(device);
}

/*
 * The other node of an NVMe namespace, of whose folder this is one: nvme0n1 and
 * ng0n1 lie side by side.  The number behind the n is the same, the one before
 * it is not where a controller has gone and come back.  0: there is none.
 */
static dev_t
beside(int dir, const char *name, const char *prefix, char *found, size_t room)
{
	const char *number = strrchr(name, 'n'), *end;
	struct dirent **list;
	char path[300];
	dev_t node = 0;
	int n, i;

	snprintf(found, room, "%s%s", prefix, name +
	    strcspn(name, "0123456789"));
	snprintf(path, sizeof(path), "../%s", found);
	if (number == NULL || (node = sysfs_node(dir, path)) != 0)
		return node;
	n = sysfs_entries(dir, "..", &list);
	for (i = 0; i < n && node == 0; i++) {
		end = strrchr(list[i]->d_name, 'n');
		if (strncmp(list[i]->d_name, prefix, strlen(prefix)) != 0 ||
		    end == NULL || strcmp(end, number) != 0)
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
		d->ng_node = beside(whole, d->whole_name, "ng", d->ng,
		    sizeof(d->ng));
	if (d->ng_node == 0)
		d->ng[0] = '\0';
}

/* "path" is that of the whole disk's folder. */
static void
ask_whole(int whole, struct disk *d, const char *path)
{
	last_part(path, d->whole_name, sizeof(d->whole_name));
	d->whole = node_of(&d->err, whole, ".");
	d->logical = (uint32_t)measure(&d->err, whole,
	    "queue/logical_block_size");
	d->physical = (uint32_t)sysfs_number(whole,
	    "queue/physical_block_size");
	d->rotates = sysfs_number(whole, "queue/rotational") != 0;
	d->removable = sysfs_number(whole, "removable") != 0;
	text(&d->err, whole, "loop/backing_file", d->backing,
	    sizeof(d->backing));
	d->backing_off = number(&d->err, whole, "loop/offset");
	ask_bus(whole, d);
	ask_generic(whole, d);
	set_transport(d, path);
}

bool
disk_of_block(dev_t node, struct disk *d)
{
	int dir = sysfs_open("block", node), whole;
	char path[PATH_MAX], *slash;

	*d = (struct disk){ .node = node };
	if (dir < 0) {
		d->err = errno;
		return false;
	}
	real_name(d, path, sizeof(path));
	d->partition = (int)number(&d->err, dir, "partition");
	if (d->partition != 0)
		d->start = measure(&d->err, dir, "start") * SYSFS_SECTOR;
	d->length = measure(&d->err, dir, "size") * SYSFS_SECTOR;
	whole = d->partition == 0 ? dir :
	    openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	slash = strrchr(path, '/');
	if (d->partition != 0 && slash != NULL)
		*slash = '\0';
	if (whole < 0)
		note(&d->err, errno);
	else
		ask_whole(whole, d, path);
	if (whole >= 0 && whole != dir)
		close(whole);
	close(dir);
	return true;
}

/* The block node of an ng node, or 0. */
static dev_t
nvme_sibling(int dir, dev_t node)
{
	char folder[PATH_MAX], name[256], sibling[256];

	device_folder("char", node, folder, sizeof(folder));
	last_part(folder, name, sizeof(name));
	return strncmp(name, "ng", 2) == 0 ? beside(dir, name, "nvme", sibling,
	    sizeof(sibling)) : 0;
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
		sibling = node_of(&d->err, dir, path);
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

/*
 * State of a SCSI disk, or of an NVMe controller, by name: scsi_device_state
 * and nvme_ctrl_state of Linux.
 */
bool
disk_lost(dev_t node, bool block)
{
	static const char *const lost[] = { "cancel", "deleted", "offline",
		"transport-offline", "deleting", "deleting (no IO)", "dead" };
	char state[32];
	int dir = sysfs_open(block ? "block" : "char", node);
	bool is = false;
	size_t i;

	if (dir < 0)		/* unless there is no sysfs */
		return errno == ENOENT && access("/sys/dev/block", F_OK) == 0;
	if (sysfs_text(dir, "device/state", state, sizeof(state)) ||
	    sysfs_text(dir, "../device/state", state, sizeof(state)))
		for (i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
			is = is || strcmp(state, lost[i]) == 0;
	close(dir);
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

static bool
is_called(const struct disk *d, const struct disk *like)
{
	return (like->serial[0] != '\0' || like->wwn[0] != '\0') &&
	    strcmp(d->serial, like->serial) == 0 &&
	    strcmp(d->wwn, like->wwn) == 0;
}

/* A whole disk in service, or one that has no block node but one of sg. */
static bool
in_service(dev_t node, bool block, struct disk *d)
{
	return block ? disk_of_block(node, d) && !disk_lost(node, true) :
	    disk_of_char(node, d) && d->node == 0;
}

/* Another disk, and not only another path to this one. */
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

/* Those in one folder of devices, see disk_find. */
static size_t
find_in(const char *folder, bool block, bool (*is)(const struct disk *,
    const struct disk *), const struct disk *like, struct disk *d)
{
	struct dirent **list;
	int n = sysfs_entries(AT_FDCWD, folder, &list), i;
	struct disk one;
	char path[300];
	size_t found = 0;
	dev_t node;

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, list[i]->d_name);
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
	size_t found = find_in("/sys/block", true, is_called, like, d);

	return found + find_in("/sys/class/scsi_generic", false, is_called,
	    like, d);
}

bool
disk_namesake(const struct disk *d, enum disk_name by, struct disk *other)
{
	bool (*is)(const struct disk *, const struct disk *) =
	    by == NAME_WWN ? shares_wwn : shares_serial;

	return by != NAME_LINK &&
	    (find_in("/sys/block", true, is, d, other) > 0 ||
	    find_in("/sys/class/scsi_generic", false, is, d, other) > 0);
}

static uint64_t
digest(uint64_t sum, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	while (n-- > 0)
		sum = (sum ^ *b++) * 0x100000001b3;	/* FNV-1a */
	return sum;
}

uint64_t
disk_id(const struct disk *d)
{
	uint64_t sum = 0xcbf29ce484222325;

	if (d->partition != 0 || d->wwn[0] == '\0')
		return 0;
	sum = digest(sum, d->serial, strlen(d->serial) + 1);
	sum = digest(sum, d->wwn, strlen(d->wwn) + 1);
	return digest(sum, &d->length, sizeof(d->length));
}

/* Whether it is called the same at least, which is quicker to ask. */
static bool
has_wwn(const char *folder, const char *wwn)
{
	char path[300], text[sizeof(((struct disk *)NULL)->wwn)];

	snprintf(path, sizeof(path), "%s/device/wwid", folder);
	if (!sysfs_text(AT_FDCWD, path, text, sizeof(text))) {
		snprintf(path, sizeof(path), "%s/wwid", folder);
		sysfs_text(AT_FDCWD, path, text, sizeof(text));
	}
	return strcmp(text, wwn) == 0;
}

int
disk_paths(const struct disk *d, dev_t **node, size_t *n)
{
	struct dirent **list;
	int all = sysfs_entries(AT_FDCWD, "/sys/block", &list), i;
	int err = all < 0 ? errno : 0;
	struct disk one;
	char path[280];
	dev_t other;

	*n = 0;
	*node = reallocarray(NULL, (size_t)(all < 0 ? 0 : all) + 1,
	    sizeof(**node));
	for (i = 0; i < all && *node != NULL; i++) {
		snprintf(path, sizeof(path), "/sys/block/%s", list[i]->d_name);
		if (has_wwn(path, d->wwn) &&
		    (other = sysfs_node(AT_FDCWD, path)) != 0 &&
		    other != d->node && disk_of_block(other, &one) &&
		    disk_id(&one) == disk_id(d))
			(*node)[(*n)++] = other;
	}
	sysfs_forget(list, all);
	if (*node == NULL)
		err = ENOMEM;
	if (err != 0) {
		free(*node);
		*node = NULL;
	}
	return err;
}

static int
by_start(const void *a, const void *b)
{
	const struct disk_part *p = a, *q = b;

	return p->start < q->start ? -1 : p->start > q->start;
}

/* An entry of a disk's folder; one that is no partition has no number. */
static int
read_part(int whole, const char *name, struct disk_part *part)
{
	int dir = openat(whole, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	*part = (struct disk_part){ .number = 0 };
	if (dir < 0)
		return errno == ENOTDIR || errno == ENOENT ? 0 : errno;
	part->number = (int)number(&err, dir, "partition");
	if (part->number > 0) {
		part->node = node_of(&err, dir, ".");
		part->start = measure(&err, dir, "start") * SYSFS_SECTOR;
		part->length = measure(&err, dir, "size") * SYSFS_SECTOR;
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
		err = read_part(dir, list[i]->d_name, &(*parts)[*n]);
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
disk_slaves(dev_t node, dev_t *slave, size_t room, size_t *n)
{
	int dir = sysfs_open("block", node), all, i, err = 0;
	struct dirent **list;
	char path[300];

	*n = 0;
	if (dir < 0)
		return errno;
	all = sysfs_entries(dir, "slaves", &list);
	if (all < 0 && errno != ENOENT)		/* as a partition has none */
		err = errno;
	for (i = 0; i < all && err == 0; i++) {
		if (*n == room) {
			err = E2BIG;
			break;
		}
		snprintf(path, sizeof(path), "slaves/%s", list[i]->d_name);
		slave[(*n)++] = node_of(&err, dir, path);
	}
	sysfs_forget(list, all);
	close(dir);
	return err;
}

/* What LOOP_GET_STATUS64 tells; kernels before 5.13 tell of a file twice. */
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

int
disk_backing(const char *loop, const char *backing, struct stat *st)
{
	struct loop_info64 info;
	char path[300];
	bool told;
	int fd;

	if (stat(backing, st) == 0)
		return 0;
	snprintf(path, sizeof(path), "/dev/%s", loop);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return errno;
	told = ioctl(fd, LOOP_GET_STATUS64, &info) == 0;
	close(fd);
	if (told)
		set_backing(&info, st);
	return told ? 0 : ENXIO;
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
		snprintf(path, sizeof(path), "/sys/block/%s", list[i]->d_name);
		(*node)[*n] = sysfs_node(AT_FDCWD, path);
		*n += strncmp(list[i]->d_name, "loop", 4) == 0 &&
		    (*node)[*n] != 0;
	}
	sysfs_forget(list, all);
	if (err != 0) {
		free(*node);
		*node = NULL;
	}
	return err;
}

/* The better of two by-id names: one with a serial, not a bare number. */
static bool
better(const char *name, const char *than)
{
	bool plain = strncmp(name, "wwn-", 4) == 0 ||
	    strncmp(name, "scsi-3", 6) == 0 ||
	    strncmp(name, "nvme-eui", 8) == 0;

	return than[0] == '\0' || (!plain && strcmp(name, than) < 0);
}

static bool
leads_to(const char *path, dev_t node)
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
		if (leads_to(path, node) && better(list[i]->d_name, name))
			strlcpy(name, list[i]->d_name, room);
	}
	sysfs_forget(list, n);
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

enum disk_name
disk_is(const struct disk *d, const char *called)
{
	char path[PATH_MAX];

	if (*called == '\0')
		return NAME_OTHER;
	if (d->wwn[0] != '\0' && strcmp(bare(called), bare(d->wwn)) == 0)
		return NAME_WWN;
	if (strcmp(called, d->serial) == 0)
		return NAME_SERIAL;
	if (strchr(called, '/') != NULL)
		return NAME_OTHER;
	snprintf(path, sizeof(path), "/dev/disk/by-id/%s", called);
	return d->node != 0 &&
	    (leads_to(path, d->node) || leads_to(path, d->whole)) ?
	    NAME_LINK : NAME_OTHER;
}

bool
disk_path(dev_t node, const char *name, char *path, size_t room)
{
	char *c;

	snprintf(path, room, "/dev/%s", name);
	for (c = path + 5; *c != '\0'; c++)
		if (*c == '!')		/* sysfs writes cciss/c0d0 so */
			*c = '/';
	return leads_to(path, node);
}

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
	if (disk_parts(d->whole, &part, &n) != 0)
		return;
	for (i = 0; i < n; i++)
		settle_node(part[i].node, part[i].name);
	free(part);
}
