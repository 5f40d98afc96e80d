/*
 * Who may write to part of a source while it is copied.
 *
 * A mount claims the device, in any namespace.  Loop devices, and programs that
 * open an image as a file, do not, so these are looked up: on the device, on
 * its disk, and beside it on whatever it lies on.
 */
#include "idle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "disk/disk.h"
#include "disk/overlay.h"
#include "disk/sysfs.h"
#include "disk/usage.h"

enum {
	DEEP = 8,		/* loop devices on loop devices */
	SMALL = 1024,		/* bytes of an extended partition's node */
};

struct range {			/* the bytes in question */
	uint64_t from, to;
	char	*why;		/* of IDLE_WHY bytes */
};

static int __attribute__((format(printf, 2, 3)))
idle_busy(const struct range *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, IDLE_WHY, fmt, ap);
	va_end(ap);
	return -1;
}

/* Whether nobody has claimed a node, as mount(2) does in any namespace. */
static bool
idle_unclaimed(dev_t node, const char *name)
{
	int how = O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC, fd;
	char path[300];

	if (!disk_path(node, name, path, sizeof(path)))
		return true;		/* without a node it is not mounted */
	fd = open(path, how);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || (errno != EBUSY && sysfs_unasked(errno) == 0);
}

/* Refuse a loop device on a node, because it claims nothing. */
static int
bare_node(const struct range *r, dev_t node)
{
	struct usage use;

	if (usage_of_node(node, ~(unsigned)USE_LOOPED, &use))
		return idle_busy(r, "the loop device %.64s lies on it", use.by);
	return use.unknown == 0 ? 0 :
	    idle_busy(r, "whether loop devices lie on it cannot be looked up");
}

/* Check a node on which the range lies. */
static int
idle_node(const struct range *r, dev_t node, const char *name)
{
	struct usage use;

	if (bare_node(r, node) != 0)
		return -1;
	if (usage_of_node(node, ~(unsigned)USE_MOUNTED, &use))
		return use.writable ?
		    idle_busy(r, "it is mounted read-write on %.100s", use.by) :
		    0;
	if (use.unknown != 0)
		return idle_busy(r,
		    "whether it is mounted cannot be looked up");
	return idle_unclaimed(node, name) ? 0 : idle_busy(r, "it is in use");
}

/*
 * Check the nodes of the partitions, if the kernel knows any, or that of the
 * disk; a claim on a partition is also one on the disk.
 */
static int
idle_disk(const struct range *r, const struct disk *d, bool partition)
{
	struct disk_part *part = NULL;
	size_t n = 0, i;
	int is = 0;

	if (d->partition == 0)
		(void)disk_parts(d->whole, &part, &n);
	for (i = 0; i < n && is == 0; i++)
		if (part[i].start < r->to && part[i].length > SMALL &&
		    r->from < part[i].start + part[i].length)
			is = idle_node(r, part[i].node, part[i].name);
	free(part);
	if (is != 0)
		return is;
	if (d->partition == 0 && partition && n > 0)
		return bare_node(r, d->node);
	if (d->whole != d->node && bare_node(r, d->whole) != 0)
		return -1;
	return idle_node(r, d->node, d->name);
}

/* The disk of a node; 0 if unknown. */
static dev_t
whole_of(dev_t node)
{
	struct disk d;

	return disk_of_block(node, &d) ? d.whole : 0;
}

/*
 * Whether two nodes are of the same disk, or one is a partition of the other.
 */
static bool
same_medium(const struct stat *a, const struct stat *b)
{
	dev_t whole;

	if (!S_ISBLK(a->st_mode) || !S_ISBLK(b->st_mode))
		return same_file(a, b);
	whole = whole_of(a->st_rdev);
	return whole != 0 && whole == whole_of(b->st_rdev);
}

/* What a loop device lies on; on an overlay, the file in the layer. */
static int
medium_of(const struct disk *loop, struct stat *st)
{
	int err = disk_backing(loop->whole_name, loop->backing, st);

	if (err == 0)
		overlay_resolve(loop->backing, st);
	return err;
}

/* Refuse if another loop device lies on the same file or disk. */
static int
idle_alone(const struct range *r, const struct disk *d, const struct stat *st)
{
	struct disk other;
	struct stat on;
	dev_t *loop;
	size_t n, i;
	int is = 0;

	if (disk_loops(&loop, &n) != 0)
		return idle_busy(r,
		    "what else lies on its file cannot be looked up");
	for (i = 0; i < n && is == 0; i++)
		if (loop[i] != d->whole && disk_of_block(loop[i], &other) &&
		    other.backing[0] != '\0' && medium_of(&other, &on) == 0 &&
		    same_medium(&on, st))
			is = idle_busy(r,
			    "the loop device %.64s lies on the same %s",
			    other.name, S_ISBLK(st->st_mode) ? "disk" : "file");
	free(loop);
	return is;
}

/* Check what a loop device lies on, and others there. */
static int
idle_below(const struct range *r, const struct disk *d, int depth)
{
	struct disk below;
	struct stat st;
	int err;

	if (d->backing[0] == '\0')
		return 0;
	err = medium_of(d, &st);
	if (sysfs_unasked(err) != 0)
		return idle_busy(r, "what it lies on cannot be looked up");
	if (err != 0)
		return 0;
	if (idle_alone(r, d, &st) != 0)
		return -1;
	if (!S_ISBLK(st.st_mode))
		return 0;
	if (depth == DEEP || !disk_of_block(st.st_rdev, &below))
		return idle_busy(r, "what it lies on cannot be looked up");
	if (!idle_unclaimed(below.node, below.name))
		return idle_busy(r, "%.64s, which it lies on, is in use",
		    below.name);
	return idle_below(r, &below, depth + 1);
}

/*
 * Refuse an image that a program has opened and locked, as QEMU and ntfs-3g do.
 */
static int
idle_file(const struct range *r, const struct endpoint *ep)
{
	int how = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, fd = -1;
	struct usage use;
	bool locked;

	if (usage_of_file(ep->id.file_dev, ep->id.file_ino, 0, &use))
		return idle_busy(r, "%.64s uses %.64s", use.by, ep->name);
	if (!ep->is.inherited)
		fd = open(ep->name, how);
	locked = usage_of_locks(ep->is.inherited ? ep->fd : fd, &use);
	if (fd >= 0)
		close(fd);
	return locked ? idle_busy(r, "%.64s is on %.64s", use.by, ep->name) : 0;
}

int
part_idle(const struct endpoint *ep, uint64_t from, uint64_t to,
    bool partition, char *why)
{
	struct range r = { .from = from, .to = to, .why = why };
	struct disk d = { .err = 0 };
	bool is = endpoint_disk(ep, &d) && d.node != 0;

	if (sysfs_unasked(d.err) != 0)
		return idle_busy(&r,
		    "whether it is in use cannot be looked up");
	if (is)
		return idle_disk(&r, &d, partition) != 0 ? -1 :
		    idle_below(&r, &d, 0);
	return ep->kind == END_FILE ? idle_file(&r, ep) : 0;
}
