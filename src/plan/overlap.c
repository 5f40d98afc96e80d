/*
 * Whether two ends share bytes: all places that a range stands for are found,
 * and compared with those of the other.
 */
#include "plan/safety.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/status.h"
#include "disk/disk.h"
#include "disk/opened.h"
#include "disk/overlay.h"
#include "disk/stack.h"
#include "disk/sysfs.h"
#include "end/endpoint.h"

/* Add the block node for a SCSI node, if the end does not know it. */
static void
look_for_block(struct stack *all, const struct endpoint *ep)
{
	struct disk d;

	if (!endpoint_disk(ep, &d) || d.err != 0)
		stack_not_seen(all, ep->id.node, d.err);
	else if (d.node != 0)
		stack_not_seen(all, ep->id.node, ESTALE);
}

/* The id of the disk of an end, or 0.  Few have to make room for its facts. */
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
 * Find all places of a range of an end, top down.  With on_disk also the disks
 * of the file systems that files lie on.
 */
static void
places_of_end(const struct endpoint *ep, uint64_t from, uint64_t len,
    bool on_disk, struct stack *all)
{
	const struct located l = endpoint_located(ep);

	stack_begin(all, STACK_TABLES | STACK_NAMES | STACK_IDS |
	    (on_disk ? (unsigned)STACK_HOSTS : 0));
	stack_add(all, (struct stack_place){ .dev = ep->id.dev,
	    .ino = ep->id.ino, .from = from, .to = from + len,
	    .id = id_of_remote(ep) });
	if (ep->is.remote)
		return;
	if (!ep->is.device)
		stack_add_hosts(all, &l);
	if (ep->is.device && ep->id.ino != 0)
		look_for_block(all, ep);
	stack_down(all);
}

/* Add the same range of another file. */
static void
add_file(struct stack *all, const struct stat *st)
{
	struct stack_place p = all->at[0];

	p.dev = st->st_dev;
	p.ino = st->st_ino;
	stack_add(all, p);
}

/* On an overlay, the file of the layer is the same. */
static void
places_add_layer(struct stack *all, const struct endpoint *ep)
{
	struct stat st;

	if (endpoint_layer(ep, &st))
		add_file(all, &st);
	else if (errno != 0)
		stack_not_seen(all, ep->id.dev, errno);
}

/*
 * A file is written whatever lies below, as far as that could be asked; claim.c
 * looks for loop devices.
 */
