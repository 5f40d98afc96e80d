/*
 * Claims.  O_EXCL on a block node is the kernel's own claim, which mount,
 * swapon, dm and md use as well.  It works across mount namespaces, and keeps
 * them away as long as it is held.  A claim on a partition leaves its
 * neighbours free; a claim on the disk excludes them all.
 *
 * It does not see loop devices on top, and an sg node has a claim of its own.
 * So loop devices are looked up, and for an sg or bsg node the block node of
 * the disk is claimed.
 *
 * Whatever cannot be looked up or claimed is refused: a disk about which
 * nothing is known is not a free one.  A file only names blocks that its file
 * system protects, so if there are no tables to look it up in, as in a chroot,
 * it is written.
 *
 * The lock keeps udev from probing the disk meanwhile, and desktops from
 * mounting what is found (systemd.io/BLOCK_DEVICE_LOCKING).
 */
#include "plan/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "claim_steps.h"
#include "disk/disk.h"
#include "disk/usage.h"
#include "end/endpoint.h"

/* Separate from claim_file because a struct usage needs much stack. */
static int
check_layer(const struct claims *c, const struct stat *layer, struct fault *f)
{
	const struct endpoint *dst = c->plan->dst;
	struct usage use;

	if (usage_of_file(layer->st_dev, layer->st_ino, c->over, &use))
		return claim_in_use(f, dst->name, "the file", &use);
	return claim_check_ranges(c, dst->layer, "the file", f);
}

static int
claim_file(const struct claims *c, struct fault *f)
{
	const struct endpoint *dst = c->plan->dst;
	struct usage use;
	struct stat is = { .st_dev = dst->id.dev, .st_ino = dst->id.ino },
	    layer;

	if (dst->is.absent || !dst->id.known)
		return 0;
	if (usage_of_file(is.st_dev, is.st_ino, c->over, &use))
		return claim_in_use(f, dst->name, "the file", &use);
	if (use.err == EMFILE || use.err == ENFILE || use.err == ENOMEM)
		return claim_not_known(f, dst->name, "the file", &use);
	/* another may use it by its name in the layer */
	if (endpoint_layer(dst, &layer) && check_layer(c, &layer, f) != 0)
		return -1;
	return dst->is.inherited ?
	    claim_check_ranges(c, dst->fd, "the file", f) :
	    claim_check_path(c, dst->name, &is, "the file", f);
}

/* Whether what is held, or the disk that is locked, is this node. */
static bool
is_held(dev_t node, void *arg)
{
	const struct claims *c = arg;
	struct stat st;
	size_t i;

	for (i = 0; i < c->n; i++)
		if (fstat(c->fd[i], &st) == 0 && st.st_rdev == node)
			return true;
	return c->lock >= 0 && c->locked == node;
}

/*
 * Refuse a disk that another program has locked by a node of its own.  Separate
 * from claim_device because a struct usage needs much stack.
 */
static int
check_locked(struct claims *c, struct fault *f)
{
	struct usage use;

	if ((c->over & USE_HELD) == 0 && !c->server_locks &&
	    usage_of_locked(is_held, c, &use))
		return claim_in_use(f, c->name, "the disk", &use);
	return 0;
}

/* Separate from claims_take because a struct disk needs much stack. */
static int
claim_device(struct claims *c, struct fault *f)
{
	const struct plan *p = c->plan;
	struct range r = { p->dst_off, plan_target_end(p) };
	struct disk d;

	if (p->dst->is.remote)		/* this kernel may have it too */
		return endpoint_disk(p->dst, &d) &&
		    claim_paths(c, &d, r, f) != 0 ? -1 : claim_served(c, f);
	if (!p->dst->id.known)
		return 0;		/* not a disk */
	if (!endpoint_disk(p->dst, &d) || d.err != 0)
		return claim_unknown(c, &d, d.err, f) != 0 ? -1 :
		    claim_lock(c, d.node, p->dst->name, f);
	if (d.node == 0)
		return 0;
	return claim_bytes(c, &d, r, f) != 0 ? -1 :
	    claim_lock(c, d.whole, d.whole_name, f);
}

int
claims_take(struct claims *c, const struct claims *others,
    const struct plan *p, struct fault *f)
{
	int failed;

	c->others = others;
	c->n = 0;
	c->lock = -1;
	c->server_locks = false;
	c->over = claim_passed_over(p);
	c->name = p->dst->name;
	c->plan = p;
	if (p->work == WORK_COMPARE || (p->truncate < 0 &&
	    plan_target_end(p) == p->dst_off))
		return 0;
	failed = p->dst->is.device ? claim_device(c, f) != 0 ||
	    (c->n > 0 && check_locked(c, f) != 0) ? -1 : 0 : claim_file(c, f);
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

/* A descriptor of that node, which keeps the claim; -1: there is none. */
static int
claims_keep(const struct claims *c, dev_t node)
{
	struct stat st;
	size_t i;

	for (i = 0; i < c->n; i++)
		if (fstat(c->fd[i], &st) == 0 && st.st_rdev == node)
			return fcntl(c->fd[i], F_DUPFD_CLOEXEC, 3);
	return -1;
}

bool
claims_reread(struct claims *c)
{
	const uint64_t table = UINT64_C(34) * c->plan->dst->geo.block;
	struct disk_part *part;
	struct disk d;
	size_t n;
	bool read;
	int fd;

	if (c->n == 0 || c->plan->dst_off >= table ||
	    access("/run/udev/control", F_OK) == 0 ||
	    !endpoint_disk(c->plan->dst, &d) || d.node != d.whole)
		return true;
	claims_forget(c);
	fd = claims_keep(c, d.whole);
	claims_release(c);	/* a partition that is open would keep all */
	read = fd >= 0 && ioctl(fd, BLKRRPART) == 0;
	if (fd >= 0)
		close(fd);
	if (read || disk_parts(d.whole, &part, &n) != 0)
		return true;
	free(part);
	return n == 0;
}
