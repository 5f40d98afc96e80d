/*
 * Claims.  O_EXCL on a block node is the kernel's own claim, the one that
 * mount, swapon, dm and md take: it sees them in other mount namespaces too,
 * and it keeps them away as long as it is held.  A claim on a partition leaves
 * its neighbours alone, a claim on the disk excludes all of them.
 *
 * It is blind for a loop device on top, and an sg node has a claim of its own.
 * So loop devices are looked up, and for an sg or bsg node the block node of
 * the same disk is claimed.
 *
 * What cannot be looked up, or not be claimed, is refused: a disk of which
 * nothing is known is not a free one.  A file is only a name for blocks that
 * its file system guards, so where there are no tables to look it up in, as in
 * a chroot, it is written.
 *
 * The lock keeps udev from probing the disk meanwhile, and desktops from
 * mounting what it finds (systemd.io/BLOCK_DEVICE_LOCKING).
 */
#include "plan/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/path.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "disk/dm.h"
#include "disk/usage.h"
#include "end/endpoint.h"
#include "end/reopen.h"

enum {
	GPT = 34,		/* blocks of its head; its tail has one less */
	LOCK_TRIES = 20,	/* of 100 ms: udev lets go within that */
	SLAVES = 256,		/* of a dm or md device, */
	DEPTH = 8,		/* on one another */
};

/* The uses that force= passes over. */
static unsigned
passed_over(const struct plan *p)
{
	unsigned force = p->opts->force;

	return ((force & FORCE_MOUNTED) != 0 ? USE_MOUNTED : 0) |
	    ((force & FORCE_SWAP) != 0 ? USE_SWAP : 0) |
	    ((force & FORCE_HELD) != 0 ? USE_HELD : 0) |
	    ((force & FORCE_LOOPED) != 0 ? USE_LOOPED : 0);
}

static int
in_use(struct fault *f, const char *name, const char *node,
    const struct usage *use)
{
	switch (use->kind) {
	case USE_MOUNTED:
		return fault_set(f, STATUS_REFUSED, "%s: %s is mounted on %s; "
		    "umount it first (force=mounted writes all the same)", name,
		    node, use->by);
	case USE_SWAP:
		return fault_set(f, STATUS_REFUSED, "%s: %s is swap space in "
		    "use; swapoff it first (force=swap writes all the same)",
		    name, node);
	case USE_LOOPED:
		return fault_set(f, STATUS_REFUSED, "%s: the loop device %s "
		    "lies on %s; losetup -d it first (force=looped writes all "
		    "the same)", name, use->by, node);
	case USE_HELD:
	case USE_NONE:
		break;
	}
	return fault_set(f, STATUS_REFUSED, "%s: %s is held by %s; end that "
	    "first (force=held writes all the same)", name, node, use->by);
}

/* Kinds of use as force= has them: "mounted,swap". */
static const char *
words(unsigned kinds, char *text, size_t room)
{
	static const struct { unsigned kind, force; } all[] = {
		{ USE_MOUNTED, FORCE_MOUNTED }, { USE_SWAP, FORCE_SWAP },
		{ USE_HELD, FORCE_HELD }, { USE_LOOPED, FORCE_LOOPED },
	};
	size_t i, n = 0;

	text[0] = '\0';
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if ((kinds & all[i].kind) != 0 && n < room)
			n += (size_t)snprintf(text + n, room - n, "%s%s",
			    n > 0 ? "," : "", opts_word("force",
			    all[i].force));
	return text;
}

/* Some kinds of use could not be looked up, as *use says. */
static int
not_known(struct fault *f, const char *name, const char *node,
    const struct usage *use)
{
	char text[64];

	return fault_set(f, STATUS_REFUSED, "%s: who uses %s is not known, for "
	    "%s cannot be read: %s (force=%s writes all the same)", name, node,
	    use->unread, errno_words(use->err), words(use->unknown, text,
	    sizeof(text)));
}

/* Whether somebody uses the node, or may use it, who is not passed over. */
static int
check_node(const struct claims *c, dev_t node, const char *kernel_name,
    struct fault *f)
{
	struct usage use;

	if (usage_of_node(node, c->over, &use))
		return in_use(f, c->name, kernel_name, &use);
	if (use.unknown != 0)
		return not_known(f, c->name, kernel_name, &use);
	return 0;
}

