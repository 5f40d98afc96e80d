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
 * Of a disk, the partitions that the range touches are claimed, or the whole
 * disk if it touches anything outside them; and the same bytes under other
 * names: other paths to the disk, what a loop device lies on and other loop
 * devices there, and what dm and md devices consist of.
 */
#include "plan/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/path.h"
#include "base/status.h"
#include "cli/opts.h"
#include "disk/disk.h"
#include "disk/opened.h"
#include "disk/overlay.h"
#include "disk/stack.h"
#include "disk/sysfs.h"
#include "disk/usage.h"
#include "end/backend.h"
#include "end/endpoint.h"
#include "claim_inside.h"

#define NO_NODE	((dev_t)-1)	/* a file is held, by its lock alone */

/* The kinds of use that force= allows. */
static unsigned
claim_passed_over(const struct plan *p)
{
	unsigned force = p->opts->force;

	return ((force & FORCE_MOUNTED) != 0 ? USE_MOUNTED : 0) |
	    ((force & FORCE_SWAP) != 0 ? USE_SWAP : 0) |
	    ((force & FORCE_HELD) != 0 ? USE_HELD : 0) |
	    ((force & FORCE_LOOPED) != 0 ? USE_LOOPED : 0);
}

/* --- the same bytes under other names ------------------------------------ */

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
	return opts_refuse(f, FORCE_HELD, "%s: %s is read-only; blockdev "
	    "--setrw /dev/%s first", c->name, path->name, path->name);
}

/*
 * Claim other paths to the disk, because a claim through one of them does not
 * cover the others.
 */
static int
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

/* Keep what other copies see until the end: a file, or a name; -1: errno. */
static int
claim_keep(struct claims *c, int fd, struct fault *f)
{
	if (fd < 0 || c->n == CLAIMS_MOST) {
		if (fd >= 0)
			close(fd);
		return opts_refuse(f, FORCE_HELD, "%s: it cannot be held: %s",
		    c->name, errno_words(fd < 0 ? errno : E2BIG));
	}
	c->node[c->n] = NO_NODE;
	c->fd[c->n++] = fd;
	return 0;
}

/*
 * Refuse a file below a loop device or a server if another copy is being made
 * to these bytes of it, and keep it open, locked for other copies to see.  Two
 * by way of servers are both let: of their files some may be mere logs; what
 * they export is held by claim_export.
 */
static int
claim_copies(struct claims *c, int fd, struct range r, struct fault *f)
{
	const struct opts *o = c->plan->opts;

	if ((c->over & USE_HELD) != 0 || (o->targets > 1 &&
	    (o->force & FORCE_OVERLAP) != 0))
		return 0;
	if (!lock_copy(fd, F_RDLCK, r.from, r.to))
		return opts_refuse(f, FORCE_HELD, "%s: another copy is being "
		    "made to the same bytes of its file; end that first",
		    c->name);
	return claim_keep(c, fcntl(fd, F_DUPFD_CLOEXEC, 3), f);
}

/*
 * Check that nobody has locked a range of the file; such locks belong to the
 * file, whatever its name.  Does nothing if the name leads to another file than
 * *is (device and inode), as the name of a loop device's file may.  "below": it
 * is written by way of something else.
 */
static int
claim_check_path(struct claims *c, const char *path, const struct stat *is,
    const char *what, const struct range *below, struct fault *f)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct usage use = { .unknown = USE_HELD & ~c->over, .unread = "it" };
	struct stat st;
	int failed = 0;

	if (fd < 0) {
		use.err = sysfs_unasked(errno);
		return use.err == 0 ? 0 : claim_judge(c, what, false, &use, f);
	}
	if (fstat(fd, &st) == 0 && same_file(&st, is))
		failed = claim_check_ranges(c, fd, what, f) != 0 ||
		    (below != NULL && claim_copies(c, fd, *below, f) != 0) ?
		    -1 : 0;
	close(fd);
	return failed;
}

/* Check the file below a loop device or a server, under one of its names. */
static int
check_file(struct claims *c, const char *path, const struct stat *st,
    struct range r, struct fault *f)
{
	struct usage use;
	bool used = usage_of_file(st->st_dev, st->st_ino, c->over, &use);

