/*
 * An image in a Ceph cluster, by librbd.
 *
 * All lanes share one image; each has one request of its own, and waits for it.
 * An end that does not answer within timeout= is gone.  A write whose result is
 * unknown may still be executed at any time, so nothing more is written to a
 * target, and everything since the last flush is in doubt.
 *
 * A client that opens an image for writing watches it, which others can see; so
 * a target in use is recognised.  Most images also have a lock, which keeps
 * others away until the end.
 */
#include "config.h"

#include "end/backend.h"

#include "base/status.h"

#ifdef HAVE_LIBRBD
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "base/signals.h"
#include "cli/opts.h"
#include "rbd_image.h"

enum {
	ZERO_MOST = 64 << 20,	/* bytes per request without data */
	ASK_MOST = 1 << 30,	/* bytes per query for extents */
};

struct extent_cache {		/* which parts have data, or have changed */
	const char	*since;	/* a snapshot, or NULL */
	struct rbd_extents x;	/* the last answer */
};

struct rbd {			/* an endpoint's priv */
	struct rbd_image image;
	bool		 unflushed;	/* a flush failed: later ones do not
					 * count */
	int		 zero_flags;	/* RBD_WRITE_ZEROES_ */
	pthread_mutex_t	 lock;	/* held over a query; guards: */
	struct extent_cache data, changed;
};

/* Loaded when needed: 9 MB and 30 ms. */
#define RBD(name)	"rbd_" #name,
#define RADOS(name)	"rados_" #name,
static const struct library librbd = LIBRARY("librbd.so.1", "librbd1",
    LIBRBD_FUNCTIONS(RBD) LIBRADOS_FUNCTIONS(RADOS));

/* ---------------------------------------------------------------- opening */

static void
rbd_release(struct endpoint *ep, struct rbd *rbd)
{
	if (!rbd_image_close(&rbd->image)) {
		ep->is.stuck = true;
		return;
	}
	pthread_mutex_destroy(&rbd->lock);
	free(rbd->data.x.at);
	free(rbd->changed.x.at);
	free(rbd);
}

static int
rbd_close_end(struct endpoint *ep)
{
	rbd_release(ep, ep->priv);
	return 0;
}

static void
rbd_describe(struct endpoint *ep, const struct rbd *rbd)
{
	const struct rbd_image *image = &rbd->image;
	bool target = ep->spec.role == TARGET;

	ep->geo.size = ep->geo.room = (int64_t)image->size;
	ep->geo.io_max = RBD_CALL_MOST;
	ep->cmd = (struct commands){ .unit = 1, .most = RBD_CALL_MOST,
		.zero_most = ZERO_MOST, .end = image->size };
	ep->sync_why = "librbd has threads of its own";
	ep->is.seekable = ep->is.past_cache = ep->is.probed = true;
	ep->is.device = ep->is.remote = true;
	ep->is.durable = target;
	ep->is.zeroes = target;
	ep->is.sparse = !target && (ep->spec.flags & FLAG_NOSPARSE) == 0;
	snprintf(ep->offers, sizeof(ep->offers), "cluster %s, image %s%s%s%s",
	    image->fsid, image->id,
	    image->snapshot != UINT64_MAX ? ", a snapshot" : "",
	    image->user[0] != '\0' ? ", open for writing by " : "",
	    image->user);
}

static int
rbd_take_name(const struct endpoint *ep, struct rbd *rbd, struct fault *f)
{
	const char *wrong = rbd_name_parse(&rbd->image.name, ep->name);

	if (wrong != NULL)
		return fault_set(f, STATUS_USAGE, "%s: %s", ep->name, wrong);
	if (ep->spec.role == SOURCE || rbd->image.name.snapshot == NULL)
		return 0;
	rbd_name_free(&rbd->image.name);
	return fault_set(f, STATUS_USAGE, "%s: a snapshot is never written; "
	    "without @ it is the image", ep->name);
}

static int
rbd_check(const struct endpoint *ep, const struct rbd *rbd, struct fault *f)
{
	if (rbd->image.size <= INT64_MAX)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: the cluster says that its "
	    "size is %llu, which no disk has", ep->name,
	    (unsigned long long)rbd->image.size);
}