static bool
is_node(int fd, dev_t node)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) &&
	    st.st_rdev == node;
}

/*
 * Open a node by its usual name, or, if it is the target, by that of the
 * target.  Returns -1 and errno.
 */
static int
open_node(const struct plan *p, dev_t node, const char *kernel_name, int how)
{
	const struct endpoint *ep = p->dst;
	char path[300];
	int fd;

	how |= O_RDONLY | O_NONBLOCK | O_CLOEXEC;
	if (disk_path(node, kernel_name, path, sizeof(path)))
		return open(path, how);
	if (ep->id.ino != 0 || ep->id.dev != node || ep->id.node != node) {
		errno = ENOENT;
		return -1;
	}
	fd = ep->is.inherited ? reopen(ep->fd, NULL, how) :
	    open(ep->name, how);
	if (fd >= 0 && !is_node(fd, node)) {
		close(fd);
		fd = -1;
		errno = ESTALE;
	}
	return fd;
}

/*
 * Lock a node that is open.  udev has it now and then, for a moment.  Where
 * force= passes over that, who has it is not waited for.
 */
static int
lock(const struct claims *c, const struct plan *p, int fd, const char *name,
    struct fault *f)
{
	static const struct timespec tick = { 0, 100000000 };
	int try, err = EWOULDBLOCK;

	for (try = 0; try < LOCK_TRIES && err == EWOULDBLOCK; try++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 ||
		    (p->opts->force & FORCE_HELD) != 0)
			return 0;
		err = errno;
		nanosleep(&tick, NULL);
	}
	if (err == EWOULDBLOCK)
		return fault_set(f, STATUS_REFUSED, "%s: %s is locked (flock) "
		    "by another program; end that first (force=held writes all "
		    "the same)", c->name, name);
	return fault_set(f, STATUS_REFUSED, "%s: %s cannot be locked (flock): "
	    "%s (force=held writes all the same)", c->name, name,
	    errno_words(err));
}

/* Nobody has a part of it locked, see usage_of_locks. */
static int
check_ranges(const struct claims *c, int fd, const char *name, struct fault *f)
{
	struct usage use;

	if ((c->over & USE_HELD) == 0 && usage_of_locks(fd, &use))
		return in_use(f, c->name, name, &use);
	return 0;
}

/* And so locked. */
static bool
claimed(const struct claims *c, dev_t node)
{
	size_t i;

	for (; c != NULL; c = c->others)
		for (i = 0; i < c->n; i++)
			if (c->node[i] == node)
				return true;
	return false;
}

/* One of the targets before is on this disk, too. */
static bool
locked(const struct claims *c, dev_t node)
{
	for (; c != NULL; c = c->others)
		if (c->lock >= 0 && c->locked == node)
			return true;
	return false;
}

/*
 * Claim one node.  Where what uses it is passed over the claim may fail; a loop
 * device on top is no reason for that.
 */
static int
claim_node(struct claims *c, const struct plan *p, dev_t node,
    const char *kernel_name, struct fault *f)
{
	struct usage use;
	int fd;

	if (claimed(c, node))
		return 0;
	if (check_node(c, node, kernel_name, f) != 0)
		return -1;
	if (c->n == CLAIMS_MOST)
		return fault_set(f, STATUS_REFUSED, "%s: more than %d "
		    "partitions to claim", c->name, CLAIMS_MOST);
	fd = open_node(p, node, kernel_name, O_EXCL);
	if (fd >= 0) {
		c->node[c->n] = node;
		c->fd[c->n++] = fd;
		return check_ranges(c, fd, kernel_name, f) != 0 ? -1 :
		    lock(c, p, fd, kernel_name, f);
	}
	if ((p->opts->force & FORCE_HELD) != 0)
		return 0;
	if (errno != EBUSY)
		return fault_set(f, STATUS_REFUSED, "%s: %s cannot be claimed "
		    "with O_EXCL: %s (force=held writes all the same)", c->name,
		    kernel_name, errno_words(errno));
	if (usage_of_node(node, USE_LOOPED, &use))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: %s is in use (by another "
	    "program, or mounted elsewhere); end that first (force=held "
	    "writes all the same)", c->name, kernel_name);
}

