/*
 * Whether what a block device lies on is still there, and the file it lies on.
 * All of this is asked when something has changed, so it is looked up anew.
 */
#include "disk/below.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"
#include "base/status.h"
#include "disk/disk.h"
#include "disk/stack.h"
#include "disk/sysfs.h"

/*
 * The size of a block device in bytes, -1 if unknown.  A device that was
 * removed has size 0, and later no directory.
 */
static int64_t
length_of(dev_t node)
{
	int dir = sysfs_open("block", node);
	int64_t bytes = -1;
	char text[32];

	if (dir < 0)
		return -1;
	if (sysfs_text(dir, "size", text, sizeof(text)) &&
	    __builtin_mul_overflow(strtoll(text, NULL, 10), SYSFS_SECTOR,
	    &bytes))
		bytes = -1;
	close(dir);
	return bytes;
}

static bool
node_gone(dev_t node)
{
	return length_of(node) == 0 || disk_lost(node, true);
}

/*
 * A member that is no longer a device has gone; what could not be asked has
 * not.
 */
static bool
place_gone(const struct stack_place *p)
{
	if (p->ino != 0)
		return false;
	return p->dev == 0 ? sysfs_unasked(p->err) == 0 : node_gone(p->dev);
}

enum { BELOW = 1, THERE = 2 };	/* marks: of places below, and not gone */

/* From the bottom up: a place has gone if all that is below it has. */
static bool
all_gone(const struct stack *s)
{
	bool gone = false;
	size_t i;

	for (i = s->n; i-- > 0; ) {
		gone = s->at[i].mark == BELOW || place_gone(&s->at[i]);
		s->at[s->at[i].above].mark |= gone ? BELOW : BELOW | THERE;
	}
	return gone;
}

/*
 * What the first "end" bytes of a device lie on; false if nothing lies below:
 * then only itself is added.
 */
static bool
stack_of_node(struct stack *s, dev_t node, uint64_t end, unsigned how)
{
	stack_begin(s, how);
	stack_add(s, (struct stack_place){ .dev = node, .to = end });
	if (!stack_any(node))
		return false;
	stack_down(s);
	return true;
}

/* A file is gone if the disk of its file system is. */
bool
below_gone(dev_t node)
{
	struct stack s;
	bool gone = stack_of_node(&s, node, UINT64_MAX, STACK_HOSTS) ?
	    all_gone(&s) : node_gone(node);

	stack_end(&s);
	return gone;
}

/* The length of the file below a loop device; -1 with errno: unknown. */
static off_t
file_length(const struct disk *d)
{
	struct stat is, st;

	errno = disk_backing(d->whole_name, NULL, &is);
	if (errno != 0 || stat(d->backing, &st) != 0)
		return -1;
	errno = 0;
	return same_file(&is, &st) ? st.st_size : -1;
}

/* A loop device reads as zeros beyond the end of its file or disk. */
static int
below_device_kept(const struct disk *loop, dev_t node, uint64_t end,
    struct fault *f)
{
	int64_t length = length_of(node);

	if (length < 0 && sysfs_unasked(errno) != 0)
		return fault_errno(f, errno, "%s: its disk", loop->name);
	if (length == 0 || disk_lost(node, true))
		return fault_set(f, status_errno(ENODEV), "%s: the disk "
		    "under it is gone, and it may read as zeros", loop->name);
	if (length > 0 && (uint64_t)length < end)
		return fault_set(f, STATUS_SHORT, "%s: the device under it now "
		    "ends at byte %lld, and all past that may read as zeros",
		    loop->name, (long long)length);
	return 0;
}

static int
file_kept(const struct disk *loop, uint64_t end, struct fault *f)
{
	off_t length = file_length(loop);

	if (length < 0 && sysfs_unasked(errno) != 0)
		return fault_errno(f, errno, "%s: its file", loop->name);
	if (length < 0 || (uint64_t)length >= end)
		return 0;
	return fault_set(f, STATUS_SHORT, "%s: its file %s was truncated at "
	    "byte %lld, and all past that may read as zeros", loop->name,
	    loop->backing, (long long)length);
}

