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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	SYSFS_SECTOR = 512,	/* unit of start and size, whatever the disk */
	TABLE = 2048,		/* bytes to begin with */
};

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

/* "8:17" at *s, which is left behind it. */
static bool
device_pair(char **s, dev_t *node)
{
	unsigned long maj = strtoul(*s, s, 10), min;

	if (**s != ':')
		return false;
	min = strtoul(*s + 1, s, 10);
	*node = makedev((unsigned)maj, (unsigned)min);
	return true;
}

static dev_t
device_number(int dir)
{
	char text[32], *at;
	dev_t node;

	if (!attribute(dir, "dev", text, sizeof(text)))
		return 0;
	at = text;
	return device_pair(&at, &node) ? node : 0;
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

static int
visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* The entries of a folder, in order; the list is the caller's, see forget. */
static int
entries(int dir, const char *folder, struct dirent ***list)
{
	int n = scandirat(dir, folder, list, visible, versionsort);

	if (n < 0)
		*list = NULL;
	return n < 0 ? 0 : n;
}

static void
forget(struct dirent **list, int n)
{
	while (n > 0)
		free(list[--n]);
	free(list);
}

/* The first entry of a folder, as a name; "" without one. */
static void
first_entry(int dir, const char *folder, char *name, size_t room)
{
	struct dirent **list;
	int n = entries(dir, folder, &list);

	snprintf(name, room, "%s", n > 0 ? list[0]->d_name : "");
	forget(list, n);
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

/* State of a SCSI disk: scsi_device_state of Linux, by name. */
bool
disk_lost(dev_t node, bool block)
{
	static const char *const lost[] = { "cancel", "deleted", "offline",
		"transport-offline" };
	char state[32];
	int dir = sys_open(block ? "block" : "char", node);
	bool is = false;
	size_t i;

	if (dir < 0)		/* unless there is no sysfs */
		return access("/sys/dev/block", F_OK) == 0;
	if (attribute(dir, "device/state", state, sizeof(state)) ||
	    attribute(dir, "../device/state", state, sizeof(state)))
		for (i = 0; i < sizeof(lost) / sizeof(lost[0]); i++)
			is = is || strcmp(state, lost[i]) == 0;
	close(dir);
	return is;
}

static bool
is_called(const struct disk *d, const struct disk *like)
{
	return (like->serial[0] != '\0' || like->wwn[0] != '\0') &&
	    strcmp(d->serial, like->serial) == 0 &&
	    strcmp(d->wwn, like->wwn) == 0;
}

/* A disk by its folder in sysfs; one without a block node by that of sg. */
static bool
disk_at(const char *folder, const char *name, struct disk *d)
{
	char path[300];
	dev_t node;
	int dir;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	node = device_number(dir);
	close(dir);
	if (node == 0)
		return false;
	return strcmp(folder, "/sys/block") == 0 ?
	    disk_of_block(node, d) && !disk_lost(node, true) :
	    disk_of_char(node, d) && d->node == 0;
}

size_t
disk_find(const struct disk *like, struct disk *d)
{
	static const char *const folders[] = { "/sys/block",
		"/sys/class/scsi_generic" };
	struct dirent **list;
	struct disk one;
	size_t found = 0, f;
	int n, i;

	for (f = 0; f < sizeof(folders) / sizeof(folders[0]); f++) {
		n = entries(AT_FDCWD, folders[f], &list);
		for (i = 0; i < n; i++)
			if (disk_at(folders[f], list[i]->d_name, &one) &&
			    is_called(&one, like)) {
				*d = one;
				found++;
			}
		forget(list, n);
	}
	return found;
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
	int dir = sys_open("block", whole), all, i;
	struct dirent **list;
	size_t n = 0;

	*parts = NULL;
	if (dir < 0)
		return 0;
	all = entries(dir, ".", &list);
	*parts = reallocarray(NULL, (size_t)all + 1, sizeof(**parts));
	for (i = 0; i < all && *parts != NULL; i++)
		n += read_part(dir, list[i]->d_name, &(*parts)[n]);
	forget(list, all);
	close(dir);
	if (n > 1)
		qsort(*parts, n, sizeof(**parts), by_start);
	return n;
}

size_t
disk_slaves(dev_t node, dev_t *slave, size_t room)
{
	int dir = sys_open("block", node), all, one, i;
	struct dirent **list;
	char path[300];
	size_t n = 0;

	if (dir < 0)
		return 0;
	all = entries(dir, "slaves", &list);
	for (i = 0; i < all && n < room; i++) {
		snprintf(path, sizeof(path), "slaves/%s", list[i]->d_name);
		one = openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (one < 0)
			continue;
		slave[n++] = device_number(one);
		close(one);
	}
	forget(list, all);
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

/*
 * A row of mountinfo (proc(5)).  It has the number of the file system's device,
 * or else (btrfs) the device's name: no mount point is touched, for one whose
 * server is dead would hang us.
 */
static bool
mount_row(char *row, dev_t node, struct use *use)
{
	char *word[4], *device, *fs = strstr(row, " - ");
	char *source, *options;
	dev_t dev;
	int i;

	if (fs == NULL)
		return false;
	fs += 3;
	for (i = 0; i < 4; i++)
		word[i] = strsep(&row, " ");
	device = word[2];
	if (device == NULL || row == NULL || !device_pair(&device, &dev))
		return false;
	fs += strcspn(fs, " ");		/* the type */
	fs += *fs == ' ';
	source = strsep(&fs, " ");
	options = fs;
	if (source == NULL || options == NULL)
		return false;
	use->writable = strncmp(options, "rw", 2) == 0;
	unescape(source);
	if (dev != node && (strncmp(source, "/dev/", 5) != 0 ||
	    !is_it(source, node, 0)))
		return false;
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
	int dir = sys_open("block", node);
	char name[256] = "";

	if (dir >= 0) {
		first_entry(dir, "holders", name, sizeof(name));
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
	return attribute(AT_FDCWD, path, backing, sizeof(backing)) &&
	    is_it(backing, dev, ino) && found(use, USE_LOOPED, loop);
}

static bool
any_lies_on(dev_t dev, ino_t ino, struct use *use)
{
	struct dirent **list;
	int n = entries(AT_FDCWD, "/sys/block", &list), i;
	bool is = false;

	for (i = 0; i < n && !is; i++)
		is = lies_on(list[i]->d_name, dev, ino, use);
	forget(list, n);
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
disk_use(dev_t node, unsigned but, struct use *use)
{
	use->kind = USE_NONE;
	use->writable = false;
	return ((but & USE_MOUNTED) == 0 && mounted(node, use)) ||
	    ((but & USE_SWAP) == 0 && swapped(node, 0, use)) ||
	    ((but & USE_HELD) == 0 && held(node, use)) ||
	    ((but & USE_LOOPED) == 0 && looped(node, 0, use));
}

bool
file_use(dev_t dev, ino_t ino, unsigned but, struct use *use)
{
	use->kind = USE_NONE;
	use->writable = false;
	return ((but & USE_SWAP) == 0 && swapped(dev, ino, use)) ||
	    ((but & USE_LOOPED) == 0 && looped(dev, ino, use));
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

void
disk_by_id(dev_t node, char *name, size_t room)
{
	struct dirent **list;
	int n = entries(AT_FDCWD, "/dev/disk/by-id", &list), i;
	char path[300];

	name[0] = '\0';
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "/dev/disk/by-id/%s",
		    list[i]->d_name);
		if (is_it(path, node, 0) && better(list[i]->d_name, name))
			snprintf(name, room, "%s", list[i]->d_name);
	}
	forget(list, n);
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
	if (strcmp(called, d->serial) == 0 || (d->wwn[0] != '\0' &&
	    strcmp(bare(called), bare(d->wwn)) == 0))
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
