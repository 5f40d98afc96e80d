/*
 * Whether two ends share bytes.  All places that a range stands for are found,
 * top down: partition, disk, the file of a loop device, the members of dm and
 * md devices.  Then the places of both ends are compared.
 */
#include "plan/overlap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/number.h"
#include "base/status.h"
#include "disk/disk.h"
#include "disk/dm.h"
#include "disk/filesystem.h"
#include "disk/opened.h"
#include "disk/overlay.h"
#include "disk/sysfs.h"
#include "end/endpoint.h"

/* A range on a file or device, or on what that lies on. */
struct place {
	dev_t		dev;
	ino_t		ino;	/* 0: the device itself */
	uint64_t	from, to;	/* bytes; to is exclusive */
	bool		somewhere;	/* somewhere in this range */
	uint64_t	id;	/* of a whole disk, see disk_id; or 0 */
};

enum { PLACES = 64 };

struct places {
	struct place	at[PLACES];
	size_t		n;
	bool		on_disk;	/* include the disks of file systems */
	int		err;	/* errno value: there may be more places, */
	dev_t		dev;	/* because this device could not be examined */
};

static void
not_seen(struct places *all, dev_t dev, int err)
{
	if (all->err == 0) {
		all->err = err;
		all->dev = dev;
	}
}

static void
places_add(struct places *all, struct place p)
{
	if (p.to < p.from)
		p.to = UINT64_MAX;
	if (all->n < PLACES)
		all->at[all->n++] = p;
	else
		not_seen(all, p.dev, E2BIG);
}

/* Add the same range of another file. */
static void
add_file(struct places *all, const struct place *p, const struct stat *st)
{
	places_add(all, (struct place){ .dev = st->st_dev, .ino = st->st_ino,
	    .from = p->from, .to = p->to, .somewhere = p->somewhere });
}

/* Add the disks on which a file lies, somewhere; only if wanted. */
static void
add_file_disks(struct places *all, const struct located *l)
{
	dev_t node[PLACES];
	size_t n = 0, i;
	int err = all->on_disk ? filesystem_disks(l, node, PLACES, &n) : 0;

	if (err != 0)
		not_seen(all, l->dev, err);
	for (i = 0; i < n; i++)
		places_add(all, (struct place){ .dev = node[i], .to =
		    UINT64_MAX });
}

/* Add what a loop device lies on. */
static void
add_backing(struct places *all, const struct disk *d, const struct place *p)
{
	struct place below = { .from = p->from + d->backing_off,
		.to = p->to + d->backing_off, .somewhere = p->somewhere };
	struct located l = { .directory = AT_FDCWD, .name = d->backing };
	struct overlaid layer;
	struct stat st;
	int err;

	if (d->backing[0] == '\0')
		return;
	err = disk_backing(d->whole_name, d->backing, &st);
	if (err == 0 && S_ISBLK(st.st_mode)) {
		below.dev = st.st_rdev;
		places_add(all, below);
	} else if (err == 0) {
		below.dev = l.dev = st.st_dev;
		below.ino = l.ino = st.st_ino;
		places_add(all, below);
		add_file_disks(all, &l);
		if (overlay_file(&l, false, &layer, NULL))
			add_file(all, &below, &layer.st);
	} else if (err != ENXIO) {
		not_seen(all, d->node, err);
	}
}

/* Add the pieces in the table of a dm device; false if that does not say. */
static bool
add_pieces(struct places *all, const struct place *p)
{
	struct dm_piece piece[PLACES];
	uint64_t from, to;
	size_t n, i;
	int err = p->somewhere ? 0 : dm_pieces(p->dev, piece, PLACES, &n);

	if (sysfs_unasked(err) != 0)
		not_seen(all, p->dev, err);
	if (p->somewhere || err != 0)
		return false;
	for (i = 0; i < n; i++) {
		from = MAX(p->from, piece[i].start);
		to = MIN(p->to, piece[i].start + piece[i].length);
		if (from < to)
			places_add(all, (struct place){ .dev = piece[i].node,
			    .from = from - piece[i].start + piece[i].off,
			    .to = to - piece[i].start + piece[i].off });
	}
	return true;
}

/* Add the members of a dm or md device; offsets in them are mostly unknown. */
static void
add_slaves(struct places *all, const struct place *p)
{
	dev_t slave[PLACES];
	size_t n, i;
	int err = disk_slaves(p->dev, slave, PLACES, &n);

	if (err != 0)
		not_seen(all, p->dev, err);
	if (n > 0 && add_pieces(all, p))
		return;
	for (i = 0; i < n; i++)
		places_add(all, (struct place){ .dev = slave[i], .to =
		    UINT64_MAX, .somewhere = true });
}

/* Add the places below a place on a block device. */
static void
add_below(struct places *all, struct place *at)
{
	struct place p = *at;
	struct disk d;

	if (!disk_of_block(p.dev, &d) || d.err != 0) {
		not_seen(all, p.dev, d.err);
		return;
	}
	if (d.partition != 0) {
		places_add(all, (struct place){ .dev = d.whole,
		    .from = d.start + p.from,
		    .to = d.start + MIN(p.to, d.length),
		    .somewhere = p.somewhere });
	} else {
		at->id = disk_id(&d);
		add_backing(all, &d, &p);
	}
	add_slaves(all, &p);
}

