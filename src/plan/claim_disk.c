/*
 * The claims of a disk: of its nodes, and of those of what it consists of.
 *
 * The lock keeps udev from probing the disk meanwhile, and desktops from
 * mounting what is found (systemd.io/BLOCK_DEVICE_LOCKING).
 */
#include "claim_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/opts.h"
#include "disk/mbr.h"
#include "disk/sysfs.h"
#include "end/backend.h"
#include "end/endpoint.h"

/* --- a node -------------------------------------------------------------- */

enum { LOCK_TRIES = 20 };	/* of 100 ms; udev is done by then */

/* Refuse because "node" is in use as *use says.  Returns -1. */
static int
claim_in_use(const char *name, const char *node, const struct usage *use,
    struct fault *f)
{
	switch (use->kind) {
	case USE_MOUNTED:
		return opts_refuse(f, FORCE_MOUNTED, "%s: %s is mounted on "
		    "%s; umount it first", name, node, use->by);
	case USE_SWAP:
		return opts_refuse(f, FORCE_SWAP, "%s: %s is swap space in "
		    "use; swapoff it first", name, node);
	case USE_LOOPED:
		return opts_refuse(f, FORCE_LOOPED, "%s: the loop device %s "
		    "lies on %s; losetup -d it first", name, use->by, node);
	case USE_HELD:
	case USE_NONE:
		break;
	}
	return opts_refuse(f, FORCE_HELD, "%s: %s is held by %s; end that "
	    "first", name, node, use->by);
}

/* The same because it could not be looked up who uses it. */
static int
claim_not_known(const char *name, const char *node, const struct usage *use,
    struct fault *f)
{
	unsigned kinds = use->unknown;

	return opts_refuse(f, ((kinds & USE_MOUNTED) != 0 ? FORCE_MOUNTED :
	    0) | ((kinds & USE_SWAP) != 0 ? FORCE_SWAP : 0) |
	    ((kinds & USE_HELD) != 0 ? FORCE_HELD : 0) |
	    ((kinds & USE_LOOPED) != 0 ? FORCE_LOOPED : 0),
	    "%s: who uses %s is not known, because %s cannot be read: %s",
	    name, node, use->unread, errno_words(use->err));
}

int
claim_judge(const struct claims *c, const char *node, bool used,
    const struct usage *use, struct fault *f)
{
	return used ? claim_in_use(c->name, node, use, f) :
	    use->unknown != 0 ? claim_not_known(c->name, node, use, f) : 0;
}

/* Refuse if the node is in use, or may be, in a way that is not allowed. */
static int
claim_check_node(const struct claims *c, dev_t node, const char *kernel_name,
    struct fault *f)
{
	struct usage use;

	return claim_judge(c, kernel_name, usage_of_node(node, c->over, &use),
	    &use, f);
}

static bool
fd_is_node(int fd, dev_t node)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) &&
	    st.st_rdev == node;
}

/*
 * Open a node by its usual name, or the target by the name it was given; "how"
 * has flags besides O_RDONLY.  Returns -1 with errno.
 */
static int
claim_open_node(const struct claims *c, dev_t node, const char *kernel_name,
    int how)
{
	const struct endpoint *ep = c->plan->dst;
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
	if (fd >= 0 && !fd_is_node(fd, node)) {
		close(fd);
		fd = -1;
		errno = ESTALE;
	}
	return fd;
}

/*
 * Lock an open node. udev holds the lock now and then, for a moment.  With
 * force= no other holder is waited for.
 */
static int
claim_lock_node(const struct claims *c, int fd, const char *name,
    struct fault *f)
{
	static const struct timespec tick = { 0, 100000000 };
	int try, err = EWOULDBLOCK;

	for (try = 0; try < LOCK_TRIES && err == EWOULDBLOCK; try++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 ||
		    (c->plan->opts->force & FORCE_HELD) != 0)
			return 0;
		err = errno;
		nanosleep(&tick, NULL);
	}
	if (err == EWOULDBLOCK)
		return opts_refuse(f, FORCE_HELD, "%s: %s is locked (flock) "
		    "by another program; end that first", c->name, name);
	return opts_refuse(f, FORCE_HELD, "%s: %s cannot be locked (flock): "
	    "%s", c->name, name, errno_words(err));
}

