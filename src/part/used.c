/*
 * What the file systems of a source use.
 *
 * A range is left out only if a file system that is clean proves that it is
 * free, and nothing else speaks against it: the partition table is sound and
 * its partitions do not overlap, neither the disk nor the partition carries the
 * signature of anything else (a RAID, a volume manager, a file system that was
 * there before), all of it lies in the copy, and nobody can be writing to it.
 * All else counts as used.  When the copy is over the file systems are asked
 * again: what they have begun to use meanwhile was not copied.
 *
 * Reads go past the page cache, which does not know what a mounted file system
 * writes.
 */
#include "part/used.h"

#include <bsd/string.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/number.h"
#include "base/status.h"
#include "disk/disk.h"
#include "disk/usage.h"
#include "map/domain.h"
#include "part/parts.h"

enum {
	ROOM = 256 << 10,	/* bytes of a read, at most */
	SECTOR = 512,
	LEAST_MOST = 1 << 20,	/* bytes: no longer range is copied along */
	ALONG = 100,		/* what is copied along is one of so many */
};

/* ------------------------------------------------------------- reading */

struct look {
	const struct plan *p;
	struct lane	 lane;
	uint64_t	 base;	/* of the file system, on the source */
	unsigned char	*buf;	/* ROOM bytes, aligned */
};

static int
look_open(struct look *l, const struct plan *p)
{
	int err;

	*l = (struct look){ .p = p, .buf = aligned_alloc(4096, ROOM) };
	err = l->buf == NULL ? ENOMEM : lane_attach(&l->lane, p->src,
	    0, -1);
	if (err != 0)
		free(l->buf);
	return err;
}

static void
look_close(struct look *l)
{
	lane_detach(&l->lane);
	free(l->buf);
}

/* For fs_map_read: len bytes at off of the file system; an errno. */
static int
look_read(void *arg, uint64_t off, void *buf, size_t len)
{
	struct look *l = arg;
	uint64_t unit = MAX(l->p->src->block, (uint32_t)SECTOR), at;
	unsigned char *to = buf;
	size_t before, n;

	for (; len > 0; len -= n, off += n, to += n) {
		struct io io = { .op = OP_READ, .buf = l->buf,
			.careful = true };

		at = l->base + off;
		before = (size_t)(at % unit);
		io.off = at - before;
		io.len = (size_t)MIN(round_up(before + len, unit), ROOM);
		lane_transfer(&l->lane, &io);
		if (io.err != 0)
			return io.err;
		if (io.done <= before)
			return EIO;
		n = MIN(io.done - before, len);
		memcpy(to, l->buf + before, n);
	}
	return 0;
}

/* --------------------------------------------------------------- lists */

/* Add a range behind the last, or as the rest of that.  0 or ENOMEM. */
static int
append(struct used_list *l, uint64_t off, uint64_t end)
{
	struct seg *last = l->seg + l->n - 1, *more;
	size_t room = l->room * 2 + 64;

	if (off >= end)
		return 0;
	if (l->n > 0 && last->off + last->len == off) {
		last->len += end - off;
		return 0;
	}
	if (l->n == l->room) {
		more = reallocarray(l->seg, room, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		l->seg = more;
		l->room = room;
	}
	l->seg[l->n++] = (struct seg){ off, end - off, OUTSIDE };
	return 0;
}

/* Only whole pages, and blocks, of the target are left out. */
static int
append_free(struct used_list *l, const struct plan *p, uint64_t off,
    uint64_t end)
{
	uint64_t unit = p->grain;

	off = round_up(off - p->src_off + p->dst_off, unit);
	end = end - p->src_off + p->dst_off;
	end -= end % unit;
	return off < end ? append(l, off - p->dst_off + p->src_off,
	    end - p->dst_off + p->src_off) : 0;
}

static uint64_t
bytes_of(const struct used_list *l, uint64_t shorter)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->seg[i].len < shorter)
			sum += l->seg[i].len;
	return sum;
}

/*
 * To read over a short range takes less time than to leave it out.  So much is
 * copied along as hardly shows in what is copied at all.
 */
static void
drop_short(struct used_list *l, uint64_t length)
{
	uint64_t used = length - bytes_of(l, UINT64_MAX), least = LEAST_MOST;
	size_t i, n = 0;

	while (least > SECTOR && bytes_of(l, least) > used / ALONG)
		least /= 2;
	for (i = 0; i < l->n; i++)
		if (l->seg[i].len >= least)
			l->seg[n++] = l->seg[i];
	l->n = n;
}

/* ----------------------------------------------------- who may write there */