/* Add the block node for a SCSI node, if the end does not know it. */
static void
look_for_block(struct places *all, const struct endpoint *ep)
{
	struct disk d;

	if (!endpoint_disk(ep, &d) || d.err != 0)
		not_seen(all, ep->id.node, d.err);
	else if (d.node != 0)
		not_seen(all, ep->id.node, ESTALE);
}

/* The id of the disk of an end, if it has one and reports it, or 0. */
static uint64_t
id_of(const struct endpoint *ep)
{
	struct disk d;

	return endpoint_disk(ep, &d) ? disk_id(&d) : 0;
}

/* The id of a disk that is reached over a network, or 0. */
static uint64_t
id_of_remote(const struct endpoint *ep)
{
	return ep->is.remote ? id_of(ep) : 0;
}

/* Whether anything is known about where the end lies. */
static bool
places_located(const struct endpoint *ep)
{
	return ep->id.known || id_of_remote(ep) != 0;
}

/*
 * Find all places of a range of an end, top down: partition, disk, the file of
 * a loop device, members of dm and md.  With on_disk also the disks of the file
 * systems that files lie on.
 */
static void
places_of_end(const struct endpoint *ep, uint64_t from, uint64_t len,
    bool on_disk, struct places *all)
{
	const struct place p = { .dev = ep->id.dev, .ino = ep->id.ino,
		.from = from, .to = from + len, .id = id_of_remote(ep) };
	const struct located l = endpoint_located(ep);
	size_t i;

	*all = (struct places){ .on_disk = on_disk };
	places_add(all, p);
	if (ep->is.remote)
		return;
	if (!ep->is.device)
		add_file_disks(all, &l);
	if (ep->is.device && ep->id.ino != 0)
		look_for_block(all, ep);
	for (i = 0; i < all->n && all->err == 0; i++)
		if (all->at[i].ino == 0)
			add_below(all, &all->at[i]);
}

/*
 * Whether two places are on the same file or device, or on two paths to one
 * disk.
 */
static bool
places_together(const struct place *p, const struct place *q)
{
	return (p->dev != 0 && p->dev == q->dev && p->ino == q->ino) ||
	    (p->id != 0 && p->id == q->id);
}

/* On an overlay, the file of the layer is the same. */
static void
places_add_layer(struct places *all, const struct endpoint *ep)
{
	const struct place p = all->at[0];
	struct stat st;

	if (endpoint_layer(ep, &st))
		add_file(all, &p, &st);
}

/*
 * Whether places overlap.  Something "somewhere" on a disk leaves room for
 * others, such as logical volumes.  If one place lies above the other, it meets
 * it on its way down.
 */
static bool
places_overlap(const struct places *a, const struct places *b)
{
	const struct place *p, *q;

	for (p = a->at; p < a->at + a->n; p++)
		for (q = b->at; q < b->at + b->n; q++)
			if (places_together(p, q) && p->from < q->to &&
			    q->from < p->to && !(p->somewhere && q->somewhere))
				return true;
	return false;
}

/*
 * Only for devices.  A file is written whatever lies below; claim.c looks for
 * loop devices.
 */
static int
maybe_same(const struct plan *p, const struct places *a, struct fault *f)
{
	if (a->err == 0 || !p->dst->is.device)
		return 0;
	return fault_set(f, STATUS_REFUSED, "whether %s overlaps what is read "
	    "from %s is not known, because what %s%u:%u lies on cannot be "
	    "read: %s (force=overlap writes anyway)",
	    p->dst->name, p->src->name, major(a->dev) != 0 ? "/sys/dev/block/" :
	    "the file system ", major(a->dev), minor(a->dev),
	    errno_words(a->err));
}

/*
 * Whether two ends are one export of one server, by whatever name it is
 * reached: that server is one process, or has one address.
 */
static bool
same_export(const struct endpoint *a, const struct endpoint *b)
{
	const struct identity *p = &a->id, *q = &b->id;

	if (!a->is.remote || !b->is.remote)
		return false;
	if (strcmp(a->name, b->name) == 0)
		return true;
	return p->export != NULL && q->export != NULL &&
	    strcmp(p->export, q->export) == 0 &&
	    ((p->server != 0 && p->server == q->server) ||
	    (p->peer[0] != '\0' && strcmp(p->peer, q->peer) == 0));
}

/* Whether the ranges read and written there overlap. */
static bool
export_overlaps(const struct plan *p)
{
	uint64_t length = round_up(p->length, p->pad);

	return same_export(p->src, p->dst) &&
	    p->src_off < p->dst_off + length &&
	    p->dst_off < p->src_off + p->length;
}

static int
overlaps_known(const struct plan *p, struct fault *f)
{
	return fault_set(f, STATUS_REFUSED, "%sthe range to be written on %s "
	    "overlaps the one to be read from %s (force=overlap writes "
	    "anyway)", strcmp(p->src->name, p->dst->name) == 0 ? "source and "
	    "target are the same: " : "", p->dst->name, p->src->name);
}