/* Check what the i-th place, a loop device's, must still have. */
static int
place_kept(struct stack *s, size_t i, struct fault *f)
{
	const struct stack_place *p = &s->at[i], *loop = &s->at[p->above];
	uint64_t end = p->from - loop->from + loop->to;
	struct disk d;

	if (!disk_place(loop->dev, &d) || d.err != 0) {
		stack_not_seen(s, loop->dev, d.err);
		return 0;
	}
	return p->ino == 0 ? below_device_kept(&d, p->dev, end, f) :
	    file_kept(&d, end, f);
}

int
below_kept(dev_t node, uint64_t end, struct fault *f)
{
	struct stack s;
	int failed = 0;
	size_t i;

	(void)stack_of_node(&s, node, end, 0);
	for (i = 0; i < s.n && failed == 0; i++)
		if (s.at[i].step == STACK_BACKING)
			failed = place_kept(&s, i, f);
	if (failed == 0 && sysfs_unasked(s.err) != 0)
		failed = fault_errno(f, s.err, "what /sys/dev/block/%u:%u lies "
		    "on", major(s.dev), minor(s.dev));
	stack_end(&s);
	return failed;
}

/* The number of the medium of a whole disk, or 0: see file_medium. */
static uint64_t
medium_of(struct stack *s, dev_t node)
{
	int dir = sysfs_open("block", node);
	uint64_t number;

	if (dir >= 0)
		errno = 0;
	number = dir < 0 ? 0 : sysfs_number(dir, "diskseq");
	if (number == 0 && sysfs_unasked(errno) != 0)
		stack_not_seen(s, node, errno);
	if (dir >= 0)
		close(dir);
	return number;
}

/* What is only somewhere, and below that, may move while the bytes stay. */
static uint64_t
places_sum(struct stack *s, bool files)
{
	uint64_t sum = NUMBER_SUM, medium;
	struct stack_place *p;

	for (p = s->at; p < s->at + s->n; p++) {
		p->mark = p->somewhere || s->at[p->above].mark != 0;
		if (p->mark != 0 || (p->ino != 0 && !files))
			continue;
		sum = number_sum(sum, &p->dev, sizeof(p->dev));
		sum = number_sum(sum, &p->ino, sizeof(p->ino));
		sum = number_sum(sum, &p->from, sizeof(p->from));
		medium = p->ino == 0 ? medium_of(s, p->dev) : 0;
		sum = number_sum(sum, &medium, sizeof(medium));
		if (p->step == STACK_MEMBER)	/* others may grow */
			sum = number_sum(sum, &p->to, sizeof(p->to));
	}
	return sum;
}

/* Open what says where a loop device begins.  Returns 0 or an errno value. */
static int
watch_loop(dev_t loop, struct below_place *at)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/loop/offset",
	    major(loop), minor(loop));
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		at->offset[at->loops++] = fd;
	return fd < 0 ? sysfs_unasked(errno) : 0;
}

/* A number for where the loop devices begin. */
static uint64_t
offsets_sum(const struct below_place *at)
{
	uint64_t sum = NUMBER_SUM;
	char text[32];
	unsigned i;
	ssize_t n;

	for (i = 0; i < at->loops; i++) {
		n = pread(at->offset[i], text, sizeof(text), 0);
		sum = number_sum(sum, text, n > 0 ? (size_t)n : 0);
	}
	return sum;
}

int
below_locate(dev_t node, uint64_t end, struct below_place *at)
{
	const struct stack_place *p;
	struct stack s;
	int err;

	*at = (struct below_place){ .end = end };
	at->stacked = stack_of_node(&s, node, end, STACK_TABLES);
	at->places = at->stacked ? places_sum(&s, true) : 0;
	at->devices = at->stacked ? places_sum(&s, false) : 0;
	at->silent = s.silent;
	err = sysfs_unasked(s.err);
	for (p = s.at; p < s.at + s.n && err == 0; p++)
		if (p->step == STACK_BACKING && s.at[p->above].mark == 0 &&
		    at->loops < BELOW_LOOPS)
			err = watch_loop(s.at[p->above].dev, at);
	at->offsets = offsets_sum(at);
	stack_end(&s);
	return err;
}

