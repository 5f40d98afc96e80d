/*
 * Claiming the same bytes under other names: other paths to the disk, what a
 * loop device lies on and other loop devices there, and what dm and md devices
 * consist of.
 */
#include "claim_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/dm.h"
#include "disk/sysfs.h"
#include "disk/overlay.h"
#include "end/endpoint.h"

enum {
	SLAVES = 256,		/* of a dm or md device */
	DEPTH = 8,		/* levels of devices */
};

struct medium {			/* what the loop device lies on */
	struct stat	 st;	/* a file, or */
	dev_t		 disk;	/* a whole disk; 0: a file */
	dev_t		 loop;	/* the loop device */
	struct range	 written;	/* of it */
};

static struct range
range_shifted(struct range r, uint64_t by)
{
	return (struct range){ r.from + by, r.to + by };
}

/* Another path may have been set read-only to protect the disk. */
static int
check_writable(struct claims *c, const struct disk *path, struct fault *f)
{
	int dir = sysfs_open("block", path->node);
	bool protected = dir >= 0 && sysfs_number(dir, "ro") != 0;
	int err = protected ? 0 : sysfs_unasked(errno);

	if (dir >= 0)
		close(dir);
	if ((c->plan->opts->force & FORCE_HELD) != 0)
		return 0;
	if (!protected)
		return err == 0 ? 0 : claim_unknown(c, path, err, f);
	return fault_set(f, STATUS_REFUSED, "%s: %s is read-only; blockdev "
	    "--setrw /dev/%s first (force=held writes anyway)", c->name,
	    path->name, path->name);
}

/*
 * Claim other paths to the disk, because a claim through one of them does not
 * cover the others.
 */
int
claim_paths(struct claims *c, const struct disk *d, struct range r,
    struct fault *f)
{
	char name[PATH_MAX + 300];
	struct disk whole = *d, other;
	dev_t *node;
	size_t i;
	int err, failed = 0;

	if (d->wwn[0] == '\0')
		return 0;
	if (d->partition != 0)
		disk_of_block(d->whole, &whole);
	err = sysfs_unasked(whole.err);
	if (err == 0)
		err = disk_paths(&whole, &node);
	if (err != 0)
		return claim_unknown(c, d, err, f);
	if (d->partition != 0) {
		r.from += d->start;
		r.to = MIN(r.to, d->length) + d->start;
	}
	for (i = 0; node[i] != 0 && failed == 0; i++) {
		disk_of_block(node[i], &other);
		if (other.err != 0 && disk_lost(node[i], true))
			continue;	/* it is gone */
		snprintf(name, sizeof(name), "%s and %s are the same disk",
		    c->name, other.name);
		c->name = name;
		failed = other.err != 0 ?
		    claim_unknown(c, &other, other.err, f) :
		    check_writable(c, &other, f) != 0 ? -1 :
		    claim_disk(c, &other, r, f);
		c->name = c->plan->dst->name;
	}
	free(node);
	return failed;
}

int
claim_check_path(const struct claims *c, const char *path,
    const struct stat *is, const char *what, struct fault *f)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct usage use = { .unknown = USE_HELD & ~c->over, .unread = "it" };
	struct stat st;
	int failed;

	if (fd < 0) {
		use.err = errno;
		return use.unknown != 0 && (errno == EMFILE || errno ==
		    ENFILE) ? claim_not_known(f, c->name, what, &use) : 0;
	}
	failed = fstat(fd, &st) == 0 && same_file(&st, is) ?
	    claim_check_ranges(c, fd, what, f) : 0;
	close(fd);
	return failed;
}

/* Check the file that a loop device lies on, under one of its names. */
static int
check_file(const struct claims *c, const char *path, const struct stat *st,
    struct fault *f)
{
	struct usage use;

	if (usage_of_file(st->st_dev, st->st_ino, c->over, &use))
		return claim_in_use(f, c->name, "its file", &use);
	if (use.unknown != 0)
		return claim_not_known(f, c->name, "its file", &use);
	return claim_check_path(c, path, st, "its file", f);
}

/* On an overlay, also by the layer's name.  Not inlined: path is large. */
__attribute__((noinline)) static int
check_medium(const struct claims *c, const struct disk *loop, struct stat *st,
    struct fault *f)
{
	struct located at = { AT_FDCWD, loop->backing, st->st_dev, st->st_ino };
	struct overlaid layer;
	char path[PATH_MAX];

	if (check_file(c, loop->backing, st, f) != 0)
		return -1;
	if (!overlay_file(&at, false, &layer, path))
		return 0;
	*st = layer.st;
	return check_file(c, path, st, f);
}

/*
 * Whether another loop device lies on the same medium, and where.  Returns 0,
 * or an errno value; ENXIO: it does not.
 */