/* Of a partition, itself at any rate. */
static int
claim_parts(struct claims *c, const struct plan *p, const struct disk *d,
    const struct disk_part *part, size_t n, uint64_t from, uint64_t to,
    struct fault *f)
{
	size_t i;

	if (d->partition != 0 && claim_node(c, p, d->node, d->name, f) != 0)
		return -1;
	for (i = 0; i < n; i++)
		if (part[i].start < to && from < part[i].start +
		    part[i].length && (d->partition == 0 ||
		    part[i].node != d->node) &&
		    claim_node(c, p, part[i].node, part[i].name, f) != 0)
			return -1;
	return 0;
}

/* Nobody else has a partition locked.  It is not kept open: it may go. */
static int
check_lock(const struct claims *c, const struct plan *p,
    const struct disk_part *part, struct fault *f)
{
	int fd = open_node(p, part->node, part->name, 0), failed;

	if (fd < 0)			/* nor can anybody lock it here */
		return 0;
	failed = check_ranges(c, fd, part->name, f) != 0 ? -1 :
	    lock(c, p, fd, part->name, f);
	close(fd);
	return failed;
}

/*
 * A node of bytes that are claimed by another one: what was written by it may
 * still lie in its page cache.
 */
static void
keep_node(struct claims *c, const struct plan *p, const struct disk_part *part)
{
	int fd = c->n < CLAIMS_MOST ? open_node(p, part->node, part->name, 0) :
	    -1;

	if (fd < 0)
		return;
	c->node[c->n] = 0;
	c->fd[c->n++] = fd;
}

/*
 * Name who uses one of the partitions, for a claim of the whole disk.  That
 * fails where one is used and passed over; then the others are claimed.
 */
static int
claim_whole(struct claims *c, const struct plan *p, const struct disk *d,
    const struct disk_part *part, size_t n, struct fault *f)
{
	struct usage use;
	bool forced = false;
	size_t i;

	for (i = 0; i < n; i++) {
		if (check_node(c, part[i].node, part[i].name, f) != 0 ||
		    check_lock(c, p, &part[i], f) != 0)
			return -1;
		forced = forced ||
		    usage_of_node(part[i].node, USE_LOOPED, &use);
	}
	if (forced)
		return claim_parts(c, p, d, part, n, 0, UINT64_MAX, f);
	if (claim_node(c, p, d->whole, d->whole_name, f) != 0)
		return -1;
	for (i = 0; i < n; i++)
		keep_node(c, p, &part[i]);
	return 0;
}

/* Bytes of an extended partition as the kernel shows it: its first record. */
static bool
is_extended(const struct disk_part *part, uint32_t logical)
{
	return part->number <= 4 && part->length <= MAX(1024, logical);
}

/*
 * Whether the range may touch an extended boot record.  There is one before
 * each logical partition (5 and up), anywhere behind the one before.
 */
static bool
touches_records(const struct disk *d, const struct disk_part *part, size_t n,
    uint64_t from, uint64_t to)
{
	uint64_t at = UINT64_MAX;
	size_t i;

	for (i = 0; i < n; i++) {
		if (is_extended(&part[i], d->logical)) {
			at = part[i].start;
			if (from < at + part[i].length && to > at)
				return true;
		} else if (part[i].number > 4 && at != UINT64_MAX) {
			if (from < part[i].start && to > at)
				return true;
			at = MAX(at, part[i].start + part[i].length);
		}
	}
	return false;
}

/* Whether the range of a partition lies on the tables: one may begin at 0. */
static bool
part_touches_tables(const struct disk *d, const struct disk_part *part,
    size_t n, uint64_t from, uint64_t to)
{
	return from < d->logical || touches_records(d, part, n, from, to);
}

/* Whether the range lies so that the disk as a whole is being changed. */
static bool
touches_tables(const struct disk *d, const struct disk_part *part, size_t n,
    uint64_t from, uint64_t to)
{
	uint64_t head = (uint64_t)GPT * d->logical;

	if (d->partition != 0)
		return part_touches_tables(d, part, n, from, to);
	return n == 0 || from < head || to > d->length ||
	    to + head - d->logical > d->length ||
	    touches_records(d, part, n, from, to);
}

/*
 * A disk of which sysfs does not tell what it is part of, or what its parts
 * are, and so not who uses those.
 */