static int
maybe_same(const struct plan *p, const struct stack *a, struct fault *f)
{
	if (p->dst->is.device ? a->err == 0 : sysfs_unasked(a->err) == 0)
		return 0;
	return opts_refuse(f, FORCE_OVERLAP, "whether %s overlaps what is "
	    "read from %s is not known, because what %s%u:%u lies on cannot "
	    "be read: %s",
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
	return same_export(p->src, p->dst) && (p->src->carrier != NULL ||
	    (p->src_off < plan_target_end(p) &&
	    p->dst_off < p->src_off + p->length));
}

static int
overlaps_known(const struct plan *p, struct fault *f)
{
	return opts_refuse(f, FORCE_OVERLAP, "%sthe range to be written on "
	    "%s overlaps the one to be read from %s", strcmp(p->src->name,
	    p->dst->name) == 0 ? "source and target are the same: " : "",
	    p->dst->name, p->src->name);
}

/* Find where a source is read: of one that is unpacked, anywhere. */
static void
places_read(const struct plan *p, bool on_disk, struct stack *all)
{
	if (p->src->carrier != NULL)
		places_of_end(p->src, 0, UINT64_MAX, on_disk, all);
	else
		places_of_end(p->src, p->src_off, p->length, on_disk, all);
}

/* Find where a target is written, or truncated. */
static void
places_written(const struct plan *p, struct stack *all)
{
	uint64_t at = p->dst_off, len = plan_target_end(p) - at;

	if (p->truncate >= 0) {
		at = (uint64_t)p->truncate;
		len = UINT64_MAX - at;
	}
	places_of_end(p->dst, at, len, false, all);
}

/* Whether an open file or disk has bytes of these places. */
static int
has_some(const char *path, const struct stat *st, void *arg)
{
	bool block = S_ISBLK(st->st_mode), meet;
	struct stat layer = *st;
	struct stack all;

	stack_begin(&all, STACK_TABLES | STACK_NAMES | STACK_IDS);
	stack_add(&all, (struct stack_place){
	    .dev = block ? st->st_rdev : st->st_dev,
	    .ino = block ? 0 : st->st_ino, .to = UINT64_MAX,
	    .somewhere = true });
	errno = overlay_resolve(path, &layer);
	if (errno != 0)
		return -1;
	if (!block)
		add_file(&all, &layer);
	stack_down(&all);
	meet = stack_meet(&all, arg);
	stack_end(&all);
	return meet;
}

/*
 * Anything that a server on this machine has opened, for reading or writing as
 * the copy does, may be what it serves.
 */
static int
overlap_served(const struct endpoint *server, const struct endpoint *ep,
    struct stack *range, struct fault *f)
{
	pid_t pid = server->id.server;
	int has = opened_any(pid, server->spec.role == TARGET, has_some, range);

	if (has == 0)
		return 0;
	if (has < 0)
		return opts_refuse(f, FORCE_OVERLAP, "%s: what %s serves "
		    "cannot be looked up: %s", ep->name, server->name,
		    errno_words(errno));
	return opts_refuse(f, FORCE_OVERLAP, "%s may be what %s serves: "
	    "process %d has it open", ep->name, server->name, (int)pid);
}

/* The same for the places where a target is written. */
static int
serves_target(const struct endpoint *server, const struct plan *p,
    struct fault *f)
{
	struct stack all;
	int failed;

	if (server->id.server == 0 || !p->dst->id.known)
		return 0;
	places_written(p, &all);
	places_add_layer(&all, p->dst);
	failed = overlap_served(server, p->dst, &all, f);
	stack_end(&all);
	return failed;
}

static int
served_here(const struct plan *p, struct fault *f)
{
	struct stack all;
	int failed;

	if (serves_target(p->src, p, f) != 0)
		return -1;
	if (p->dst->id.server == 0 || !p->src->id.known)
		return 0;
	places_read(p, false, &all);
	places_add_layer(&all, p->src);
	failed = overlap_served(p->dst, p->src, &all, f);
	stack_end(&all);
	return failed;
}

/* Find where a source is read and a target is written. */
static void
both_places(const struct plan *p, struct stack *a, struct stack *b)
{
	/* What lies below a file system is written only with force=. */
	places_read(p, p->dst->id.ino == 0 && (p->opts->force &
	    ~(unsigned)FORCE_OVERLAP) != 0, a);
	places_written(p, b);
	if (p->src->id.dev != p->dst->id.dev) {	/* else they are files there */
		places_add_layer(a, p->src);
		places_add_layer(b, p->dst);
	}
}

/* Refuse if they meet; *unsure is why that is not known, or stays empty. */
static int
both_met(const struct plan *p, struct fault *unsure, struct fault *f)
{
	struct stack a, b;
	bool meet;

	both_places(p, &a, &b);
	meet = stack_meet(&a, &b);
	if (!meet)
		(void)maybe_same(p, a.err != 0 ? &a : &b, unsure);
	stack_end(&a);
	stack_end(&b);
	return meet ? overlaps_known(p, f) : 0;
}

/* Refuse a target that is truncated or written where the source is read. */
int
overlap_source(const struct plan *p, struct fault *f)
{
	struct fault unsure;

	unsure.status = 0;
	if ((plan_target_end(p) == p->dst_off && p->src->carrier == NULL) ||
	    (p->opts->force & FORCE_OVERLAP) != 0)
		return 0;
	if (export_overlaps(p))
		return overlaps_known(p, f);
	if (places_located(p->src) && places_located(p->dst) &&
	    both_met(p, &unsure, f) != 0)
		return -1;
	if (served_here(p, f) != 0)
		return -1;
	if (unsure.status == 0)
		return 0;
	*f = unsure;
	return -1;
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
	struct stack a, b;
	int failed = 0;

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
	if (stack_meet(&a, &b))
		failed = both_written(p, q, f);
	else if ((a.err != 0 && p->dst->is.device) ||
	    (b.err != 0 && q->dst->is.device))
		failed = fault_set(f, STATUS_REFUSED, "whether %s and %s "
		    "overlap is not known, because what they lie on cannot be "
		    "read: %s", p->dst->name, q->dst->name,
		    errno_words(a.err != 0 ? a.err : b.err));
	stack_end(&a);
	stack_end(&b);
	return failed;
}
