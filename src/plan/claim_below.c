/*
 * Claiming what is the same bytes under another name: the disk by its other
 * paths, what a loop device lies on and who lies beside it there, what dm and
 * md devices are made of.
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
#include "disk/dm.h"
#include "end/endpoint.h"

enum {
	SLAVES = 256,		/* of a dm or md device, */
	DEPTH = 8,		/* on one another */
};

struct medium {			/* what the target's loop device lies on */
	struct stat	 st;	/* a file, or */
	dev_t		 disk;	/* a whole disk, else 0 */
	dev_t		 loop;	/* the device */
	uint64_t	 from, to;	/* bytes of it that are written */
};

/*
 * The disk by its other paths: a claim by one of them is no claim on the
 * others.
 */
int
claim_paths(struct claims *c, const struct plan *p, const struct disk *d,
    uint64_t from, uint64_t to, struct fault *f)
{
	char name[PATH_MAX + 300];
	struct disk whole = *d, other;
	dev_t *node;
	size_t n, i;
	int err, failed = 0;

	if (d->wwn[0] == '\0' ||
	    (d->partition != 0 && !disk_of_block(d->whole, &whole)))
		return 0;
	err = disk_paths(&whole, &node, &n);
	if (err != 0)
		return claim_unknown(c, p, d, err, f);
	if (d->partition != 0) {
		from += d->start;
		to = MIN(to, d->length) + d->start;
	}
	for (i = 0; i < n && failed == 0; i++) {
		if (!disk_of_block(node[i], &other) ||
		    (other.err != 0 && disk_lost(node[i], true)))
			continue;	/* it has gone */
		snprintf(name, sizeof(name), "%s and %s are one disk",
		    c->name, other.name);
		c->name = name;
		failed = other.err != 0 ?
		    claim_unknown(c, p, &other, other.err, f) :
		    claim_disk(c, p, &other, from, to, f);
		c->name = p->dst->name;
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

/* The file that a loop device lies on. */
static int
check_medium(const struct claims *c, const struct disk *loop,
    const struct stat *st, struct fault *f)
{
	struct usage use;

	if (usage_of_file(st->st_dev, st->st_ino, c->over, &use))
		return claim_in_use(f, c->name, "its file", &use);
	return claim_check_path(c, loop->backing, st, "its file", f);
}

/*
 * Whether another loop device lies on the medium, and where; an errno, ENXIO:
 * not on it.
 */
static int
lies_beside(const struct medium *m, const struct disk *other, uint64_t *start)
{
	struct disk below;
	struct stat st;
	int err = disk_backing(other->whole_name, other->backing, &st);

	*start = other->backing_off;
	if (err != 0 || S_ISBLK(st.st_mode) != (m->disk != 0))
		return err != 0 ? err : ENXIO;
	if (m->disk == 0)
		return same_file(&st, &m->st) ? 0 : ENXIO;
	disk_of_block(st.st_rdev, &below);
	*start += below.start;
	return below.err != 0 ? below.err : below.whole == m->disk ? 0 : ENXIO;
}

/*
 * What another loop device has of the same bytes is claimed, as a disk is.  One
 * that is just being detached has lost half of what sysfs says of it, and lies
 * on nothing.  Its name is not to lie on the stack with the other disk.
 */
__attribute__((noinline)) static int
claim_other(struct claims *c, const struct plan *p, const struct medium *m,
    const struct disk *other, struct fault *f)
{
	char name[PATH_MAX + 300];
	uint64_t start;
	int err = lies_beside(m, other, &start);

	if (err == ENXIO)
		return 0;
	if (err == 0)
		err = other->err;
	if (err != 0)
		return claim_unknown(c, p, other, err, f);
	if (m->from >= start + other->length || start >= m->to)
		return 0;
	snprintf(name, sizeof(name), "%s and %s lie on one %s", p->dst->name,
	    other->name, m->disk != 0 ? "disk" : "file");
	c->name = name;
	err = claim_disk(c, p, other, m->from > start ? m->from - start : 0,
	    m->to - start, f);
	c->name = p->dst->name;
	return err;
}

/*
 * All that lie beside the target's on one medium.  Whether there are any is no
 * matter, but what they are used for is.
 */
static int
claim_beside(struct claims *c, const struct plan *p, const struct medium *m,
    struct fault *f)
{
	unsigned over = c->over;
	struct disk other;
	dev_t *loop;
	size_t n, i;
	int err = disk_loops(&loop, &n), failed = 0;

	c->over = claim_passed_over(p);
	if (err != 0)
		failed = fault_set(f, STATUS_REFUSED, "%s: other loop devices "
		    "on its medium are not known: %s", c->name,
		    errno_words(err));
	for (i = 0; err == 0 && i < n && failed == 0; i++)
		if (loop[i] != m->loop && disk_of_block(loop[i], &other) &&
		    (other.backing[0] != '\0' || other.err != 0))
			failed = claim_other(c, p, m, &other, f);
	free(loop);
	c->over = over;
	return failed;
}

/*
 * A loop device does not claim the disk it lies on, and neither does a claim on
 * the loop device.  That there is one on it is known.
 */
int
claim_below(struct claims *c, const struct plan *p, const struct disk *d,
    uint64_t from, uint64_t to, struct fault *f)
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
		return claim_unknown(c, p, d, err, f);
	c->over |= USE_LOOPED;
	from += off;
	to = (to < d->length ? to : d->length) + off;
	m.from = from;
	m.to = to;
	if (!S_ISBLK(m.st.st_mode))
		return check_medium(c, d, &m.st, f) != 0 ? -1 :
		    claim_beside(c, p, &m, f);
	if (!disk_of_block(m.st.st_rdev, &below) || below.err != 0)
		return claim_unknown(c, p, &below, below.err, f);
	m.disk = below.whole;
	m.from += below.start;
	m.to += below.start;
	return claim_disk(c, p, &below, from, to, f) != 0 ||
	    claim_paths(c, p, &below, from, to, f) != 0 ||
	    claim_beside(c, p, &m, f) != 0 ||
	    claim_slaves(c, p, &below, from, to, 0, f) != 0 ? -1 :
	    claim_below(c, p, &below, from, to, f);
}

/*
 * What a dm or md device is made of is held by it, and by all that are made of
 * the same.  But others may lie on those bytes that no claim keeps off: loop
 * devices, and partitions that overlap.
 */
static int
check_slave(struct claims *c, const struct disk *d, uint64_t from, uint64_t to,
    struct fault *f)
{
	unsigned over = c->over;
	struct disk_part *part;
	int err, failed;
	size_t n, i;

	c->over |= USE_HELD;
	failed = claim_check_node(c, d->whole, d->whole_name, f);
	err = failed == 0 ? disk_parts(d->whole, &part, &n) : ENODEV;
	for (i = 0; err == 0 && i < n && failed == 0; i++)
		if (part[i].start < to && from < part[i].start +
		    part[i].length)
			failed = claim_check_node(c, part[i].node,
			    part[i].name, f);
	if (err == 0)
		free(part);
	c->over = over;
	return failed;
}

/* One of them, and below; from and to are bytes of it. */
static int
claim_slave(struct claims *c, const struct plan *p, dev_t node, uint64_t from,
    uint64_t to, int depth, struct fault *f)
{
	unsigned over = c->over;
	struct disk d;
	int failed;

	if (!disk_of_block(node, &d) || d.err != 0)
		return claim_unknown(c, p, &d, d.err, f);
	to = MIN(to, d.length);
	failed = check_slave(c, &d, d.start + from, d.start + to, f) != 0 ||
	    claim_below(c, p, &d, from, to, f) != 0 ||
	    claim_slaves(c, p, &d, from, to, depth + 1, f) != 0 ? -1 : 0;
	c->over = over;
	return failed;
}

/* By the table of a dm device; what part of a piece is in the range. */
static int
claim_pieces(struct claims *c, const struct plan *p,
    const struct dm_piece *piece, size_t n, uint64_t from, uint64_t to,
    int depth, struct fault *f)
{
	uint64_t first, last;
	size_t i;

	for (i = 0; i < n; i++) {
		first = MAX(from, piece[i].start);
		last = MIN(to, piece[i].start + piece[i].length);
		if (first < last && claim_slave(c, p, piece[i].node,
		    first - piece[i].start + piece[i].off,
		    last - piece[i].start + piece[i].off, depth, f) != 0)
			return -1;
	}
	return 0;
}

/* Where there is no such table, all of each. */
int
claim_slaves(struct claims *c, const struct plan *p, const struct disk *d,
    uint64_t from, uint64_t to, int depth, struct fault *f)
{
	struct dm_piece piece[SLAVES];
	dev_t slave[SLAVES];
	size_t n, pieces, i;
	int err = disk_slaves(d->whole, slave, SLAVES, &n);

	if (err != 0)
		return claim_unknown(c, p, d, err, f);
	if (n == 0 || depth == DEPTH)
		return 0;
	if (dm_pieces(d->whole, piece, SLAVES, &pieces) == 0)
		return claim_pieces(c, p, piece, pieces, d->start + from,
		    d->start + MIN(to, d->length), depth, f);
	for (i = 0; i < n; i++)
		if (claim_slave(c, p, slave[i], 0, UINT64_MAX, depth, f) != 0)
			return -1;
	return 0;
}