static int
lies_beside(const struct medium *m, const struct disk *other, uint64_t *start)
{
	struct disk below;
	struct stat st;
	int err = disk_backing(other->whole_name, other->backing, &st);

	*start = other->backing_off;
	if (err == 0 && m->disk == 0)
		overlay_resolve(other->backing, &st);
	if (err != 0 || S_ISBLK(st.st_mode) != (m->disk != 0))
		return err != 0 ? err : ENXIO;
	if (m->disk == 0)
		return same_file(&st, &m->st) ? 0 : ENXIO;
	disk_of_block(st.st_rdev, &below);
	*start += below.start;
	return below.err != 0 ? below.err : below.whole == m->disk ? 0 : ENXIO;
}

/*
 * Claim another loop device on the same bytes, as a disk.  One that is being
 * detached has lost half of its attributes, and lies on nothing.  Not inlined,
 * so that the stack does not hold a path and another struct disk at once.
 */
__attribute__((noinline)) static int
claim_other(struct claims *c, const struct medium *m, const struct disk *other,
    struct fault *f)
{
	char name[PATH_MAX + 300];
	struct range r = m->written;
	uint64_t start;
	int err = lies_beside(m, other, &start);

	if (err == ENXIO)
		return 0;
	if (err == 0)
		err = other->err;
	if (err != 0)
		return claim_unknown(c, other, err, f);
	if (r.from >= start + other->length || start >= r.to)
		return 0;
	snprintf(name, sizeof(name), "%s and %s lie on the same %s",
	    c->plan->dst->name, other->name, m->disk != 0 ? "disk" : "file");
	c->name = name;
	r.from = r.from > start ? r.from - start : 0;
	r.to -= start;
	err = claim_disk(c, other, r, f);
	c->name = c->plan->dst->name;
	return err;
}

/*
 * Claim all loop devices on the medium of the target.  Their existence does not
 * matter, but their use does.
 */
static int
claim_beside(struct claims *c, const struct medium *m, struct fault *f)
{
	unsigned over = c->over;
	struct disk other;
	dev_t *loop;
	size_t n, i;
	int err = disk_loops(&loop, &n), failed = 0;
	bool is;

	c->over = claim_passed_over(c->plan);
	if (err != 0)
		failed = fault_set(f, STATUS_REFUSED, "%s: other loop devices "
		    "on its medium are not known: %s", c->name,
		    errno_words(err));
	for (i = 0; err == 0 && i < n && failed == 0; i++) {
		if (loop[i] == m->loop)
			continue;
		is = disk_of_block(loop[i], &other);
		if (sysfs_unasked(other.err) != 0)
			failed = claim_unknown(c, &other, other.err, f);
		else if (is && (other.backing[0] != '\0' || other.err != 0))
			failed = claim_other(c, m, &other, f);
	}
	free(loop);
	c->over = over;
	return failed;
}

/*
 * A loop device does not claim the disk it lies on, nor does a claim on the
 * loop device.  The use of that disk by this loop device is expected.
 */
int
claim_below(struct claims *c, const struct disk *d, struct range r,
    struct fault *f)
{
	uint64_t off = d->backing_off + d->start;
	struct disk below = { .node = 0 };
	struct medium m = { .loop = d->whole };
	int err;

	if (d->backing[0] == '\0')
		return 0;
	err = disk_backing(d->whole_name, d->backing, &m.st);
	if (err == ENXIO)
		return 0;
	if (err != 0)
		return claim_unknown(c, d, err, f);
	c->over |= USE_LOOPED;
	r.to = MIN(r.to, d->length);
	r = range_shifted(r, off);
	m.written = r;
	if (!S_ISBLK(m.st.st_mode))
		return check_medium(c, d, &m.st, f) != 0 ? -1 :
		    claim_beside(c, &m, f);
	if (!disk_of_block(m.st.st_rdev, &below) || below.err != 0)
		return claim_unknown(c, &below, below.err, f);
	m.disk = below.whole;
	m.written = range_shifted(r, below.start);
	return claim_disk(c, &below, r, f) != 0 ||
	    claim_paths(c, &below, r, f) != 0 ||
	    claim_beside(c, &m, f) != 0 ||
	    claim_slaves(c, &below, r, 0, f) != 0 ? -1 :
	    claim_below(c, &below, r, f);
}

/*
 * A dm or md device holds its members, and so do others with the same members.
 * But on those bytes there may be devices that no claim excludes: loop devices,
 * overlapping partitions, and other dm devices.
 */
static int
check_slave(struct claims *c, const struct disk *d, struct range r,
    struct fault *f)
{
	unsigned over = c->over;
	struct disk_part *part;
	int err, failed;
	size_t n, i;

	c->over |= USE_HELD;
	failed = claim_check_node(c, d->whole, d->whole_name, f);
	err = disk_parts(d->whole, &part, &n);
	if (failed == 0 && err != 0)
		failed = claim_unknown(c, d, err, f);
	for (i = 0; i < n && failed == 0; i++)
		if (part[i].start < r.to && r.from < part[i].start +
		    part[i].length)
			failed = claim_check_node(c, part[i].node,
			    part[i].name, f);
	free(part);
	c->over = over;
	return failed;
}

/*
 * Whether a dm device has bytes of that range of a member.  If its table does
 * not say where they lie, or cannot be read, it may have.
 */