static int __attribute__((format(printf, 2, 3)))
whole(struct used_fs *fs, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fs->reason, sizeof(fs->reason), fmt, ap);
	va_end(ap);
	fs->treated = TREATED_WHOLE;
	return -1;
}

/* Whether nobody has claimed a node: mount(2) does, in any namespace. */
static bool
unclaimed(dev_t node, const char *name)
{
	int how = O_RDONLY | O_EXCL | O_NONBLOCK | O_CLOEXEC, fd;
	char path[300];

	if (!disk_path(node, name, path, sizeof(path)))
		return true;		/* what has no node is not mounted */
	fd = open(path, how);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EBUSY;
}

/* A node that what is looked at lies on; -1 when it may be changing. */
static int
idle_node(struct used_fs *fs, dev_t node, const char *name)
{
	struct usage use;

	if (usage_of_node(node, ~(unsigned)USE_MOUNTED, &use))
		return use.writable ? whole(fs, "it is mounted read-write "
		    "on %s", use.by) : 0;
	if (use.unknown != 0)
		return whole(fs, "whether it is mounted cannot be looked up");
	return unclaimed(node, name) ? 0 : whole(fs, "it is in use");
}

/* A partition's node, if the kernel knows it, or the disk's own. */
static int
idle_device(struct used_fs *fs, const struct disk *d)
{
	struct disk_part *part = NULL;
	uint64_t from = fs->off, to = from + fs->length;
	size_t n = 0, i;
	int busy = 0;

	if (d->partition == 0)
		(void)disk_parts(d->whole, &part, &n);
	for (i = 0; i < n && busy == 0; i++)
		if (part[i].start < to && from < part[i].start +
		    part[i].length && part[i].length > SECTOR * 2)
			busy = idle_node(fs, part[i].node, part[i].name);
	free(part);
	if (busy != 0 || (d->partition == 0 && fs->partition > 0 && n > 0))
		return busy;
	return idle_node(fs, d->node, d->name);
}

/* -1 when somebody may write to it while it is copied. */
static int
idle(struct used_fs *fs, const struct endpoint *ep)
{
	struct usage use;
	struct disk d;

	if (endpoint_disk(ep, &d) && d.node != 0)
		return idle_device(fs, &d);
	if (ep->kind == END_FILE && usage_of_file(ep->file_dev, ep->file_ino, 0,
	    &use))
		return whole(fs, "%s uses %s", use.by, ep->name);
	return 0;
}

/* ------------------------------------------------------------- judging */

/* Whether another one may lay claim to its bytes, or it is not all there. */
static int
placed(struct used_fs *fs, const struct used *u, const struct plan *p)
{
	uint64_t end = fs->off + fs->length, to = p->src_off + p->length;
	size_t i;

	if (end > (uint64_t)p->src->size)
		return whole(fs, "it goes beyond the end of %s",
		    p->src->name);
	for (i = 0; i < u->n; i++)
		if (&u->fs[i] != fs && u->fs[i].off < end &&
		    fs->off < u->fs[i].off + u->fs[i].length)
			return whole(fs, "partition %u lies on the same bytes",
			    u->fs[i].partition);
	if (fs->off < p->src_off || end > to)
		return whole(fs, "only a part of it is copied");
	return 0;
}

/* What speaks against a file system that says itself that it is clean. */
static int
convinced(struct used_fs *fs, const struct fs_map *m, const struct volume *v)
{
	if (m->type[0] != '\0')
		strlcpy(fs->type, m->type, sizeof(fs->type));
	if (m->label[0] != '\0')
		strlcpy(fs->label, m->label, sizeof(fs->label));
	fs->used = m->used;
	fs->free = m->free_bytes;
	fs->state = m->state;
	if (m->state == FS_UNKNOWN)
		return whole(fs, "what it uses is not known");
	if (m->state != FS_CLEAN)
		return whole(fs, "%s", m->reason);
	if (v->type[0] == '\0')
		return whole(fs, "it cannot be told whether it is all that is "
		    "there");
	if (v->signs > 1 || strcmp(v->type, m->type) != 0)
		return whole(fs, "it has the signatures of several");
	return 0;
}

/* Note what a file system calls free. */
static int
take(struct used *u, const struct plan *p, const struct used_fs *fs,
    const struct fs_map *m)
{
	const struct fs_extent *x = m->free.at, *end = x + m->free.n;
	int err = 0;

	for (; x < end && err == 0; x++)
		err = append_free(&u->free, p, fs->off + x->off,
		    fs->off + x->off + x->len);
	return err;
}