void
below_forget(struct below_place *at)
{
	while (at->loops > 0)
		close(at->offset[--at->loops]);
}

bool
below_shifted(const struct below_place *at)
{
	return at->loops > 0 && offsets_sum(at) != at->offsets;
}

int
below_elsewhere(dev_t node, const struct below_place *was)
{
	struct below_place is = *was;

	errno = was->stacked ? below_locate(node, was->end, &is) : 0;
	if (was->stacked)
		below_forget(&is);
	return errno != 0 ? -1 : is.silent || was->silent ?
	    below_shifted(was) || is.devices != was->devices :
	    is.places != was->places || is.offsets != was->offsets;
}

/* The first place that is a file, NULL: none, and errno says if that failed. */
static const struct stack_place *
first_file(struct stack *s, dev_t node)
{
	const struct stack_place *p;

	(void)stack_of_node(s, node, UINT64_MAX, 0);
	errno = s->err;
	for (p = s->at; p < s->at + s->n; p++)
		if (p->ino != 0 && !p->somewhere)
			return p;
	return NULL;
}

bool
below_has_file(dev_t node, struct stat *st)
{
	struct stack s;
	const struct stack_place *p = first_file(&s, node);

	if (p != NULL) {
		st->st_dev = p->dev;
		st->st_ino = p->ino;
	}
	stack_end(&s);
	return p != NULL;
}

static int
below_open_backing(const char *name, const struct stack_place *p)
{
	int fd = open(name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_dev == p->dev && st.st_ino == p->ino))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

int
below_file(dev_t node, uint64_t *start)
{
	struct stack s;
	const struct stack_place *p = first_file(&s, node);
	struct disk d;
	int fd = -1;

	*start = 0;
	if (p != NULL) {
		(void)disk_place(s.at[p->above].dev, &d);
		*start = p->from;
		fd = d.err == 0 ? below_open_backing(d.backing, p) : -1;
		errno = d.err == 0 ? errno : d.err;
	}
	stack_end(&s);
	return fd;
}

/*
 * The writes and discards that a disk has done: columns 5 and 12 of its
 * statistics, see Documentation/block/stat.rst of the kernel.
 */
static uint64_t
writes_of(dev_t whole)
{
	int dir = sysfs_open("block", whole), i;
	char text[512], *at = text;
	uint64_t n, all = 0;

	if (dir < 0)
		return 0;
	if (sysfs_text(dir, "stat", text, sizeof(text)))
		for (i = 1; i <= 12; i++) {
			n = strtoull(at, &at, 10);
			all += i == 5 || i == 12 ? n : 0;
		}
	close(dir);
	return all;
}

uint64_t
below_writes(dev_t node)
{
	const struct stack_place *p;
	uint64_t all = 0;
	struct stack s;

	(void)stack_of_node(&s, node, UINT64_MAX, 0);
	for (p = s.at; p < s.at + s.n; p++)
		if (p->step == STACK_BACKING && !p->somewhere)
			all += writes_of(s.at[p->above].dev);
	stack_end(&s);
	return all;
}

int
below_each(dev_t node, int (*fn)(dev_t node, const char *name, void *arg),
    void *arg)
{
	struct stack_place *p;
	struct stack s;
	struct disk d;
	int got = 0;

	(void)stack_of_node(&s, node, UINT64_MAX, 0);
	for (p = s.at; p < s.at + s.n && got == 0; p++) {
		p->mark = s.at[p->above].mark;	/* it is below a loop device */
		p->mark |= p->step == STACK_BACKING;
		if (p->step != STACK_MEMBER || p->dev == 0 || p->mark != 0)
			continue;
		if (disk_place(p->dev, &d))
			got = fn(p->dev, d.name, arg);
		else
			stack_not_seen(&s, p->dev, d.err);
	}
	if (got == 0)
		got = sysfs_unasked(s.err);
	stack_end(&s);
	return got;
}
