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
 * The lock keeps udev from probing the disk meanwhile, and desktops from
 * mounting what it finds (systemd.io/BLOCK_DEVICE_LOCKING).
 */
#include "claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "disk.h"
#include "endpoint.h"
#include "number.h"
#include "opts.h"
#include "status.h"
#include "use.h"

enum {
	GPT = 34,		/* blocks of its head; its tail has one less */
	LOCK_TRIES = 20,	/* of 100 ms: udev lets go within that */
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
    const struct use *use)
{
	switch (use->kind) {
	case USE_MOUNTED:
		return fault_set(f, STATUS_REFUSED, "%s: %s is mounted on %s; "
		    "force=mounted overrides", name, node, use->by);
	case USE_SWAP:
		return fault_set(f, STATUS_REFUSED, "%s: %s is swap space in "
		    "use; force=swap overrides", name, node);
	case USE_LOOPED:
		return fault_set(f, STATUS_REFUSED, "%s: the loop device %s "
		    "lies on %s; force=looped overrides", name, use->by, node);
	case USE_HELD:
	case USE_NONE:
		break;
	}
	return fault_set(f, STATUS_REFUSED, "%s: %s is held by %s; force=held "
	    "overrides", name, node, use->by);
}

/*
 * Claim one node.  Where what uses it is passed over the claim may fail; a loop
 * device on top is no reason for that.
 */
static int
claim_node(struct claims *c, const struct plan *p, dev_t node,
    const char *kernel_name, struct fault *f)
{
	struct use use;
	char path[300];
	int fd;

	if (use_of_node(node, passed_over(p), &use))
		return in_use(f, p->dst->name, kernel_name, &use);
	if (c->n == CLAIMS_MOST)
		return fault_set(f, STATUS_REFUSED, "%s: more than %d "
		    "partitions to claim", p->dst->name, CLAIMS_MOST);
	if (!disk_path(node, kernel_name, path, sizeof(path)))
		return 0;		/* no node, and nobody can mount it */
	fd = open(path, O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		c->fd[c->n++] = fd;
		return 0;
	}
	if (errno != EBUSY || (p->opts->force & FORCE_HELD) != 0 ||
	    use_of_node(node, USE_LOOPED, &use))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: %s is in use (by another "
	    "program, or mounted elsewhere); force=held overrides",
	    p->dst->name, kernel_name);
}

static int
claim_parts(struct claims *c, const struct plan *p,
    const struct disk_part *part, size_t n, uint64_t from, uint64_t to,
    struct fault *f)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (part[i].start < to && from < part[i].start +
		    part[i].length && claim_node(c, p, part[i].node,
		    part[i].name, f) != 0)
			return -1;
	return 0;
}

/*
 * Name who uses one of the partitions, for a claim of the whole disk.  That
 * fails where one is used and passed over; then the others are claimed.
 */
static int
claim_whole(struct claims *c, const struct plan *p, const struct disk *d,
    const struct disk_part *part, size_t n, struct fault *f)
{
	struct use use;
	bool forced = false;
	size_t i;

	for (i = 0; i < n; i++) {
		if (use_of_node(part[i].node, passed_over(p), &use))
			return in_use(f, p->dst->name, part[i].name, &use);
		forced = forced || use_of_node(part[i].node, USE_LOOPED, &use);
	}
	return forced ? claim_parts(c, p, part, n, 0, UINT64_MAX, f) :
	    claim_node(c, p, d->whole, d->whole_name, f);
}

/* Whether the range lies so that the disk as a whole is being changed. */
static bool
touches_tables(const struct disk *d, uint64_t from, uint64_t to)
{
	uint64_t head = (uint64_t)GPT * d->logical;

	return from < head || to > d->length || to + head - d->logical >
	    d->length;
}

static int
claim_disk(struct claims *c, const struct plan *p, const struct disk *d,
    struct fault *f)
{
	uint64_t from = p->dst_off, to = p->bounded ? from +
	    round_up(p->length, p->pad) : p->dst->end;
	struct disk_part *part;
	struct use use;
	size_t n;
	int failed;

	/* What uses the disk as a whole uses every part of it. */
	if (use_of_node(d->whole, passed_over(p), &use))
		return in_use(f, p->dst->name, d->whole_name, &use);
	if (d->partition != 0)
		return claim_node(c, p, d->node, d->name, f);
	n = disk_parts(d->whole, &part);
	failed = n == 0 || touches_tables(d, from, to) ?
	    claim_whole(c, p, d, part, n, f) :
	    claim_parts(c, p, part, n, from, to, f);
	free(part);
	return failed;
}

/* udev has it now and then, for a moment. */
static int
lock_disk(struct claims *c, const struct plan *p, const struct disk *d,
    struct fault *f)
{
	static const struct timespec tick = { 0, 100000000 };
	char path[300];
	int try;

	if (!disk_path(d->whole, d->whole_name, path, sizeof(path)))
		return 0;
	c->lock = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	for (try = 0; c->lock >= 0 && try < LOCK_TRIES; try++) {
		if (flock(c->lock, LOCK_EX | LOCK_NB) == 0 ||
		    errno != EWOULDBLOCK ||
		    (p->opts->force & FORCE_HELD) != 0)
			return 0;
		nanosleep(&tick, NULL);
	}
	return c->lock < 0 ? 0 : fault_set(f, STATUS_REFUSED, "%s: %s is "
	    "locked (flock) by another program; force=held overrides",
	    p->dst->name, d->whole_name);
}

static int
claim_file(const struct plan *p, struct fault *f)
{
	struct use use;

	if (p->dst->absent || !p->dst->id.known ||
	    !use_of_file(p->dst->id.dev, p->dst->id.ino, passed_over(p), &use))
		return 0;
	return in_use(f, p->dst->name, "the file", &use);
}

/* Apart from claims_take, for the room that a description takes. */
static int
claim_device(struct claims *c, const struct plan *p, struct fault *f)
{
	struct disk d;

	if (!endpoint_disk(p->dst, &d))
		return claim_file(p, f);
	if (d.node == 0)
		return 0;
	return claim_disk(c, p, &d, f) != 0 ? -1 : lock_disk(c, p, &d, f);
}

int
claims_take(struct claims *c, const struct plan *p, struct fault *f)
{
	int failed;

	c->n = 0;
	c->lock = -1;
	if (p->opts->compare != 0 || (p->length == 0 && p->truncate < 0))
		return 0;
	failed = p->dst->device ? claim_device(c, p, f) : claim_file(p, f);
	if (failed != 0)
		claims_release(c);
	return failed;
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