static int
rbd_open_end(struct endpoint *ep, bool look, struct fault *f)
{
	struct rbd *rbd = calloc(1, sizeof(*rbd));
	struct rbd_image *image;

	if (rbd == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	image = &rbd->image;
	if (rbd_take_name(ep, rbd, f) != 0 ||
	    library_load(&librbd, &image->lib, ep->name, f) != 0) {
		rbd_name_free(&image->name);
		free(rbd);
		return -1;
	}
	signals_ignore();		/* a write to a lost connection raises
					 * SIGPIPE */
	pthread_mutex_init(&rbd->lock, NULL);
	image->limit = ep->spec.timeout;
	image->since = rbd->changed.since = ep->spec.since;
	image->target = ep->spec.role == TARGET;
	image->writable = image->target && !look;
	rbd->zero_flags = (ep->spec.flags & FLAG_NOSPARSE) != 0 ?
	    RBD_WRITE_ZEROES_FLAG_THICK_PROVISION : 0;
	if (rbd_image_open(image, ep->name, f) != 0 ||
	    rbd_check(ep, rbd, f) != 0) {
		rbd_release(ep, rbd);
		return -1;
	}
	rbd_describe(ep, rbd);
	ep->priv = rbd;
	return 0;
}

/* ------------------------------------------------------- before the writing */

/* Whether two names stand for the same bytes of the same image. */
static bool
same_image(const struct rbd_image *a, const struct rbd_image *b)
{
	const char *in_a = a->name.space, *in_b = b->name.space;

	return strcmp(a->fsid, b->fsid) == 0 && a->pool == b->pool &&
	    strcmp(in_a != NULL ? in_a : "", in_b != NULL ? in_b : "") == 0 &&
	    strcmp(a->id, b->id) == 0 && a->snapshot == b->snapshot;
}

static int
rbd_check_range(struct endpoint *ep, uint64_t from, uint64_t to,
    const struct endpoint *src, uint64_t src_from, struct fault *f)
{
	const struct rbd *rbd = ep->priv, *other = src->priv;
	unsigned force = ep->spec.force;

	if (rbd->image.user[0] != '\0' && (force & FORCE_HELD) == 0)
		return fault_set(f, STATUS_REFUSED, "%s is in use: it is open "
		    "for writing by %s (force=held writes anyway)",
		    ep->name, rbd->image.user);
	if (src->be == ep->be && (force & FORCE_OVERLAP) == 0 &&
	    same_image(&rbd->image, &other->image) && from < src_from +
	    (to - from) && src_from < to)
		return fault_set(f, STATUS_REFUSED, "the range to be written "
		    "on %s overlaps the one to be read from %s (force=overlap "
		    "writes anyway)", ep->name, src->name);
	return 0;
}

static int
rbd_prepare(struct endpoint *ep, int64_t length, struct fault *f)
{
	struct rbd *rbd = ep->priv;
	int err = (ep->spec.force & FORCE_HELD) != 0 ? 0 :
	    rbd_image_lock(&rbd->image);

	(void)length;
	return err == 0 ? 0 : fault_errno(f, err, "%s: locking it", ep->name);
}

/* --------------------------------------------------------------- requests */

static int
rbd_attach(struct lane *lane)
{
	lane->priv = rbd_call_new();
	return lane->priv != NULL ? 0 : ENOMEM;
}

static int
rbd_detach(struct lane *lane)
{
	rbd_call_free(lane->priv);
	return 0;
}

/* What has happened to an image that was lost with err. */
static const char *
rbd_loss(int err)
{
	return err == ESHUTDOWN ? "the cluster has blocklisted us" :
	    err == ENOTCONN ? "the connection to the cluster is lost" :
	    "the cluster does not answer within timeout=";
}

/* A request has failed with err: fill in the io. */
static void
rbd_fail(const struct lane *lane, struct io *io, int err)
{
	const struct endpoint *ep = lane->ep;

	io->err = err;
	if (!rbd_image_gone(err)) {
		if (err != EIO && err != ENOSPC)
			snprintf(io->why, sizeof(io->why), "%s, says the "
			    "cluster", errno_words(err));
		return;
	}
	io->err = ENODEV;
	io->spent = true;
	snprintf(io->why, sizeof(io->why), "%s%s", rbd_loss(err),
	    ep->spec.role == TARGET ?
	    "; writes since the last flush may be lost" : "");
}

static void
rbd_transfer(struct lane *lane, struct io *io)
{
	struct rbd *rbd = lane->ep->priv;
	struct rbd_call *call = lane->priv;
	int err = rbd_image_do(&rbd->image, &call, io, rbd->zero_flags);

	if (err == 0)
		io->done = io->len;
	else
		rbd_fail(lane, io, err);
	io->buf_in_use = io->lasting && call == NULL && lane->priv != NULL;
	lane->priv = call;
}

/* ----------------------------------------------------------- what it knows */

/* The extent at off, if the last answer has it. */
static bool
rbd_extents_find(const struct rbd_extents *x, uint64_t off,
    struct extent *found)
{
	uint64_t at = off, end = x->off + x->len;
	size_t i;

	if (off < x->off || off >= end)
		return false;
	for (i = 0; i < x->n; i++) {
		const struct rbd_range *r = &x->at[i];

		if (r->off + r->len <= off)
			continue;
		if (r->off <= off)
			*found = (struct extent){ at, r->off + r->len - at,
				false };
		else
			*found = (struct extent){ at, r->off - at, true };
		return true;
	}
	*found = (struct extent){ at, end - at, true };
	return true;
}

static int
rbd_extents_look_up(struct rbd *rbd, struct extent_cache *cache, uint64_t off,
    struct extent *x)
{
	uint64_t left;
	int err = 0;

	if (off >= rbd->image.size)
		return ENXIO;
	left = rbd->image.size - off;
	pthread_mutex_lock(&rbd->lock);
	if (!rbd_extents_find(&cache->x, off, x)) {
		err = rbd_image_extents(&rbd->image, cache->since, off,
		    left < ASK_MOST ? left : ASK_MOST, &cache->x);
		if (err != 0)
			cache->x.len = 0;
		else
			rbd_extents_find(&cache->x, off, x);
	}
	pthread_mutex_unlock(&rbd->lock);
	return err;
}

static int
rbd_extent(const struct endpoint *ep, uint64_t off, bool changed,
    struct extent *x)
{
	struct rbd *rbd = ep->priv;

	return rbd_extents_look_up(rbd, changed ? &rbd->changed : &rbd->data,
	    off, x);
}

/* --- after the last write ------------------------------------------------- */

static int
rbd_flush_end(struct endpoint *ep, struct fault *f)
{
	struct rbd *rbd = ep->priv;
	int err = rbd->unflushed ? EIO : rbd_image_flush(&rbd->image);

	if (err == 0)
		return 0;
	rbd->unflushed = true;
	if (err == ETIMEDOUT)
		return fault_set(f, STATUS_NOT_FLUSHED, "%s: flushing: the "
		    "cluster does not answer within %u seconds (timeout=)",
		    ep->name, rbd->image.limit);
	if (rbd_image_gone(err))
		return fault_set(f, STATUS_NOT_FLUSHED, "%s: flushing: %s",
		    ep->name, rbd_loss(err));
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: flushing: %s, says the "
	    "cluster", ep->name, errno_words(err));
}

/* Reads the target back. */
static const struct backend rbd_readback_backend = {
	.attach = rbd_attach,
	.detach = rbd_detach,
	.transfer = rbd_transfer,
};

static int
rbd_readback(const struct endpoint *target, struct endpoint *r, struct fault *f)
{
	(void)f;
	r->be = &rbd_readback_backend;
	r->priv = target->priv;
	return 0;
}

#endif

const struct backend rbd_backend = {
#ifdef HAVE_LIBRBD
	.open = rbd_open_end,
	.check_range = rbd_check_range,
	.prepare = rbd_prepare,
	.attach = rbd_attach,
	.detach = rbd_detach,
	.transfer = rbd_transfer,
	.extent = rbd_extent,
	.flush = rbd_flush_end,
	.open_readback = rbd_readback,
	.close = rbd_close_end,
#endif
};