int
claim_check_ranges(const struct claims *c, int fd, const char *name,
    struct fault *f)
{
	struct usage use;

	if ((c->over & USE_HELD) != 0 || c->server_locks)
		return 0;
	return claim_judge(c, name, usage_of_locks(fd, &use), &use, f);
}

/* Whether a node is claimed, by us or for an earlier target. */
static bool
claim_held(const struct claims *c, dev_t node)
{
	size_t i;

	for (; c != NULL; c = c->others)
		for (i = 0; i < c->n; i++)
			if (c->node[i] == node)
				return true;
	return false;
}

/* Whether an earlier target has locked this disk already. */
static bool
claim_locked(const struct claims *c, dev_t node)
{
	for (; c != NULL; c = c->others)
		if (c->lock >= 0 && c->locked == node)
			return true;
	return false;
}

/* Claim and lock a node, unless it is held already. */
static int
claim_node(struct claims *c, dev_t node, const char *kernel_name,
    struct fault *f)
{
	struct usage use;
	int fd;

	if (claim_held(c, node))
		return 0;
	if (claim_check_node(c, node, kernel_name, f) != 0)
		return -1;
	if (c->n == CLAIMS_MOST)
		return fault_set(f, STATUS_REFUSED, "%s: more than %d "
		    "partitions and files to claim", c->name, CLAIMS_MOST);
	fd = claim_open_node(c, node, kernel_name, O_EXCL);
	if (fd >= 0) {
		c->node[c->n] = node;
		c->fd[c->n++] = fd;
		return claim_check_ranges(c, fd, kernel_name, f) != 0 ? -1 :
		    claim_lock_node(c, fd, kernel_name, f);
	}
	if ((c->plan->opts->force & FORCE_HELD) != 0)
		return 0;
	if (errno != EBUSY)
		return opts_refuse(f, FORCE_HELD, "%s: %s cannot be claimed "
		    "with O_EXCL: %s", c->name, kernel_name,
		    errno_words(errno));
	if (usage_of_node(node, USE_LOOPED, &use))
		return 0;
	return opts_refuse(f, FORCE_HELD, "%s: %s is in use (by another "
	    "program, or mounted elsewhere); end that first", c->name,
	    kernel_name);
}

/*
 * Check that nobody else has locked a partition.  It is not kept open, because
 * it may be removed.
 */
static int
claim_check_lock(const struct claims *c, const struct disk_part *part,
    struct fault *f)
{
	int fd = claim_open_node(c, part->node, part->name, 0), failed;

	if (fd < 0)			/* then nobody else here can lock it */
		return 0;
	failed = claim_check_ranges(c, fd, part->name, f) != 0 ? -1 :
	    claim_lock_node(c, fd, part->name, f);
	close(fd);
	return failed;
}

/*
 * Keep a node open whose bytes are claimed through another one: its page cache
 * may hold data to be written back.
 */
static void
claim_keep_node(struct claims *c, const struct disk_part *part)
{
	int fd = c->n < CLAIMS_MOST ?
	    claim_open_node(c, part->node, part->name, 0) : -1;

	if (fd < 0)
		return;
	c->node[c->n] = 0;
	c->fd[c->n++] = fd;
}

int
claim_lock(struct claims *c, dev_t node, const char *name, struct fault *f)
{
	if (claim_held(c, node) || claim_locked(c->others, node))
		return 0;
	c->locked = node;
	c->lock = claim_open_node(c, node, name, 0);
	if (c->lock >= 0)
		return claim_check_ranges(c, c->lock, name, f) != 0 ? -1 :
		    claim_lock_node(c, c->lock, name, f);
	/* in a container a partition may exist without its disk */
	if (errno == ENOENT || (c->plan->opts->force & FORCE_HELD) != 0)
		return 0;
	return opts_refuse(f, FORCE_HELD, "%s: %s cannot be locked (flock): "
	    "%s", c->plan->dst->name, name, errno_words(errno));
}

/* --- the disk ------------------------------------------------------------ */

enum { GPT = 34 };		/* blocks at the start; one less at the end */