static int
claim_unknown(struct claims *c, const struct plan *p, const struct disk *d,
    int err, struct fault *f)
{
	const char *name = d->name[0] != '\0' ? d->name : c->name;
	dev_t node = d->node != 0 ? d->node : p->dst->id.node;
	struct usage use;

	if (usage_of_node(d->node, c->over, &use))
		return in_use(f, c->name, name, &use);
	use.unknown = (USE_MOUNTED | USE_SWAP | USE_LOOPED) & ~c->over;
	use.err = err;
	snprintf(use.unread, sizeof(use.unread), "/sys/dev/%s/%u:%u",
	    d->node != 0 ? "block" : "char", major(node), minor(node));
	if (use.unknown != 0)
		return not_known(f, c->name, name, &use);
	return claim_node(c, p, d->node, name, f);
}

/*
 * Claim a disk, or partition, of which the bytes between from and to are
 * written.  Partitions may overlap: what shares the bytes is claimed, too.
 */
static int
claim_disk(struct claims *c, const struct plan *p, const struct disk *d,
    uint64_t from, uint64_t to, struct fault *f)
{
	struct disk_part *part;
	int err, failed;
	size_t n;

	/* What uses the disk as a whole uses every part of it. */
	if (check_node(c, d->whole, d->whole_name, f) != 0)
		return -1;
	err = disk_parts(d->whole, &part, &n);
	if (err != 0)
		return claim_unknown(c, p, d, err, f);
	if (d->partition != 0) {
		from += d->start;
		to = MIN(to, d->length) + d->start;
	}
	failed = touches_tables(d, part, n, from, to) ?
	    claim_whole(c, p, d, part, n, f) :
	    claim_parts(c, p, d, part, n, from, to, f);
	free(part);
	return failed;
}

/*
 * The disk by its other paths: a claim by one of them is no claim on the
 * others.
 */
static int
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
		if (!disk_of_block(node[i], &other) || other.err != 0)
			continue;
		snprintf(name, sizeof(name), "%s and %s are one disk",
		    c->name, other.name);
		c->name = name;
		failed = claim_disk(c, p, &other, from, to, f);
		c->name = p->dst->name;
	}
	free(node);
	return failed;
}

/* Locks are the file's, whoever asks, so another descriptor will do. */
static int
check_file_ranges(const struct claims *c, const char *path, const char *what,
    struct fault *f)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct usage use = { .unknown = USE_HELD & ~c->over, .unread = "it" };
	int failed;

	if (fd < 0) {
		use.err = errno;
		return use.unknown != 0 && (errno == EMFILE || errno ==
		    ENFILE) ? not_known(f, c->name, what, &use) : 0;
	}
	failed = check_ranges(c, fd, what, f);
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
		return in_use(f, c->name, "its file", &use);
	return check_file_ranges(c, loop->backing, "its file", f);
}

struct medium {			/* what the target's loop device lies on */
	struct stat	 st;	/* a file, or */
	dev_t		 disk;	/* a whole disk, else 0 */
	dev_t		 loop;	/* the device */
	uint64_t	 from, to;	/* bytes of it that are written */
};

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
 * What another loop device has of the same bytes is claimed, as a disk is.  Its
 * name is not to lie on the stack with the other disk.
 */
__attribute__((noinline)) static int
claim_other(struct claims *c, const struct plan *p, const struct medium *m,
    const struct disk *other, struct fault *f)
{
	char name[PATH_MAX + 300];
	uint64_t start;
	int err = other->err;

	if (err == 0)
		err = lies_beside(m, other, &start);
	if (err == ENXIO)
		return 0;
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

	c->over = passed_over(p);
	if (err != 0)
		failed = fault_set(f, STATUS_REFUSED, "%s: other loop devices "
		    "on its medium are not known: %s", c->name,
		    errno_words(err));
	for (i = 0; err == 0 && i < n && failed == 0; i++)
		if (loop[i] != m->loop && disk_of_block(loop[i], &other) &&
		    other.backing[0] != '\0')
			failed = claim_other(c, p, m, &other, f);
	free(loop);
	c->over = over;
	return failed;
}

static int claim_slaves(struct claims *, const struct plan *,
    const struct disk *, uint64_t from, uint64_t to, int depth,
    struct fault *f);