/* Look at one of them.  0 or ENOMEM. */
static int
judge(struct used *u, struct used_fs *fs, struct look *l)
{
	const struct plan *p = l->p;
	struct fs_source source = { .read = look_read, .arg = l,
		.length = fs->length };
	struct volume v;
	struct fs_map m;
	int err;

	parts_volume(p->src, fs->off, fs->length, &v);
	strlcpy(fs->type, v.type, sizeof(fs->type));
	strlcpy(fs->label, v.label, sizeof(fs->label));
	if (placed(fs, u, p) != 0)
		return 0;
	l->base = fs->off;
	err = fs_map_read(v.type, &source, 0, &m);
	if (err != 0)
		return err;
	if (convinced(fs, &m, &v) == 0 && idle(fs, p->src) == 0)
		err = take(u, p, fs, &m);
	fs_map_free(&m);
	return err;
}

/* ------------------------------------------------------------ the source */

static int
add(struct used *u, unsigned partition, uint64_t off, uint64_t length)
{
	size_t room = u->room * 2 + 8;
	struct used_fs *more;

	if (u->n == u->room) {
		more = reallocarray(u->fs, room, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		u->fs = more;
		u->room = room;
	}
	u->fs[u->n++] = (struct used_fs){ .partition = partition,
		.off = off, .length = length, .state = FS_UNKNOWN };
	return 0;
}

static int
by_place(const void *a, const void *b)
{
	const struct used_fs *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

/* The partitions that the copy comes to. */
static int
add_parts(struct used *u, const struct plan *p, const struct parts *t)
{
	int err = 0;
	size_t i;

	for (i = 0; i < t->n && err == 0; i++)
		if (!t->part[i].container &&
		    t->part[i].start < p->src_off + p->length &&
		    part_end(&t->part[i]) > p->src_off)
			err = add(u, t->part[i].number, t->part[i].start,
			    t->part[i].length);
	if (u->n > 1)
		qsort(u->fs, u->n, sizeof(*u->fs), by_place);
	return err;
}

/*
 * A disk with partitions that has the signature of a file system or a RAID as a
 * whole has one of the two from before, and who knows which.
 */
static void
doubt_table(struct used *u, const struct plan *p)
{
	struct volume v;
	size_t i;

	parts_volume(p->src, 0, (uint64_t)p->src->size, &v);
	for (i = 0; i < u->n && v.type[0] != '\0'; i++)
		whole(&u->fs[i], "the whole of %s has the signature of %s",
		    p->src->name, v.type);
}

/* What there is to look at; 0 or an errno. */
static int
survey(struct used *u, const struct plan *p)
{
	const struct endpoint *ep = p->src;
	uint64_t size = (uint64_t)ep->size;
	struct parts t;
	struct fault f;
	int err;

	if (ep->part > 0)
		return add(u, ep->part, ep->base, size - ep->base);
	if (parts_read(p->src, &t, &f) != 0)
		return 0;		/* the copy will tell of it */
	/* The boot sector of a file system looks like a table of nothing. */
	if (t.n == 0 && t.wrong[0] == '\0' && strcmp(t.type, "gpt") != 0)
		err = add(u, 0, 0, size);
	else
		err = add_parts(u, p, &t);
	if (t.n > 0)
		doubt_table(u, p);
	parts_free(&t);
	return err;
}

/* All that is free; 0 or an errno. */
static int
look(struct used *u, const struct plan *p)
{
	struct look l;
	int err = survey(u, p);
	size_t i;

	if (err != 0 || u->n == 0)
		return err;
	err = look_open(&l, p);
	if (err != 0)
		return err;
	for (i = 0; i < u->n && err == 0; i++)
		if (u->fs[i].treated != TREATED_WHOLE)
			err = judge(u, &u->fs[i], &l);
	look_close(&l);
	return err;
}

/* -------------------------------------------------------------- the plan */

/* What used= cannot be for. */
static int
possible(const struct plan *p, struct fault *f)
{
	const struct opts *o = p->opts;

	if (!parts_possible(p->src))
		return fault_set(f, STATUS_USAGE, "used= and usedmap= look "
		    "for file systems on a disk, a partition, or an image of "
		    "one, and %s is none", p->src->name);
	if (o->used == 0)
		return 0;
	if (p->dst->streamed)
		return fault_set(f, STATUS_USAGE, "used= leaves out what is "
		    "free, and %s is written in order", p->dst->name);
	if (p->opts->hash != 0 && !used_clears(p))
		return fault_set(f, STATUS_USAGE, "hash= and expect= are of "
		    "all bytes, and with used=%s %s keeps what it holds where "
		    "they are free; oflag=sparse makes that zeros",
		    opts_word("used", o->used), p->dst->name);
	return 0;
}

/* How many file systems the ranges lie in. */
static size_t
count_frees(const struct used *u)
{
	size_t i, k, n = 0;

	for (i = k = 0; i < u->n; i++) {
		while (k < u->free.n && u->free.seg[k].off < u->fs[i].off)
			k++;
		n += k < u->free.n && u->free.seg[k].off <
		    u->fs[i].off + u->fs[i].length;
	}
	return n;
}

bool
used_clears(const struct plan *p)
{
	const struct opts *o = p->opts;

	return o->map == NULL && o->compare == 0 &&
	    (p->dst->kind == END_FILE ||
	    (o->oflag & (FLAG_SPARSE | FLAG_TRIM)) != 0);
}

int
used_make(struct used *u, struct plan *p, struct fault *f)
{
	int err;

	*u = (struct used){ .n = 0 };
	if (p->opts->used == 0 && p->opts->usedmap == NULL)
		return 0;
	if (possible(p, f) != 0)
		return -1;
	err = look(u, p);
	if (err != 0)
		return fault_errno(f, err, "%s: finding out what is used",
		    p->src->name);
	drop_short(&u->free, p->length);
	u->bytes_free = bytes_of(&u->free, UINT64_MAX);
	u->frees = count_frees(u);
	u->leaves = (p->opts->used & USED_ONLY) != 0;
	u->clears = u->leaves && used_clears(p);
	u->length = p->length;
	if (p->opts->looks)
		p->length = 0;
	p->used = u;
	return 0;
}

void
used_free(struct used *u)
{
	free(u->fs);
	free(u->free.seg);
	free(u->meta.seg);
	*u = (struct used){ .n = 0 };
}

/* ------------------------------------------------------------ what is left */

struct walk {			/* over a list */
	const struct used_list *list;
	size_t	 i;
};

static bool
next_free(void *arg, struct seg *s)
{
	struct walk *w = arg;

	if (w->i == w->list->n)
		return false;
	*s = w->list->seg[w->i++];
	return true;
}

int
used_apply(const struct plan *p, struct map *map)
{
	struct walk w = { .list = p->used != NULL ? &p->used->free : NULL };
	struct domain_source source = { .next = next_free, .arg = &w };

	return p->used == NULL || !p->used->leaves ? 0 :
	    domain_apply(map, p->src_off, &source);
}

/* The first range of a list that another does not cover, or NULL. */
static const struct seg *
uncovered(const struct used_list *l, const struct used_list *by)
{
	size_t i, k = 0;

	for (i = 0; i < l->n; i++) {
		const struct seg *s = &l->seg[i], *t;

		while (k < by->n && by->seg[k].off + by->seg[k].len <= s->off)
			k++;
		t = &by->seg[k];
		if (k == by->n || t->off > s->off ||
		    t->off + t->len < s->off + s->len)
			return s;
	}
	return NULL;
}

/* The one that a byte lies in; there is one. */
static const struct used_fs *
fs_at(const struct used *u, uint64_t off)
{
	size_t i;

	for (i = 0; i + 1 < u->n; i++)
		if (off < u->fs[i].off + u->fs[i].length)
			break;
	return &u->fs[i];
}

int
used_kept(const struct plan *p, struct fault *f)
{
	struct used now = { .n = 0 };
	const struct seg *s;
	char name[256];
	int err;

	if (p->used == NULL || !p->used->leaves || p->used->free.n == 0)
		return 0;
	err = look(&now, p);
	s = err == 0 ? uncovered(&p->used->free, &now.free) : NULL;
	if (err != 0)
		fault_errno(f, err, "%s: finding out what is used",
		    p->src->name);
	else if (s != NULL)
		err = fault_set(f, STATUS_SHORT, "%s of %s has changed, or "
		    "may be changing: what was free when the copy began, and "
		    "was left out, may be in use now; the same again copies "
		    "that, too", used_name(name, sizeof(name), fs_at(p->used,
		    s->off)), p->src->name);
	used_free(&now);
	return err == 0 ? 0 : -1;
}

const char *
used_name(char *to, size_t room, const struct used_fs *fs)
{
	char what[176] = "";

	if (fs->label[0] != '\0')
		snprintf(what, sizeof(what), " (%s \"%s\")", fs->type,
		    fs->label);
	else if (fs->type[0] != '\0')
		snprintf(what, sizeof(what), " (%s)", fs->type);
	if (fs->partition > 0)
		snprintf(to, room, "partition %u%s", fs->partition, what);
	else
		snprintf(to, room, "the file system%s", what);
	return to;
}