	return claim_judge(c, "its file", used, &use, f) != 0 ? -1 :
	    claim_check_path(c, path, st, "its file", &r, f);
}

/* On an overlay, also by the layer's name.  Not inlined: path is large. */
__attribute__((noinline)) static int
check_medium(struct claims *c, const char *name, struct stat *st,
    struct range r, struct fault *f)
{
	struct located at = { AT_FDCWD, name, st->st_dev, st->st_ino };
	struct usage use = { .unknown = USE_LOOPED & ~c->over,
		.unread = "its overlay" };
	struct overlaid layer;
	char path[PATH_MAX];
	bool is;

	if (check_file(c, name, st, r, f) != 0)
		return -1;
	is = overlay_file(&at, false, &layer, path);
	use.err = layer.err;
	if (use.err != 0 && claim_judge(c, "its file", false, &use, f) != 0)
		return -1;
	if (!is)
		return 0;
	*st = layer.st;
	return check_file(c, path, st, r, f);
}

/*
 * Claim another loop device on the same bytes, as a disk.  Not inlined, so that
 * the stack does not hold a path and another struct disk at once.
 */
__attribute__((noinline)) static int
claim_loop(const struct disk *other, uint64_t start, int err, void *arg)
{
	const struct beside *b = arg;
	struct range r = { b->place->from, b->place->to };
	struct claims *c = b->c;
	char name[PATH_MAX + 300];

	if (other == NULL)
		return fault_set(b->f, STATUS_REFUSED, "%s: other loop devices "
		    "on its medium are not known: %s", c->name,
		    errno_words(err));
	if (err != 0)
		return claim_unknown(c, other, err, b->f);
	if (r.from >= start + other->length || start >= r.to)
		return 0;
	snprintf(name, sizeof(name), "%s and %s lie on the same %s",
	    c->plan->dst->name, other->name, b->place->ino == 0 ? "disk" :
	    "file");
	c->name = name;
	r.from = r.from > start ? r.from - start : 0;
	r.to -= start;
	err = claim_disk(c, other, r, b->f);
	c->name = c->plan->dst->name;
	return err;
}

/*
 * Claim all loop devices on the medium of another.  Their existence does not
 * matter, but their use does.
 */
static int
claim_loops(struct claims *c, const struct stack_place *medium, dev_t loop,
    struct fault *f)
{
	struct beside b = { c, medium, f };
	unsigned over = c->over;
	int failed;

	c->over = claim_passed_over(c->plan);
	failed = stack_loops(medium, loop, claim_loop, &b);
	c->over = over;
	return failed;
}

/* A loop device does not claim what it lies on. */
static int
claim_backing(struct claims *c, const struct stack *s, size_t i,
    struct fault *f)
{
	struct stack_place p = s->at[i];
	dev_t loop = s->at[p.above].dev;
	struct range r = { p.from, p.to };
	struct stat st = { .st_dev = p.dev, .st_ino = p.ino };
	struct disk d;

	if (!disk_of_block(p.ino == 0 ? p.dev : loop, &d) || d.err != 0)
		return claim_unknown(c, &d, d.err, f);
	if (p.ino == 0)
		return claim_disk(c, &d, r, f) != 0 ||
		    claim_paths(c, &d, r, f) != 0 ? -1 : d.partition != 0 ? 0 :
		    claim_loops(c, &p, loop, f);
	if (check_medium(c, d.backing, &st, r, f) != 0)
		return -1;
	p.dev = st.st_dev;
	p.ino = st.st_ino;
	return claim_loops(c, &p, loop, f);
}

