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
#include "disk/opened.h"
#include "disk/overlay.h"
#include "disk/stack.h"
#include "disk/sysfs.h"
#include "end/endpoint.h"

struct beside {			/* what else lies on a place */
	struct claims	*c;
	const struct stack_place *place;
	struct fault	*f;
};

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

/* Check the file below a loop device or a server, under one of its names. */
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
check_medium(const struct claims *c, const char *name, struct stat *st,
    struct fault *f)
{
	struct located at = { AT_FDCWD, name, st->st_dev, st->st_ino };
	struct overlaid layer;
	char path[PATH_MAX];

	if (check_file(c, name, st, f) != 0)
		return -1;
	if (!overlay_file(&at, false, &layer, path))
		return 0;
	*st = layer.st;
	return check_file(c, path, st, f);
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
	if (check_medium(c, d.backing, &st, f) != 0)
		return -1;
	p.dev = st.st_dev;
	p.ino = st.st_ino;
	return claim_loops(c, &p, loop, f);
}

/*
 * A dm or md device holds its members, and so do others with the same members.
 * But on those bytes there may be devices that no claim excludes: loop devices,
 * overlapping partitions, and other dm devices.
 */
static int
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

int
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
static bool
served_locked(const char *path, const struct stat *st, void *arg)
{
	(void)st;
	(void)arg;
	return opened_has_locked(path, LOCKS_OF_COPIES);
}

/*
 * Claim what a server has open: it may be what it serves, and which bytes of it
 * is not known.  Returns whether it is refused.
 */
static bool
served_refused(const char *path, const struct stat *st, void *arg)
{
	const struct served *s = arg;
	struct range all = { 0, UINT64_MAX };
	struct stat file = *st;
	struct disk d;

	if (!S_ISBLK(st->st_mode))
		return check_medium(s->c, path, &file, s->f) != 0;
	return (disk_of_block(st->st_rdev, &d) && d.err == 0 ? claim_bytes(s->c,
	    &d, all, s->f) : claim_unknown(s->c, &d, d.err, s->f)) != 0;
}

int
claim_served(struct claims *c, struct fault *f)
{
	pid_t pid = c->plan->dst->id.server;
	struct served s = { c, f };

	if (pid == 0)
		return 0;
	c->server_locks = opened_any(pid, true, served_locked, NULL);
	return opened_any(pid, true, served_refused, &s) ? -1 : 0;
}
