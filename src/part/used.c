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
#include <bsd/sys/endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"
#include "base/status.h"
#include "map/domain.h"
#include "map/mapfile.h"
#include "part/parts.h"
#include "idle.h"

enum {
	ROOM = 256 << 10,	/* bytes of a read, at most */
	SECTOR = 512,
	LEAST_MOST = 1 << 20,	/* bytes: no longer range is copied along */
	TABLE = 1 << 20,	/* bytes: a partition table needs no more */
	ALONG = 100,		/* what is copied along is one of so many */
	MBR_ROWS = 446,		/* byte of the first of four */
	PROTECTIVE = 0xee,	/* type of the row that stands for a GPT */
};

/* ------------------------------------------------------------- reading */

struct look {
	const struct plan *p;
	unsigned	 how;	/* enum fs_how */
	struct lane	 lane;
	uint64_t	 base;	/* of the file system, on the source */
	unsigned char	*buf;	/* ROOM bytes, aligned */
	struct map	*known;	/* what the target has already, or NULL */
	struct endpoint	 reader;	/* of the target, if that is known */
	struct lane	 there;
};

/* What a rescue has written is not asked of a failing disk again. */
static bool
look_at_target(struct look *l)
{
	struct endpoint *dst = l->p->dst;
	struct fault f;

	if (dst->is.absent || !endpoint_readable_back(dst) ||
	    endpoint_readback(&l->reader, dst, READ_BACK_MOST, &f) != 0)
		return false;
	if (lane_attach(&l->there, &l->reader, l->p->dst_off, -1) == 0)
		return true;
	endpoint_close(&l->reader);
	return false;
}

static int
look_open(struct look *l, const struct plan *p, unsigned how,
    struct map *known)
{
	int err;

	*l = (struct look){ .p = p, .how = how, .known = known,
		.buf = aligned_alloc(4096, ROOM) };
	err = l->buf == NULL ? ENOMEM :
	    lane_attach(&l->lane, p->src, p->src_off, -1);
	if (err != 0)
		free(l->buf);
	else if (known != NULL && !look_at_target(l))
		l->known = NULL;
	return err;
}

static void
look_close(struct look *l)
{
	lane_detach(&l->lane);
	if (l->known != NULL) {
		lane_detach(&l->there);
		endpoint_close(&l->reader);
	}
	free(l->buf);
}

/* The end that a range is read from, and in which units. */
static struct lane *
lane_for(struct look *l, uint64_t off, size_t len, uint64_t *unit)
{
	bool there = l->known != NULL && off < l->p->length &&
	    map_all(l->known, off, len, FINISHED);

	*unit = there ? l->reader.geo.io_align : MAX(l->p->src->geo.block,
	    (uint32_t)SECTOR);
	return there ? &l->there : &l->lane;
}