/* Claim one place; the use of it by a loop device above is expected. */
static int
claim_place(struct claims *c, const struct stack *s, size_t i, struct fault *f)
{
	const struct stack_place *p = &s->at[i], *above = &s->at[p->above];
	struct disk d;
	int failed = 0;

	c->over = claim_passed_over(c->plan) | (p->mark != 0 ? USE_LOOPED : 0);
	if (p->step == STACK_BACKING)
		failed = claim_backing(c, s, i, f);
	else if (p->step == STACK_MEMBER)
		failed = claim_member(c, s, i, f);
	else if (p->step == STACK_DISK && above->step == STACK_BACKING)
		failed = claim_loops(c, p, s->at[above->above].dev, f);
	if (failed == 0 && p->err != 0) {
		disk_of_block(p->dev, &d);
		failed = claim_unknown(c, &d, p->err, f);
	}
	c->over = claim_passed_over(c->plan);
	return failed;
}

/* Claim all that lies below a disk. */
static int
claim_below(struct claims *c, const struct disk *d, struct range r,
    struct fault *f)
{
	struct stack_place *p;
	struct stack s;
	int failed = 0;

	stack_begin(&s, STACK_TABLES);
	stack_add(&s, (struct stack_place){ .dev = d->node, .from = r.from,
	    .to = r.to });
	stack_down(&s);
	for (p = s.at; p < s.at + s.n && failed == 0; p++) {
		p->mark = s.at[p->above].mark;	/* it is below a loop device */
		p->mark |= p->step == STACK_BACKING;
		failed = claim_place(c, &s, (size_t)(p - s.at), f);
	}
	if (failed == 0 && (s.err == E2BIG || s.err == ENOMEM))
		failed = claim_unknown(c, d, s.err, f);
	stack_end(&s);
	return failed;
}

/*
 * Claim a disk with other paths to it, with all that lies below it, and with
 * what else lies there.
 */
static int
claim_bytes(struct claims *c, const struct disk *d, struct range r,
    struct fault *f)
{
	return claim_disk(c, d, r, f) != 0 || claim_paths(c, d, r, f) != 0 ||
	    claim_below(c, d, r, f) != 0 ? -1 : 0;
}

struct served {
	struct claims	*c;
	struct fault	*f;
};

/* Whether it is the server that has locked what it has open, as QEMU does. */
static int
served_locked(const char *path, const struct stat *st, void *arg)
{
	(void)st, (void)arg;
	return opened_has_locked(path, LOCKS_OF_COPIES);
}

/*
 * Claim what a server has open: it may be what it serves, and which bytes of it
 * is not known.  Returns whether it is refused.
 */
static int
served_refused(const char *path, const struct stat *st, void *arg)
{
	const struct served *s = arg;
	struct range all = { 0, UINT64_MAX };
	struct stat file = *st;
	struct disk d;

	if (!S_ISBLK(st->st_mode))
		return check_medium(s->c, path, &file, all, s->f) != 0;
	return (disk_of_block(st->st_rdev, &d) && d.err == 0 ? claim_bytes(s->c,
	    &d, all, s->f) : claim_unknown(s->c, &d, d.err, s->f)) != 0;
}

/*
 * The same for each disk that the server of the target has open to write, if it
 * is a process of this machine; refuse if a file that it has open is in use.
 */
static int
claim_served(struct claims *c, struct fault *f)
{
	pid_t pid = c->plan->dst->id.server;
	struct served s = { c, f };
	int has;

	if (pid == 0)
		return 0;
	c->server_locks = opened_any(pid, true, served_locked, NULL) > 0;
	has = opened_any(pid, true, served_refused, &s);
	return has < 0 ? fault_set(f, STATUS_REFUSED, "%s: what its server has "
	    "open cannot be looked up: %s", c->name, errno_words(errno)) :
	    -has;
}

/* Separate from claim_file because a struct usage needs much stack. */
static int
claim_check_file(const struct claims *c, const struct stat *is,
    struct fault *f)
{
	struct usage use;
	bool used = usage_of_file(is->st_dev, is->st_ino, c->over, &use);

	if (sysfs_unasked(use.err) == 0)
		use.unknown = 0;
	return claim_judge(c, "the file", used, &use, f);
}