static bool
holder_shares(dev_t holder, dev_t node, struct range r)
{
	struct dm_piece piece[SLAVES];
	size_t n, i;
	int err = dm_ranges(holder, piece, SLAVES, &n);

	if (err != 0)
		return err == ENOTSUP || err == E2BIG ||
		    sysfs_unasked(err) != 0;
	for (i = 0; i < n; i++)
		if (piece[i].node == node && piece[i].off < r.to &&
		    r.from < piece[i].off + piece[i].length)
			return true;
	return false;
}

/* Find all holders of a node; the caller frees them.  Returns an errno. */
static int
find_holders(dev_t node, dev_t **holder, size_t *n)
{
	size_t room = SLAVES;
	int err;

	*holder = NULL;
	do {
		free(*holder);
		*holder = calloc(room, sizeof(**holder));
		err = *holder == NULL ? ENOMEM :
		    disk_holders(node, *holder, room, n);
		room *= 2;
	} while (err == E2BIG);
	return err;
}

/* Claim other dm devices on the same bytes of a member. */
__attribute__((noinline)) static int
claim_sharers(struct claims *c, dev_t via, dev_t node, struct range r,
    struct fault *f)
{
	struct disk d;
	dev_t *holder;
	size_t n, i;
	int err = find_holders(node, &holder, &n), failed = 0;

	if (err != 0) {
		disk_of_block(node, &d);
		failed = claim_unknown(c, &d, err, f);
	}
	for (i = 0; err == 0 && i < n && failed == 0; i++) {
		if (holder[i] == via || !holder_shares(holder[i], node, r))
			continue;
		if (disk_of_block(holder[i], &d))
			failed = claim_node(c, d.node, d.name, f);
		else if (sysfs_unasked(d.err) != 0)
			failed = claim_unknown(c, &d, d.err, f);
	}
	free(holder);
	return failed;
}

/*
 * Check one member of the device "via", and what lies below it; the range is
 * one of the member.
 */
static int
claim_slave(struct claims *c, dev_t via, dev_t node, struct range r, int depth,
    struct fault *f)
{
	unsigned over = c->over;
	struct disk d;
	int failed;

	if (!disk_of_block(node, &d) || d.err != 0)
		return claim_unknown(c, &d, d.err, f);
	r.to = MIN(r.to, d.length);
	failed = claim_sharers(c, via, node, r, f) != 0 ||
	    check_slave(c, &d, range_shifted(r, d.start), f) != 0 ||
	    claim_below(c, &d, r, f) != 0 ||
	    claim_slaves(c, &d, r, depth + 1, f) != 0 ? -1 : 0;
	c->over = over;
	return failed;
}

/* Which range of a member has bytes of the range r of a dm device, if any. */
static bool
of_member(const struct dm_piece *piece, struct range r, struct range *of)
{
	uint64_t first = MAX(r.from, piece->start);
	uint64_t last = MIN(r.to, piece->start + piece->length);

	of->from = first - piece->start + piece->off;
	of->to = last - piece->start + piece->off;
	return first < last;
}

/* Check ranges of members, each as a whole. */
static int
claim_ranges(struct claims *c, const struct disk *d,
    const struct dm_piece *piece, size_t n, int depth, struct fault *f)
{
	struct range of;
	int failed = 0;
	size_t i;

	for (i = 0; i < n && failed == 0; i++) {
		of = (struct range){ piece[i].off, piece[i].off +
			piece[i].length };
		failed = claim_slave(c, d->whole, piece[i].node, of, depth, f);
	}
	return failed;
}

/* Check the part of each piece that has bytes of the range r of the device. */
static int
claim_pieces(struct claims *c, const struct disk *d,
    const struct dm_piece *piece, size_t n, struct range r, int depth,
    struct fault *f)
{
	struct range of;
	int failed = 0;
	size_t i;

	r.to = MIN(r.to, d->length);
	r = range_shifted(r, d->start);
	for (i = 0; i < n && failed == 0; i++)
		if (of_member(&piece[i], r, &of))
			failed = claim_slave(c, d->whole, piece[i].node, of,
			    depth, f);
	return failed;
}

/* Without a table that says where they are, check every member as a whole. */
int
claim_slaves(struct claims *c, const struct disk *d, struct range r, int depth,
    struct fault *f)
{
	struct dm_piece piece[SLAVES];
	dev_t slave[SLAVES];
	size_t n, pieces, i;
	int err = disk_slaves(d->whole, slave, SLAVES, &n);

	if (err != 0)
		return claim_unknown(c, d, err, f);
	if (n == 0 || depth == DEPTH)
		return 0;
	if (dm_pieces(d->whole, piece, SLAVES, &pieces) == 0)
		return claim_pieces(c, d, piece, pieces, r, depth, f);
	if (dm_ranges(d->whole, piece, SLAVES, &pieces) == 0)
		return claim_ranges(c, d, piece, pieces, depth, f);
	for (i = 0; i < n; i++)
		piece[i] = (struct dm_piece){ .node = slave[i],
			.length = UINT64_MAX };
	return claim_ranges(c, d, piece, n, depth, f);
}