/* For fs_map_read: len bytes at off of the file system; an errno. */
static int
look_read(void *arg, uint64_t off, void *buf, size_t len)
{
	struct look *l = arg;
	unsigned char *to = buf;
	struct lane *lane;
	uint64_t unit, at, place;
	size_t before, n;

	for (; len > 0; len -= n, off += n, to += n) {
		struct io io = { .op = OP_READ, .buf = l->buf,
			.careful = true };

		at = l->base + off - l->p->src_off;
		lane = lane_for(l, at, len, &unit);
		place = lane_place(lane, at);
		before = (size_t)(place % unit);
		io.off = at - before;
		io.len = (size_t)MIN(round_up(before + len, unit), ROOM);
		lane_transfer(lane, &io);
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
	struct seg *last = l->n > 0 ? &l->seg[l->n - 1] : NULL, *more;
	size_t room = l->room * 2 + 64;

	if (off >= end)
		return 0;
	if (last != NULL && last->off + last->len == off) {
		last->len += end - off;
		return 0;
	}
	if (l->seg == NULL || l->n == l->room) {
		more = reallocarray(l->seg, room, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		l->seg = more;
		l->room = room;
	}
	l->seg[l->n++] = (struct seg){ off, end - off, OUTSIDE };
	return 0;
}

/*
 * Of what is in the copy.  Only whole pages, and blocks, of the target are left
 * out.
 */
static int
append_free(struct used_list *l, const struct plan *p, uint64_t off,
    uint64_t end)
{
	uint64_t unit = p->grain;

	off = MAX(off, p->src_off);
	end = MIN(end, p->src_off + p->length);
	if (off >= end)
		return 0;
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

/* ------------------------------------------------------------- judging */

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

/* -1 when somebody may write to it while it is copied. */
static int
idle(struct used_fs *fs, const struct endpoint *ep)
{
	char why[IDLE_WHY];

	return part_idle(ep, fs->off, fs->off + fs->length,
	    fs->partition > 0, why) == 0 ? 0 : whole(fs, "%s", why);
}

/* Whether another one may lay claim to its bytes, or it is not all there. */
static int
placed(struct used_fs *fs, const struct used *u, const struct plan *p)
{
	uint64_t end = fs->off + fs->length, to = p->src_off + p->length;
	size_t i;

	if (end > (uint64_t)p->src->geo.size)
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

/* What it says of itself. */
static void
take_over(struct used_fs *fs, const struct fs_map *m)
{
	if (m->type[0] != '\0')
		strlcpy(fs->type, m->type, sizeof(fs->type));
	if (m->label[0] != '\0')
		strlcpy(fs->label, m->label, sizeof(fs->label));
	fs->used = m->used;
	fs->free = m->free_bytes;
	fs->state = m->state;
}

/* What speaks against a file system that says itself that it is clean. */
static int
convinced(struct used_fs *fs, const struct fs_map *m, const struct volume *v)
{
	take_over(fs, m);
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
	x = m->meta.at;
	end = x + m->meta.n;
	for (; x < end && err == 0; x++)
		err = append(&u->meta, fs->off + x->off,
		    fs->off + x->off + x->len);
	return err;
}

/* Whether what it calls free is to be left out. */
static bool
proven(struct used_fs *fs, const struct used *u, struct look *l,
    struct fs_map *m, int *err)
{
	struct fs_source source = { .read = look_read, .arg = l,
		.length = fs->length };
	struct volume v;

	parts_volume(l->p->src, fs->off, fs->length, &v);
	strlcpy(fs->type, v.type, sizeof(fs->type));
	strlcpy(fs->label, v.label, sizeof(fs->label));
	if (placed(fs, u, l->p) != 0)
		return false;
	*err = fs_map_read(v.type, &source, l->how, m);
	return *err == 0 && convinced(fs, m, &v) == 0 &&
	    idle(fs, l->p->src) == 0;
}

/* Whether it can tell what is to be read first: it need not be true. */
static bool
guessed(struct used_fs *fs, struct look *l, struct fs_map *m, int *err)
{
	struct fs_source source = { .read = look_read, .arg = l,
		.length = fs->length };

	if (fs->off + fs->length > (uint64_t)l->p->src->geo.size)
		return whole(fs, "it goes beyond the end of %s",
		    l->p->src->name) == 0;
	*err = fs_map_read("", &source, l->how, m);
	if (*err != 0)
		return false;
	take_over(fs, m);
	fs->treated = TREATED_ORDERED;
	return m->state != FS_UNKNOWN ||
	    whole(fs, "what it uses is not known") == 0;
}

/* Look at one of them.  0 or ENOMEM. */
static int
judge(struct used *u, struct used_fs *fs, struct look *l)
{
	struct fs_map m = { .type = "" };
	int err = 0;

	l->base = fs->off;
	if ((l->how & FS_ORDER) != 0 ? guessed(fs, l, &m, &err) :
	    proven(fs, u, l, &m, &err))
		err = take(u, l->p, fs, &m);
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
	int err = append(&u->meta, 0, t->n == 0 ? 0 :
	    MIN(t->part[0].start, TABLE));
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

	parts_volume(p->src, 0, (uint64_t)p->src->geo.size, &v);
	for (i = 0; i < u->n && v.type[0] != '\0'; i++)
		whole(&u->fs[i], "the whole of %s has the signature of %s",
		    p->src->name, v.type);
}

/*
 * The MBR before a GPT may have partitions, too (a hybrid one): those of the
 * GPT over again, or else one of the two tables is from before.
 */
static int
doubt_mbr(struct used *u, struct look *l, uint32_t sector)
{
	unsigned char mbr[SECTOR], *e;
	uint64_t from, to;
	int err;
	size_t i;

	l->base = 0;
	err = look_read(l, 0, mbr, sizeof(mbr));
	for (e = mbr + MBR_ROWS; err == 0 && e < mbr + SECTOR - 2; e += 16) {
		from = (uint64_t)le32dec(e + 8) * sector;
		to = from + (uint64_t)le32dec(e + 12) * sector;
		for (i = 0; i < u->n && e[4] != 0 && e[4] != PROTECTIVE; i++)
			if (u->fs[i].off < to &&
			    from < u->fs[i].off + u->fs[i].length &&
			    (u->fs[i].off != from ||
			    u->fs[i].length != to - from))
				whole(&u->fs[i], "the MBR has another "
				    "partition on the same bytes");
	}
	return err == 0 || err == ENOMEM ? err : 0;
}

/* The partition table, of the target if that has it. */
static int
table(struct look *l, struct parts *t)
{
	const struct plan *p = l->p;
	struct fault f;

	if (l->known != NULL && p->src_off == 0 && p->dst_off == 0) {
		if (parts_rescued(p->dst, p->src, l->known, t, &f) == 0 &&
		    t->n > 0)
			return 0;
		parts_free(t);
	}
	return parts_read(p->src, t, &f);
}

/* What there is to look at; 0 or an errno. */
static int
survey(struct used *u, struct look *l)
{
	const struct plan *p = l->p;
	const struct endpoint *ep = p->src;
	uint64_t size = (uint64_t)ep->geo.size;
	struct parts t;
	int err;

	if (ep->lim.part > 0)
		return add(u, ep->lim.part, ep->lim.base, size - ep->lim.base);
	if (table(l, &t) != 0)
		return 0;		/* the copy will tell of it */
	/* The boot sector of a file system looks like a table of nothing. */
	if (t.n == 0 && t.wrong[0] == '\0' && strcmp(t.type, "gpt") != 0)
		err = add(u, 0, 0, size);
	else
		err = add_parts(u, p, &t);
	if (t.n > 0 && (l->how & FS_ORDER) == 0)
		doubt_table(u, p);
	if (strcmp(t.type, "gpt") == 0 && err == 0 &&
	    (l->how & FS_ORDER) == 0)
		err = doubt_mbr(u, l, t.sector);
	parts_free(&t);
	return err;
}

/* All that is free, and what comes first; 0 or an errno. */
static int
look(struct used *u, const struct plan *p, unsigned how, struct map *known)
{
	struct look l;
	int err = look_open(&l, p, how, known);
	size_t i;

	if (err != 0)
		return err;
	err = survey(u, &l);
	for (i = 0; i < u->n && err == 0; i++)
		if (u->fs[i].treated != TREATED_WHOLE)
			err = judge(u, &u->fs[i], &l);
	look_close(&l);
	return err;
}

/* How to look, as used= says. */
static unsigned
how_of(const struct opts *o)
{
	return (o->used & USED_META) != 0 ? FS_ORDER | FS_META :
	    (o->used & USED_FIRST) != 0 ? FS_ORDER : 0;
}

/*
 * The same with what the file of map= has as finished, for an order of reading.
 * One that cannot be read is refused later.
 */
static int
look_known(struct used *u, const struct plan *p)
{
	struct mapfile m = { .n = 0 };
	struct map known;
	struct fault f;
	size_t i;
	int err;

	if (map_init(&known, p->length, p->chunk, 0) != 0)
		return ENOMEM;
	err = mapfile_load(&m, p->opts->map, &f) == 0 ? 0 : ENOENT;
	for (i = 0; i < m.n && err == 0; i++) {
		uint64_t off = MAX(m.seg[i].off, p->src_off);
		uint64_t end = MIN(m.seg[i].off + m.seg[i].len,
		    p->src_off + p->length);

		if (m.seg[i].status == FINISHED && off < end)
			err = map_set(&known, off - p->src_off, end - off,
			    FINISHED);
	}
	err = look(u, p, how_of(p->opts), err == 0 && m.n > 0 ? &known : NULL);
	mapfile_free(&m);
	map_free(&known);
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
	if (p->dst->is.streamed)
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

/* Whether what is not mapped begins and ends with whole pages or blocks. */
static bool
gaps_fit(const struct plan *p, const struct bmap *m)
{
	uint64_t at = p->dst_off, end;
	size_t i;

	for (i = 0; i <= m->n; i++) {
		end = p->dst_off + (i < m->n ? m->range[i].off : m->size);
		if (at < end && (at % p->grain != 0 ||
		    (i < m->n && end % p->grain != 0)))
			return false;
		if (i < m->n)
			at = end + m->range[i].len;
	}
	return true;
}

/* Whether that is the image, and its blocks lie well on the target. */
static int
bmap_fits(const struct plan *p, const struct bmap *m, struct fault *f)
{
	const struct endpoint *src = p->src, *dst = p->dst;

	if (src->geo.size >= 0 && (src->is.device ?
	    (uint64_t)src->geo.size < m->size :
	    (uint64_t)src->geo.size != m->size))
		return fault_set(f, STATUS_REFUSED, "%s is of an image of "
		    "%" PRIu64 " bytes, and %s has %" PRIi64, p->opts->bmap,
		    m->size, src->name, src->geo.size);
	if (dst->is.streamed)
		return fault_set(f, STATUS_USAGE, "bmap= leaves out what is "
		    "not mapped, and %s is written in order", dst->name);
	if (!gaps_fit(p, m))
		return fault_set(f, STATUS_REFUSED, "bmap= makes zeros of what "
		    "is not mapped, by blocks of %" PRIu64 " bytes: seek= and "
		    "the blocks of %s must be multiples of that", p->grain,
		    p->opts->bmap);
	if (src->is.streamed && (p->opts->oflag & FLAG_NOZERO) != 0)
		return fault_set(f, STATUS_USAGE, "oflag=nozero is not for "
		    "what comes by a pipe: unpack it first");
	return 0;
}

/* What a bmap does not map is left out. */
static int
of_bmap(struct used *u, struct plan *p, const struct bmap *m, struct fault *f)
{
	uint64_t at = 0, end;
	int err = 0;
	size_t i;

	if (bmap_fits(p, m, f) != 0)
		return -1;
	for (i = 0; i <= m->n && err == 0; i++) {
		end = i < m->n ? m->range[i].off : m->size;
		err = append(&u->free, at, end);
		if (i < m->n)
			at = m->range[i].off + m->range[i].len;
	}
	if (err != 0)
		return fault_errno(f, err, "%s", p->opts->bmap);
	u->bytes_free = bytes_of(&u->free, UINT64_MAX);
	u->length = m->size;
	u->masks = p->src->is.streamed;
	u->leaves = !u->masks;
	u->clears = u->leaves && (p->opts->oflag & FLAG_NOZERO) == 0;
	p->used = u;
	return 0;
}

int
used_make(struct used *u, struct plan *p, const struct bmap *m,
    struct fault *f)
{
	int err;

	*u = (struct used){ .n = 0 };
	if (p->opts->bmap != NULL)
		return of_bmap(u, p, m, f);
	if (p->opts->used == 0 && p->opts->usedmap == NULL)
		return 0;
	if (possible(p, f) != 0)
		return -1;
	err = (p->opts->used & (USED_FIRST | USED_META)) != 0 ?
	    look_known(u, p) : look(u, p, 0, NULL);
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

/* Give what is not yet tried of a list another time. */
static int
put_off(const struct plan *p, struct map *map, const struct used_list *l,
    enum seg_status from, enum seg_status to)
{
	uint64_t off, end;
	int err = 0;
	size_t i;

	for (i = 0; i < l->n && err == 0; i++) {
		off = MAX(l->seg[i].off, p->src_off);
		end = MIN(l->seg[i].off + l->seg[i].len,
		    p->src_off + p->length);
		if (off < end)
			err = map_change(map, off - p->src_off, end - off,
			    from, to);
	}
	return err;
}

static int
order(const struct plan *p, struct map *map, const struct used *u)
{
	bool meta = (p->opts->used & USED_META) != 0;
	int err = map_change(map, 0, p->length, LATER, UNTRIED);

	if (err == 0)
		err = map_change(map, 0, p->length, LAST, UNTRIED);
	if (err == 0)
		err = put_off(p, map, &u->free, UNTRIED, LAST);
	if (err == 0 && meta)
		err = map_change(map, 0, p->length, UNTRIED, LATER);
	if (err == 0 && meta)
		err = put_off(p, map, &u->meta, LATER, UNTRIED);
	return err != 0 || !meta ? err :
	    put_off(p, map, &u->meta, LAST, UNTRIED);
}

int
used_order(const struct plan *p, struct map *map)
{
	return order(p, map, p->used);
}

int
used_order_anew(const struct plan *p, struct map *map)
{
	struct used u = { .n = 0 };
	int err = look(&u, p, how_of(p->opts) | FS_DEEP, map);

	if (err == 0) {
		drop_short(&u.free, p->length);
		err = order(p, map, &u);
	}
	used_free(&u);
	return err;
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

/* The first range that ends behind "off", or the end of the list. */
static size_t
find(const struct used_list *l, uint64_t off)
{
	size_t lo = 0, hi = l->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (l->seg[mid].off + l->seg[mid].len <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool
used_next(const struct plan *p, uint64_t at, uint64_t end, uint64_t *from,
    uint64_t *to)
{
	const struct used_list *l = p->used != NULL && p->used->leaves ?
	    &p->used->free : &(struct used_list){ .n = 0 };
	size_t i = find(l, p->src_off + at);

	for (; i < l->n && l->seg[i].off <= p->src_off + at; i++)
		at = l->seg[i].off + l->seg[i].len - p->src_off;
	*from = at;
	*to = i < l->n ? MIN(l->seg[i].off - p->src_off, end) : end;
	return at < end;
}

void
used_mask(const struct plan *p, uint64_t off, unsigned char *buf, size_t len)
{
	const struct used_list *l = &p->used->free;
	uint64_t end = off + len, from, to;
	size_t i;

	for (i = find(l, off); i < l->n && l->seg[i].off < end; i++) {
		from = MAX(l->seg[i].off, off);
		to = MIN(l->seg[i].off + l->seg[i].len, end);
		memset(buf + (from - off), 0, (size_t)(to - from));
	}
}

int
used_kept(const struct plan *p, struct fault *f)
{
	struct used now = { .n = 0 };
	const struct seg *s;
	char name[256];
	int err;

	if (p->used == NULL || !p->used->leaves || p->used->n == 0 ||
	    p->used->free.n == 0)
		return 0;
	err = look(&now, p, 0, NULL);
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