static int
claim_file(struct claims *c, struct fault *f)
{
	const struct endpoint *dst = c->plan->dst;
	struct stat is = { .st_dev = dst->id.dev, .st_ino = dst->id.ino },
	    layer;

	if (dst->is.absent || !dst->id.known)
		return 0;
	if (claim_check_file(c, &is, f) != 0)
		return -1;
	/* another may use it by its name in the layer */
	if (endpoint_layer(dst, &layer) && (claim_check_file(c, &layer, f) !=
	    0 || claim_check_ranges(c, dst->layer, "the file", f) != 0))
		return -1;
	return dst->is.inherited ?
	    claim_check_ranges(c, dst->fd, "the file", f) :
	    claim_check_path(c, dst->name, &is, "the file", NULL, f);
}

/* A descriptor of that node, which keeps the claim; -1: there is none. */
static int
claims_find(const struct claims *c, dev_t node)
{
	struct stat st;
	size_t i;

	for (i = 0; i < c->n; i++)
		if (fstat(c->fd[i], &st) == 0 && st.st_rdev == node)
			return c->fd[i];
	return -1;
}

/* Whether what is held, or the disk that is locked, is this node. */
static bool
is_held(dev_t node, void *arg)
{
	const struct claims *c = arg;

	return claims_find(c, node) >= 0 ||
	    (c->lock >= 0 && c->locked == node);
}

/*
 * Refuse a disk that another program has locked by a node of its own.  Separate
 * from claim_device because a struct usage needs much stack.
 */
static int
check_locked(struct claims *c, struct fault *f)
{
	struct usage use;
	size_t i = 0;

	while (i < c->n && c->node[i] == NO_NODE)
		i++;
	if (i == c->n || (c->over & USE_HELD) != 0 || c->server_locks)
		return 0;
	return claim_judge(c, "the disk", usage_of_locked(is_held, c, &use),
	    &use, f);
}

/*
 * Hold an export against other copies by a name that only one socket of this
 * machine can have: the server may have no file here to be locked.
 */
static int
claim_export(struct claims *c, struct fault *f)
{
	const struct identity *id = &c->plan->dst->id;
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd, err;

	if (id->export == NULL || (id->server == 0 && id->peer[0] == '\0'))
		return 0;
	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "pardd %s%d %s",
	    id->peer, id->peer[0] == '\0' ? (int)id->server : 0, id->export);
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
		return claim_keep(c, fd, f);
	err = errno;
	close(fd);
	if ((c->over & USE_HELD) != 0)
		return 0;
	return err == EADDRINUSE ? opts_refuse(f, FORCE_HELD, "%s: another "
	    "copy is being made to it; end that first", c->name) :
	    opts_refuse(f, FORCE_HELD, "%s: it cannot be held: %s", c->name,
	    errno_words(err));
}

/* Separate from claims_take because a struct disk needs much stack. */
static int
claim_device(struct claims *c, struct fault *f)
{
	const struct plan *p = c->plan;
	struct range r = { p->dst_off, plan_target_end(p) };
	struct disk d;

	if (p->dst->is.remote)		/* this kernel may have it too */
		return (endpoint_disk(p->dst, &d) && claim_paths(c, &d, r,
		    f) != 0) || claim_export(c, f) != 0 ? -1 :
		    claim_served(c, f);
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
	    check_locked(c, f) != 0 ? -1 : 0 : claim_file(c, f);
	if (failed != 0)
		claims_release(c);
	return failed;
}

/* Write back what the page cache of a node has, or drop it. */
static void
settle_cache(int fd, bool copied)
{
	if (copied)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	else
		disk_settle(fd);
}

void
claims_settle(const struct claims *c, bool copied)
{
	size_t i;

	for (i = 0; i < c->n; i++)
		if (c->node[i] != NO_NODE)
			settle_cache(c->fd[i], copied);
	if (c->lock >= 0)
		settle_cache(c->lock, copied);
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
	claims_settle(c, true);
	fd = fcntl(claims_find(c, d.whole), F_DUPFD_CLOEXEC, 3);
	claims_release(c);	/* a partition that is open would keep all */
	read = fd >= 0 && ioctl(fd, BLKRRPART) == 0;
	if (fd >= 0)
		close(fd);
	if (read || disk_parts(d.whole, &part, &n) != 0)
		return true;
	free(part);
	return n == 0;
}