/* Claim the partitions in the range; of a partition, at least itself. */
static int
claim_parts(struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct range r, struct fault *f)
{
	size_t i;

	if (d->partition != 0 && claim_node(c, d->node, d->name, f) != 0)
		return -1;
	for (i = 0; i < n; i++)
		if (part[i].start < r.to && r.from < part[i].start +
		    part[i].length && (d->partition == 0 ||
		    part[i].node != d->node) &&
		    claim_node(c, part[i].node, part[i].name, f) != 0)
			return -1;
	return 0;
}

/*
 * Claim the whole disk, and name the user of a partition in a refusal.  The
 * claim fails if such a use is allowed by force=; then claim the other
 * partitions.
 */
static int
claim_whole(struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct fault *f)
{
	struct usage use;
	bool forced = false;
	size_t i;

	for (i = 0; i < n; i++) {
		if (claim_check_node(c, part[i].node, part[i].name, f) != 0 ||
		    claim_check_lock(c, &part[i], f) != 0)
			return -1;
		forced = forced ||
		    usage_of_node(part[i].node, USE_LOOPED, &use);
	}
	if (forced)
		return claim_parts(c, d, part, n,
		    (struct range){ 0, UINT64_MAX }, f);
	if (claim_node(c, d->whole, d->whole_name, f) != 0)
		return -1;
	for (i = 0; i < n; i++)
		claim_keep_node(c, &part[i]);
	return 0;
}

/* The kernel shows an extended partition as its first record only. */
static bool
is_extended(const struct disk_part *part, uint32_t logical)
{
	return part->number <= 4 && part->length <= MAX(1024, logical);
}

struct records {		/* extended boot records that are followed */
	const struct disk_part *part;	/* of the kernel, */
	size_t		 n;
	int		 number;	/* and the next one to be described */
};

/* Count the partitions that a record describes, if the kernel has them too. */
static bool
records_match(struct records *e, const unsigned char *record, uint64_t at,
    uint32_t sector)
{
	size_t i, k;

	for (i = 0; i < 4; i++) {
		const unsigned char *entry = mbr_entry(record, i);

		if (mbr_length(entry) == 0 || mbr_extended(entry))
			continue;
		for (k = 0; k < e->n && (e->part[k].number != e->number ||
		    e->part[k].start != at + (uint64_t)mbr_start(entry) *
		    sector); k++)
			continue;
		if (k == e->n)
			return false;
		e->number++;
	}
	return true;
}

/*
 * Whether the records from "first" on are all known, and the range touches
 * none.
 */
static bool
records_spared(struct records *e, int disk, const struct disk *d,
    uint64_t first, struct range r)
{
	unsigned char record[MBR_SIZE];
	const unsigned char *link;
	uint64_t at = first;
	unsigned n;

	for (n = 0; n < MBR_LINKS_MOST; n++) {
		if (pread(disk, record, MBR_SIZE, (off_t)at) != MBR_SIZE ||
		    !mbr_is(record) || (r.from < at + d->logical &&
		    at < r.to) || !records_match(e, record, at, d->logical))
			return false;
		link = mbr_link(record);
		if (link == NULL)
			return true;
		at = first + (uint64_t)mbr_start(link) * d->logical;
	}
	return false;
}

/*
 * Whether the range touches none of the extended boot records on the disk, and
 * these describe all logical partitions (5 and up) that the kernel has.
 */
static bool
records_known(const struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct range r)
{
	struct records e = { part, n, 5 };
	int disk = claim_open_node(c, d->whole, d->whole_name, 0);
	bool spared = disk >= 0;
	size_t i, logical = 0;

	for (i = 0; i < n && spared; i++)
		if (is_extended(&part[i], d->logical))
			spared = records_spared(&e, disk, d, part[i].start, r);
		else
			logical += part[i].number > 4;
	if (disk >= 0)
		close(disk);
	return spared && (size_t)(e.number - 5) == logical;
}

/*
 * Whether the range may touch an extended boot record, by what the kernel
 * knows: there is one before each logical partition, anywhere after the
 * previous partition.
 */
static bool
nears_records(const struct disk *d, const struct disk_part *part, size_t n,
    struct range r)
{
	uint64_t at = UINT64_MAX;
	size_t i;