/*
 * A loop device does not claim the disk it lies on, and neither does a claim on
 * the loop device.  That there is one on it is known.
 */
static int
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
	failed = check_node(c, d->whole, d->whole_name, f);
	err = failed == 0 ? disk_parts(d->whole, &part, &n) : ENODEV;
	for (i = 0; err == 0 && i < n && failed == 0; i++)
		if (part[i].start < to && from < part[i].start +
		    part[i].length)
			failed = check_node(c, part[i].node, part[i].name, f);
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
static int
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

/* The disk as a whole, whatever of it is claimed: udev locks no less. */
static int
lock_disk(struct claims *c, const struct plan *p, dev_t node, const char *name,
    struct fault *f)
{
	if (claimed(c, node) || locked(c->others, node))
		return 0;
	c->locked = node;
	c->lock = open_node(p, node, name, 0);
	if (c->lock >= 0)
		return check_ranges(c, c->lock, name, f) != 0 ? -1 :
		    lock(c, p, c->lock, name, f);
	/* A partition may be here without its disk, as in a container. */
	if (errno == ENOENT || (p->opts->force & FORCE_HELD) != 0)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: %s cannot be locked (flock): "
	    "%s (force=held writes all the same)", p->dst->name, name,
	    errno_words(errno));
}

static int
claim_file(const struct claims *c, const struct plan *p, struct fault *f)
{
	struct usage use;

	if (p->dst->is.absent || !p->dst->id.known)
		return 0;
	if (usage_of_file(p->dst->id.dev, p->dst->id.ino, c->over, &use))
		return in_use(f, p->dst->name, "the file", &use);
	if (use.err == EMFILE || use.err == ENFILE || use.err == ENOMEM)
		return not_known(f, p->dst->name, "the file", &use);
	return p->dst->is.inherited ? check_ranges(c, p->dst->fd,
	    "the file", f) :
	    check_file_ranges(c, p->dst->name, "the file", f);
}

/* Apart from claims_take, for the room that a description takes. */
static int
claim_device(struct claims *c, const struct plan *p, struct fault *f)
{
	uint64_t from = p->dst_off, to = p->bounded ? from +
	    round_up(p->length, p->pad) : p->dst->lim.end;
	struct disk d;

	if (p->dst->is.remote)		/* the kernel may have it, too */
		return endpoint_disk(p->dst, &d) ?
		    claim_paths(c, p, &d, from, to, f) : 0;
	if (!p->dst->id.known)
		return 0;		/* no disk */
	if (!endpoint_disk(p->dst, &d) || d.err != 0)
		return claim_unknown(c, p, &d, d.err, f) != 0 ? -1 :
		    lock_disk(c, p, d.node, p->dst->name, f);
	if (d.node == 0)
		return 0;
	return claim_disk(c, p, &d, from, to, f) != 0 ||
	    claim_below(c, p, &d, from, to, f) != 0 ||
	    claim_paths(c, p, &d, from, to, f) != 0 ||
	    claim_slaves(c, p, &d, from, to, 0, f) != 0 ? -1 :
	    lock_disk(c, p, d.whole, d.whole_name, f);
}

int
claims_take(struct claims *c, const struct claims *others,
    const struct plan *p, struct fault *f)
{
	int failed;

	c->others = others;
	c->n = 0;
	c->lock = -1;
	c->over = passed_over(p);
	c->name = p->dst->name;
	if (p->work == WORK_COMPARE || (p->length == 0 && p->truncate < 0))
		return 0;
	failed = p->dst->is.device ? claim_device(c, p, f) :
	    claim_file(c, p, f);
	if (failed != 0)
		claims_release(c);
	return failed;
}

void
claims_settle(const struct claims *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		disk_settle(c->fd[i]);
	if (c->lock >= 0)
		disk_settle(c->lock);
}

void
claims_forget(const struct claims *c)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		posix_fadvise(c->fd[i], 0, 0, POSIX_FADV_DONTNEED);
	if (c->lock >= 0)
		posix_fadvise(c->lock, 0, 0, POSIX_FADV_DONTNEED);
}

void
claims_release(struct claims *c)
{
	while (c->n > 0)
		close(c->fd[--c->n]);
	if (c->lock >= 0)
		close(c->lock);
	c->lock = -1;
}
