/*
 * Claiming one node: who uses it, the kernel's claim on it (O_EXCL), and the
 * lock that keeps udev from probing it.
 */
#include "claim_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"
#include "cli/opts.h"
#include "end/backend.h"
#include "end/endpoint.h"

enum { LOCK_TRIES = 20 };	/* of 100 ms; udev is done by then */

int
claim_in_use(struct fault *f, const char *name, const char *node,
    const struct usage *use)
{
	switch (use->kind) {
	case USE_MOUNTED:
		return fault_set(f, STATUS_REFUSED, "%s: %s is mounted on %s; "
		    "umount it first (force=mounted writes anyway)", name,
		    node, use->by);
	case USE_SWAP:
		return fault_set(f, STATUS_REFUSED, "%s: %s is swap space in "
		    "use; swapoff it first (force=swap writes anyway)",
		    name, node);
	case USE_LOOPED:
		return fault_set(f, STATUS_REFUSED, "%s: the loop device %s "
		    "lies on %s; losetup -d it first (force=looped writes "
		    "anyway)", name, use->by, node);
	case USE_HELD:
	case USE_NONE:
		break;
	}
	return fault_set(f, STATUS_REFUSED, "%s: %s is held by %s; end that "
	    "first (force=held writes anyway)", name, node, use->by);
}

/* Kinds of use in the words of force=: "mounted,swap". */
static const char *
usage_words(unsigned kinds, char *text, size_t room)
{
	static const struct { unsigned kind, force; } all[] = {
		{ USE_MOUNTED, FORCE_MOUNTED }, { USE_SWAP, FORCE_SWAP },
		{ USE_HELD, FORCE_HELD }, { USE_LOOPED, FORCE_LOOPED },
	};
	size_t i, n = 0;

	text[0] = '\0';
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if ((kinds & all[i].kind) != 0)
			n += (size_t)snprintf(text + n, room - n, "%s%s",
			    n > 0 ? "," : "", opts_word("force",
			    all[i].force));
	return text;
}

/* Refuse because some kinds of use could not be looked up. */
int
claim_not_known(struct fault *f, const char *name, const char *node,
    const struct usage *use)
{
	char text[64];

	return fault_set(f, STATUS_REFUSED,
	    "%s: who uses %s is not known, because %s cannot be read: %s "
	    "(force=%s writes anyway)",
	    name, node, use->unread, errno_words(use->err),
	    usage_words(use->unknown, text, sizeof(text)));
}

/* Refuse if the node is in use, or may be, in a way that is not allowed. */
int
claim_check_node(const struct claims *c, dev_t node, const char *kernel_name,
    struct fault *f)
{
	struct usage use;

	if (usage_of_node(node, c->over, &use))
		return claim_in_use(f, c->name, kernel_name, &use);
	if (use.unknown != 0)
		return claim_not_known(f, c->name, kernel_name, &use);
	return 0;
}

static bool
fd_is_node(int fd, dev_t node)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISBLK(st.st_mode) &&
	    st.st_rdev == node;
}

int
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
		return fault_set(f, STATUS_REFUSED, "%s: %s is locked (flock) "
		    "by another program; end that first (force=held writes "
		    "anyway)", c->name, name);
	return fault_set(f, STATUS_REFUSED, "%s: %s cannot be locked (flock): "
	    "%s (force=held writes anyway)", c->name, name,
	    errno_words(err));
}

/* Check that nobody has locked a range of it: see usage_of_locks. */
int
claim_check_ranges(const struct claims *c, int fd, const char *name,
    struct fault *f)
{
	struct usage use;

	if ((c->over & USE_HELD) == 0 && !c->server_locks &&
	    usage_of_locks(fd, &use))
		return claim_in_use(f, c->name, name, &use);
	return 0;
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

/*
 * Claim one node.  The claim may fail if a use of the node is allowed, unless
 * that is only a loop device on top.
 */
int
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
		    "partitions to claim", c->name, CLAIMS_MOST);
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
		return fault_set(f, STATUS_REFUSED, "%s: %s cannot be claimed "
		    "with O_EXCL: %s (force=held writes anyway)", c->name,
		    kernel_name, errno_words(errno));
	if (usage_of_node(node, USE_LOOPED, &use))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: %s is in use (by another "
	    "program, or mounted elsewhere); end that first (force=held "
	    "writes anyway)", c->name, kernel_name);
}

/*
 * Check that nobody else has locked a partition.  It is not kept open, because
 * it may be removed.
 */
int
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
void
claim_keep_node(struct claims *c, const struct disk_part *part)
{
	int fd = c->n < CLAIMS_MOST ?
	    claim_open_node(c, part->node, part->name, 0) : -1;

	if (fd < 0)
		return;
	c->node[c->n] = 0;
	c->fd[c->n++] = fd;
}

/*
 * Lock the whole disk even if only part of it is claimed, because udev does the
 * same.
 */
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
	return fault_set(f, STATUS_REFUSED, "%s: %s cannot be locked (flock): "
	    "%s (force=held writes anyway)", c->plan->dst->name, name,
	    errno_words(errno));
}

/* The kinds of use that force= allows. */
unsigned
claim_passed_over(const struct plan *p)
{
	unsigned force = p->opts->force;

	return ((force & FORCE_MOUNTED) != 0 ? USE_MOUNTED : 0) |
	    ((force & FORCE_SWAP) != 0 ? USE_SWAP : 0) |
	    ((force & FORCE_HELD) != 0 ? USE_HELD : 0) |
	    ((force & FORCE_LOOPED) != 0 ? USE_LOOPED : 0);
}
