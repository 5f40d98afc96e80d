/*
 * Who may write to part of a source while it is copied.
 *
 * A mount claims the device, in any namespace.  Loop devices, and programs that
 * open an image as a file, do not, so these are looked up: on the device, on
 * its disk, and beside it on whatever it lies on.
 */
#include "used_survey.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/disk.h"
#include "disk/stack.h"
#include "disk/sysfs.h"
#include "disk/usage.h"

enum {
	SMALL = 1024,		/* bytes of an extended partition's node */
};

struct range {			/* the bytes in question */
	uint64_t from, to;
	char	*why;		/* of IDLE_WHY bytes */
	bool	*mapped;	/* the device mapper was asked */
	const char *medium;	/* of a loop device: what it lies on */
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

/* Refuse a loop device on a node that may write: it claims nothing. */
static int
bare_node(const struct range *r, dev_t node)
{
	struct usage use;

	if (usage_of_node(node, ~(unsigned)USE_LOOPED, &use))
		return idle_busy(r, "the loop device %.64s lies on it", use.by);
	return use.unknown == 0 ? 0 :
	    idle_busy(r, "whether loop devices lie on it cannot be looked up");
}

static bool
is_node(dev_t node, void *arg)
{
	return node == *(const dev_t *)arg;
}

static int idle_node(const struct range *, dev_t, const char *name);

struct holders {
	const struct range *r;
	size_t	 n;
};

/* Check a device of the device mapper that lies on a node. */
static int
idle_holder(const struct disk *d, uint64_t start, int err, void *arg)
{
	struct holders *h = arg;

	(void)start;
	if (err != 0)
		return idle_busy(h->r, "what uses it cannot be looked up");
	h->n++;
	*h->r->mapped = true;
	return idle_node(h->r, d->node, d->name);
}

/* Whether it is claimed only by the device mapper, for nobody. */
static bool
idle_mapped(const struct range *r, dev_t node)
{
	const struct stack_place place = { .dev = node, .to = UINT64_MAX };
	struct holders h = { .r = r };

	r->why[0] = '\0';
	return stack_holders(&place, 0, idle_holder, &h) == 0 && h.n > 0;
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
	if (usage_of_locked(is_node, &node, &use))
		return idle_busy(r, "%.64s is on it", use.by);
	if (use.unknown != 0)
		return idle_busy(r, "who has locked it cannot be looked up");
	if (idle_unclaimed(node, name) || idle_mapped(r, node))
		return 0;
	return r->why[0] != '\0' ? -1 : idle_busy(r, "it is in use");
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

/* Refuse another loop device on the same file or disk, if it may write. */
static int
idle_beside(const struct disk *other, uint64_t start, int err, void *arg)
{
	const struct range *r = arg;
	struct stat st;

	(void)start;
	if (other == NULL || err != 0)
		return idle_busy(r,
		    "what else lies on its file cannot be looked up");
	if (disk_medium(other->name, &st) == 0 && (st.st_mode & S_IWUSR) == 0)
		return 0;
	return idle_busy(r, "the loop device %.64s lies on the same %s",
	    other->name, r->medium);
}

/* Check what a loop device lies on, and others there. */
static int
idle_place(struct range *r, const struct stack *s, size_t i)
{
	const struct stack_place *p = &s->at[i], *loop = &s->at[p->above];
	struct disk d;

	if (p->step == STACK_DISK)
		loop = &s->at[loop->above];	/* lies on a partition */
	if (p->step == STACK_BACKING && p->ino == 0 &&
	    disk_of_block(p->dev, &d) && !idle_unclaimed(d.node, d.name))
		return idle_busy(r, "%.64s, which it lies on, is in use",
		    d.name);
	if (p->step == STACK_BACKING && i + 1 < s->n && p[1].above == i &&
	    (p[1].step == STACK_LAYER || p[1].step == STACK_DISK))
		return 0;			/* that is next */
	r->medium = p->ino == 0 ? "disk" : "file";
	return stack_loops(p, loop->dev, idle_beside, r);
}

static int
idle_below(struct range *r, const struct disk *d)
{
	struct stack s;
	int is = 0;
	size_t i;

	stack_begin(&s, STACK_NAMES);
	stack_add(&s, (struct stack_place){ .dev = d->node,
	    .to = UINT64_MAX });
	stack_down(&s);
	for (i = 1; i < s.n && is == 0; i++)
		if (s.at[i].step == STACK_BACKING ||
		    s.at[i].step == STACK_LAYER || (s.at[i].step ==
		    STACK_DISK && s.at[s.at[i].above].step == STACK_BACKING))
			is = idle_place(r, &s, i);
	if (is == 0 && s.err != 0)
		is = idle_busy(r, "what it lies on cannot be looked up");
	stack_end(&s);
	return is;
}

static int
idle_unused(const struct range *r, const char *name, dev_t dev, ino_t ino)
{
	struct usage use;

	if (usage_of_file(dev, ino, USE_LOOPED_TO_READ, &use))
		return idle_busy(r, "%.64s uses %.64s", use.by, name);
	return sysfs_unasked(use.err) == 0 ? 0 :
	    idle_busy(r, "what uses %.64s cannot be looked up", name);
}

/*
 * Refuse an image that a program has opened and locked, as QEMU and ntfs-3g do,
 * or that is used by its name in a layer of an overlay.
 */
static int
idle_file(const struct range *r, const struct endpoint *ep)
{
	int how = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, fd = -1;
	struct stat layer;
	struct usage use;
	bool locked;

	if (idle_unused(r, ep->name, ep->id.file_dev, ep->id.file_ino) != 0)
		return -1;
	if (endpoint_layer(ep, &layer)) {
		if (idle_unused(r, ep->name, layer.st_dev, layer.st_ino) != 0)
			return -1;
	} else if (errno != 0)
		return idle_busy(r, "what uses %.64s cannot be looked up",
		    ep->name);
	if (!ep->is.inherited && (fd = open(ep->name, how)) < 0)
		return idle_busy(r, "who has locked %.64s cannot be looked up",
		    ep->name);
	locked = usage_of_locks(ep->is.inherited ? ep->fd : fd, &use);
	if (fd >= 0)
		close(fd);
	if (locked)
		return idle_busy(r, "%.64s is on %.64s", use.by, ep->name);
	return use.unknown == 0 ? 0 : idle_busy(r, "who has locked %.64s "
	    "cannot be looked up", ep->name);
}

int
part_idle(const struct endpoint *ep, uint64_t from, uint64_t to,
    bool partition, bool *mapped, char *why)
{
	struct range r = { .from = from, .to = to, .why = why,
		.mapped = mapped };
	struct disk d = { .err = 0 };
	bool is = endpoint_disk(ep, &d) && d.node != 0;

	if (sysfs_unasked(d.err) != 0)
		return idle_busy(&r,
		    "whether it is in use cannot be looked up");
	if (is)
		return idle_disk(&r, &d, partition) != 0 ? -1 :
		    idle_below(&r, &d);
	return endpoint_is_file(ep) ? idle_file(&r, ep) : 0;
}