/* Find where a target is written, or truncated. */
static void
places_written(const struct plan *p, struct places *all)
{
	uint64_t at = p->dst_off, len = round_up(p->length, p->pad);

	if (p->truncate >= 0) {
		at = (uint64_t)p->truncate;
		len = UINT64_MAX - at;
	}
	places_of_end(p->dst, at, len, false, all);
}

/* Whether an open file or disk has bytes of these places. */
static bool
has_some(const char *path, const struct stat *st, void *arg)
{
	const struct place p = {
		.dev = S_ISBLK(st->st_mode) ? st->st_rdev : st->st_dev,
		.ino = S_ISBLK(st->st_mode) ? 0 : st->st_ino, .to = UINT64_MAX,
		.somewhere = true };
	struct places all = { .n = 0 };
	struct stat layer = *st;
	size_t i;

	places_add(&all, p);
	overlay_resolve(path, &layer);
	if (p.ino != 0)
		add_file(&all, &p, &layer);
	for (i = 0; i < all.n && all.err == 0; i++)
		if (all.at[i].ino == 0)
			add_below(&all, &all.at[i]);
	return places_overlap(&all, arg);
}

/*
 * Anything that a server on this machine has opened, for reading or writing as
 * the copy does, may be what it serves.
 */
static int
overlap_served(const struct endpoint *server, const struct endpoint *ep,
    struct places *range, struct fault *f)
{
	pid_t pid = server->id.server;

	if (!opened_any(pid, server->spec.role == TARGET, has_some, range))
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s may be what %s serves: process "
	    "%d has it open (force=overlap writes anyway)", ep->name,
	    server->name, (int)pid);
}

/* The same for the places where a target is written. */
static int
serves_target(const struct endpoint *server, const struct plan *p,
    struct fault *f)
{
	struct places all;

	if (server->id.server == 0 || !p->dst->id.known)
		return 0;
	places_written(p, &all);
	places_add_layer(&all, p->dst);
	return overlap_served(server, p->dst, &all, f);
}

static int
served_here(const struct plan *p, struct fault *f)
{
	struct places all;

	if (serves_target(p->src, p, f) != 0)
		return -1;
	if (p->dst->id.server == 0 || !p->src->id.known)
		return 0;
	places_of_end(p->src, p->src_off, p->length, false, &all);
	places_add_layer(&all, p->src);
	return overlap_served(p->dst, p->src, &all, f);
}

/* Find where a source is read and a target is written. */
static void
both_places(const struct plan *p, struct places *a, struct places *b)
{
	/* What lies below a file system is written only with force=. */
	places_of_end(p->src, p->src_off, p->length, p->dst->id.ino == 0 &&
	    (p->opts->force & ~(unsigned)FORCE_OVERLAP) != 0, a);
	places_written(p, b);
	if (p->src->id.dev != p->dst->id.dev) {	/* else they are files there */
		places_add_layer(a, p->src);
		places_add_layer(b, p->dst);
	}
}

/* Refuse a target that is truncated or written where the source is read. */
int
overlap_source(const struct plan *p, struct fault *f)
{
	bool known = places_located(p->src) && places_located(p->dst);
	struct places a, b;

	if (p->length == 0 || (p->opts->force & FORCE_OVERLAP) != 0)
		return 0;
	if (export_overlaps(p))
		return overlaps_known(p, f);
	if (known) {
		both_places(p, &a, &b);
		if (places_overlap(&a, &b))
			return overlaps_known(p, f);
	}
	if (served_here(p, f) != 0)
		return -1;
	return known ? maybe_same(p, a.err != 0 ? &a : &b, f) : 0;
}

static int
both_written(const struct plan *p, const struct plan *q, struct fault *f)
{
	return fault_set(f, STATUS_REFUSED, "the ranges to be written on %s "
	    "and on %s overlap", p->dst->name, q->dst->name);
}

int
overlap_targets(const struct plan *p, const struct plan *q, struct fault *f)
{
	struct places a, b;

	if (same_export(p->dst, q->dst))
		return both_written(p, q, f);
	if ((p->opts->force & FORCE_OVERLAP) == 0 &&
	    (serves_target(p->dst, q, f) != 0 ||
	    serves_target(q->dst, p, f) != 0))
		return -1;
	if (!places_located(p->dst) || !places_located(q->dst))
		return 0;
	places_written(p, &a);
	places_written(q, &b);
	places_add_layer(&a, p->dst);
	places_add_layer(&b, q->dst);
	if (places_overlap(&a, &b))
		return both_written(p, q, f);
	if ((a.err != 0 && p->dst->is.device) ||
	    (b.err != 0 && q->dst->is.device))
		return fault_set(f, STATUS_REFUSED, "whether %s and %s overlap "
		    "is not known, because what they lie on cannot be read: %s",
		    p->dst->name, q->dst->name, errno_words(a.err != 0 ?
		    a.err : b.err));
	return 0;
}