	for (i = 0; i < n; i++) {
		if (is_extended(&part[i], d->logical)) {
			at = part[i].start;
			if (r.from < at + part[i].length && r.to > at)
				return true;
		} else if (part[i].number > 4 && at != UINT64_MAX) {
			if (r.from < part[i].start && r.to > at)
				return true;
			at = MAX(at, part[i].start + part[i].length);
		}
	}
	return false;
}

static bool
touches_records(const struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct range r)
{
	return nears_records(d, part, n, r) &&
	    !records_known(c, d, part, n, r);
}

/* Whether the range covers anything that belongs to the disk as a whole. */
static bool
touches_tables(const struct claims *c, const struct disk *d,
    const struct disk_part *part, size_t n, struct range r)
{
	uint64_t head = (uint64_t)GPT * d->logical;

	/* a partition may begin at 0 */
	if (d->partition != 0 ? r.from < d->logical : n == 0 ||
	    r.from < head || r.to > d->length ||
	    r.to + head - d->logical > d->length)
		return true;
	return touches_records(c, d, part, n, r);
}

int
claim_unknown(struct claims *c, const struct disk *d, int err,
    struct fault *f)
{
	const char *name = d->name[0] != '\0' ? d->name : c->name;
	dev_t node = d->node != 0 ? d->node : c->plan->dst->id.node;
	struct usage use;

	if (usage_of_node(d->node, c->over, &use))
		return claim_judge(c, name, true, &use, f);
	use.unknown = (USE_MOUNTED | USE_SWAP | USE_LOOPED) & ~c->over;
	use.err = err;
	snprintf(use.unread, sizeof(use.unread), "/sys/dev/%s/%u:%u",
	    d->node != 0 ? "block" : "char", major(node), minor(node));
	if (use.unknown != 0)
		return claim_judge(c, name, false, &use, f);
	return claim_node(c, d->node, name, f);
}

int
claim_disk(struct claims *c, const struct disk *d, struct range r,
    struct fault *f)
{
	struct disk_part *part;
	int err, failed;
	size_t n;

	/* What uses the whole disk uses all parts of it. */
	if (claim_check_node(c, d->whole, d->whole_name, f) != 0)
		return -1;
	err = disk_parts(d->whole, &part, &n);
	if (err != 0)
		return claim_unknown(c, d, err, f);
	if (d->partition != 0) {
		r.from += d->start;
		r.to = MIN(r.to, d->length) + d->start;
	}
	failed = touches_tables(c, d, part, n, r) ?
	    claim_whole(c, d, part, n, f) :
	    claim_parts(c, d, part, n, r, f);
	free(part);
	return failed;
}

/* Claim another dm device on the same bytes of a member. */
static int
claim_holder(const struct disk *other, uint64_t start, int err, void *arg)
{
	const struct beside *b = arg;
	struct disk d;

	(void)start;
	if (err == 0)
		return claim_node(b->c, other->node, other->name, b->f);
	if (other == NULL)
		disk_of_block(b->place->dev, &d);
	return claim_unknown(b->c, other == NULL ? &d : other, err, b->f);
}

int
claim_member(struct claims *c, const struct stack *s, size_t i,
    struct fault *f)
{
	const struct stack_place *p = &s->at[i];
	struct beside b = { c, p, f };
	struct disk_part *part;
	struct disk d;
	int err, failed;
	size_t n, k;

	if (!disk_of_block(p->dev, &d) || d.err != 0)
		return claim_unknown(c, &d, d.err, f);
	if (stack_holders(p, s->at[p->above].dev, claim_holder, &b) != 0)
		return -1;
	c->over |= USE_HELD;
	failed = claim_check_node(c, d.whole, d.whole_name, f);
	err = disk_parts(d.whole, &part, &n);
	if (failed == 0 && err != 0)
		failed = claim_unknown(c, &d, err, f);
	for (k = 0; k < n && failed == 0; k++)
		if (part[k].start < p->to + d.start && p->from + d.start <
		    part[k].start + part[k].length)
			failed = claim_check_node(c, part[k].node,
			    part[k].name, f);
	free(part);
	return failed;
}
