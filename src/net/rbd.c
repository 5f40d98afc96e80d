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
 *
 * By default librados waits for ever if the cluster does not answer.  We set
 * its timeouts, and apply a slightly longer limit to each request as well.  A
 * request beyond that limit may still end at any time, so everything it uses is
 * left to it: its buffer, and the image.  A buffer that the caller could not do
 * without (struct io, not "lasting") never goes to librbd: its bytes pass
 * through one of our own.
 *
 * The cache of librbd is off: what it acknowledges is written.  It need not
 * copy what it writes either: a write is over only when it has released the
 * buffer, which nobody changes until then.
 *
 *	l	call->lock, a leaf
 */
#include "config.h"

#include "end/backend.h"

#ifdef HAVE_LIBRBD
#include "rbd.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/library.h"
#include "base/signals.h"
#include "base/status.h"
#include "cli/opts.h"

enum {
	RBD_CALL_MOST = 4 << 20,	/* bytes per read or write */
	MORE = 2,		/* s that our limits exceed its own */
	PATIENCE = 10,		/* s, to close an image that is lost */
	WATCHERS = 64,		/* most to be listed */
	ROOM_LEAST = 64,
};

struct rbd_extents {		/* data in part of an image */
	uint64_t	 off, len;	/* bytes: that part */
	struct rbd_range { uint64_t off, len; } *at;	/* runs of data, */
	size_t		 n, room;	/* in order; malloc'ed, the caller's */
};

struct rbd_call {		/* one request at a time, with its buffer */
	pthread_mutex_t	 lock;
	pthread_cond_t	 moved;
	bool		 over;	/* l */
	unsigned char	 buf[RBD_CALL_MOST];	/* librbd's until it is over;
				 * untouched if all are lasting */
};

/* ----------------------------------------------------- an image: opening */

enum step { CONFIGURING, SETTING, CONNECTING, IN_POOL, OPENING, ASKING,
	LOOKING_BACK, WATCHING };

static int
rbd_set_option(struct rbd_image *r, const char *key, const char *value)
{
	return -r->lib.rados.conf_set(r->cluster, key, value);
}

/* Set our options, those that the library knows, and then those of the name. */
static int
rbd_configure(struct rbd_image *r)
{
	static const struct rbd_option ours[] = {
		{ "rbd_cache", "false" },
		{ "rbd_persistent_cache_mode", "disabled" },
		{ "rbd_disable_zero_copy_writes", "false" },
		{ "log_to_stderr", "false" },
		{ "err_to_stderr", "false" },
	};
	static const char *const limits[] = { "client_mount_timeout",
		"rados_mon_op_timeout", "rados_osd_op_timeout" };
	const struct rbd_name *n = &r->name;
	char seconds[16];
	size_t i;
	int err = 0;

	snprintf(seconds, sizeof(seconds), "%u", r->limit);
	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		rbd_set_option(r, ours[i].key, ours[i].value);
	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		rbd_set_option(r, limits[i], seconds);
	for (i = 0; i < n->options && err == 0; i++) {
		r->step = SETTING;
		r->setting = i;
		err = rbd_set_option(r, n->option[i].key, n->option[i].value);
	}
	return err;
}

static int
rbd_call_begin(struct rbd_image *r)
{
	int err;

	r->step = CONFIGURING;
	err = -r->lib.rados.create(&r->cluster, r->name.id);
	if (err != 0)
		return err;
	err = -r->lib.rados.conf_read_file(r->cluster, r->name.conf);
	if (err == ENOENT && r->name.conf == NULL)
		err = 0;		/* the options may be sufficient */
	return err == 0 ? rbd_configure(r) : err;
}

static int
rbd_reach(struct rbd_image *r)
{
	int err;

	r->step = CONNECTING;
	err = -r->lib.rados.connect(r->cluster);
	if (err != 0)
		return err;
	r->step = IN_POOL;
	err = -r->lib.rados.ioctx_create(r->cluster, r->name.pool, &r->io);
	if (err == 0 && r->name.space != NULL)
		r->lib.rados.ioctx_set_namespace(r->io, r->name.space);
	return err;
}

/* Find a client other than ourselves. */
static int
find_user(struct rbd_image *r)
{
	rbd_image_watcher_t *w = calloc(WATCHERS, sizeof(*w));
	uint64_t own = r->lib.rados.get_instance_id(r->cluster);
	size_t n = WATCHERS, i;
	int err;

	if (w == NULL)
		return ENOMEM;
	err = -r->lib.watchers_list(r->image, w, &n);
	for (i = 0; err == 0 && i < n; i++)
		if ((uint64_t)w[i].id != own)
			snprintf(r->user, sizeof(r->user), "client.%" PRId64
			    " at %s", w[i].id, w[i].addr);
	if (err == 0)
		r->lib.watchers_list_cleanup(w, n);
	else if (err == ERANGE)
		snprintf(r->user, sizeof(r->user), "more than %d clients",
		    WATCHERS);
	free(w);
	return err == ERANGE ? 0 : err;
}

static int
rbd_image_ask(struct rbd_image *r)
{
	uint64_t then;
	int err;

	r->step = ASKING;
	err = -r->lib.get_size(r->image, &r->size);
	r->pool = r->lib.rados.ioctx_get_id(r->io);
	r->snapshot = UINT64_MAX;
	if (err == 0 && r->lib.rados.cluster_fsid(r->cluster, r->fsid,
	    sizeof(r->fsid)) < 0)
		err = EPROTO;
	if (err == 0)
		err = -r->lib.get_id(r->image, r->id, sizeof(r->id));
	if (err == 0 && r->name.snapshot != NULL)
		err = -r->lib.snap_get_id(r->image, r->name.snapshot,
		    &r->snapshot);
	if (err != 0)
		return err;
	r->step = LOOKING_BACK;
	if (r->since != NULL)
		err = -r->lib.snap_get_id(r->image, r->since, &then);
	if (err != 0)
		return err;
	r->step = WATCHING;
	return r->target ? find_user(r) : 0;
}

static int
open_image(struct rbd_image *r)
{
	r->step = OPENING;
	return -(r->writable ? r->lib.open : r->lib.open_read_only)(r->io,
	    r->name.image, &r->image, r->name.snapshot);
}

struct opening {
	struct rbd_image *r;
	int		 err;
};

static void
rbd_open_errand(void *arg)
{
	struct opening *o = arg;

	o->err = rbd_call_begin(o->r);
	if (o->err == 0)
		o->err = rbd_reach(o->r);
	if (o->err == 0)
		o->err = open_image(o->r);
	if (o->err == 0)
		o->err = rbd_image_ask(o->r);
}

/* A request has not returned in time, and is left. */
static void
rbd_abandon(struct rbd_image *r)
{
	r->lost = ETIMEDOUT;
	r->stuck = true;
}

/*
 * Run a step within a limit.  Returns 0, an errno value, or ETIMEDOUT if it was
 * left.
 */
static int
rbd_run(struct rbd_image *r, void (*go)(void *), void *arg, unsigned limit)
{
	int err = 0;

	if (errand_run(go, arg, limit, &err))
		return 0;
	if (err == ETIMEDOUT)
		rbd_abandon(r);
	return err;
}

static int
not_there(const struct rbd_image *r, const char *what, struct fault *f)
{
	const int status = status_errno(ENOENT);

	if (r->step == SETTING)
		return fault_set(f, STATUS_USAGE, "%s: Ceph has no option %s",
		    what, r->name.option[r->setting].key);
	if (r->step == CONFIGURING)
		return fault_set(f, status, "%s: there is no such file as %s",
		    what, r->name.conf);
	if (r->step == CONNECTING)
		return fault_set(f, status, "%s: no cluster is found, or no "
		    "keyring for it; /etc/ceph/ceph.conf, or :conf=FILE and "
		    ":keyring=FILE in the name, tell of both", what);
	if (r->step == LOOKING_BACK)
		return fault_set(f, STATUS_REFUSED, "%s: there is no snapshot "
		    "%s (iflag=since:)", what, r->since);
	if (r->step == IN_POOL)
		return fault_set(f, status, "%s: there is no such pool", what);
	return fault_set(f, status, "%s: there is no such image%s", what,
	    r->name.snapshot != NULL ? ", or it has no such snapshot" : "");
}

static int
fail_open(const struct rbd_image *r, const char *what, int err, struct fault *f)
{
	static const char *const steps[] = {
		[CONFIGURING] = "its configuration", [SETTING] = "its options",
		[CONNECTING] = "connecting to the cluster",
		[IN_POOL] = "opening its pool", [OPENING] = "opening it",
		[ASKING] = "asking what it is",
		[LOOKING_BACK] = "asking for the snapshot of since:",
		[WATCHING] = "asking who has it open",
	};
	const char *doing;
	unsigned step = r->step;

	if (err == ENOENT)
		return not_there(r, what, f);
	doing = steps[step];
	if (err == ETIMEDOUT)
		return fault_set(f, STATUS_FILE, "%s: %s: no answer within %u "
		    "seconds (timeout=)", what, doing, r->limit);
	return fault_errno(f, err, "%s: %s", what, doing);
}

/*
 * Connect and open the image of a parsed name, which it takes over.  "what" is
 * for messages.  Returns 0, or -1 with *f; call rbd_image_close in either case.
 */
static int
rbd_image_open(struct rbd_image *r, const char *what, struct fault *f)
{
	struct opening *o = calloc(1, sizeof(*o));
	int err;

	if (o == NULL)
		return fault_errno(f, ENOMEM, "%s", what);
	o->r = r;
	r->step = CONNECTING;
	/* several requests, each with a limit */
	err = rbd_run(r, rbd_open_errand, o, 2 * r->limit + MORE);
	if (err == 0)
		err = o->err;
	if (!r->stuck)
		free(o);
	return err == 0 ? 0 : fail_open(r, what, err, f);
}

static void
rbd_close_errand(void *arg)
{
	struct rbd_image *r = arg;

	if (r->image != NULL)
		r->lib.close(r->image);
	if (r->io != NULL)
		r->lib.rados.ioctx_destroy(r->io);
	if (r->cluster != NULL)
		r->lib.rados.shutdown(r->cluster);
}

/*
 * Close it.  Returns false if neither it nor its memory may be freed: see
 * errand.h.
 */
static bool
rbd_image_close(struct rbd_image *r)
{
	unsigned limit = r->lost != 0 ? PATIENCE : r->limit + MORE;

	if (r->stuck || rbd_run(r, rbd_close_errand, r, limit) != 0)
		return false;
	rbd_name_free(&r->name);
	return true;
}

/* ---------------------------------------------------- an image: requests */

/* NULL: there is no memory. */
static struct rbd_call *
rbd_call_new(void)
{
	struct rbd_call *call = malloc(sizeof(*call));

	if (call == NULL)
		return NULL;
	call->over = false;
	pthread_mutex_init(&call->lock, NULL);
	clock_condition(&call->moved);
	return call;
}

void
rbd_call_free(struct rbd_call *call)
{
	if (call == NULL)
		return;
	pthread_cond_destroy(&call->moved);
	pthread_mutex_destroy(&call->lock);
	free(call);
}

/* Called in a thread of librbd. */
static void
rbd_call_over(rbd_completion_t c, void *arg)
{
	struct rbd_call *call = arg;

	(void)c;
	pthread_mutex_lock(&call->lock);
	call->over = true;
	pthread_cond_signal(&call->moved);
	pthread_mutex_unlock(&call->lock);
}

static bool
rbd_call_await(struct rbd_call *call, unsigned seconds)
{
	uint64_t limit = (uint64_t)seconds * 1000000000;
	struct timespec until = clock_spec(clock_ns() + limit);
	bool is;

	pthread_mutex_lock(&call->lock);
	while (!call->over && (pthread_cond_timedwait(&call->moved,
	    &call->lock, &until) != ETIMEDOUT || clock_anew(&until, limit)))
		continue;
	is = call->over;
	pthread_mutex_unlock(&call->lock);
	return is;
}

struct request {		/* arguments of a request */
	enum { READ, WRITE, ZERO, FLUSH } what;
	unsigned char	*buf;
	uint64_t	 off;
	size_t		 len;
	int		 flags;
};

static int
rbd_submit(struct rbd_image *r, const struct request *q, rbd_completion_t c)
{
	char *buf = (char *)q->buf;

	switch (q->what) {
	case READ:
		return r->lib.aio_read(r->image, q->off, q->len, buf, c);
	case WRITE:
		return r->lib.aio_write(r->image, q->off, q->len, buf, c);
	case ZERO:
		return r->lib.aio_write_zeroes(r->image, q->off, q->len, c,
		    q->flags, 0);
	case FLUSH:
	default:
		return r->lib.aio_flush(r->image, c);
	}
}

/* Whether the errno value of a request means that the image was lost. */
static bool
rbd_image_gone(int err)
{
	return err == ETIMEDOUT || err == ESHUTDOWN || err == ENOTCONN;
}

/* Turn the result of a finished request into an errno value. */
static int
rbd_result(struct rbd_image *r, const struct request *q, ssize_t n)
{
	if (n < 0 && rbd_image_gone((int)-n))
		r->lost = (int)-n;
	if (n < 0)
		return (int)-n;
	return q->what == READ && (size_t)n != q->len ? EIO : 0;
}

/*
 * Send a request and wait.  Returns an errno value; *call is NULL if it was
 * left.
 */
static int
rbd_request(struct rbd_image *r, struct rbd_call **call,
    const struct request *q)
{
	rbd_completion_t c;
	int err;

	if (r->lost != 0)
		return r->lost;
	(*call)->over = false;
	err = -r->lib.aio_create_completion(*call, rbd_call_over, &c);
	if (err != 0)
		return err;
	err = -rbd_submit(r, q, c);
	if (err == 0 && !rbd_call_await(*call, r->limit + MORE)) {
		rbd_abandon(r);
		*call = NULL;
		return ETIMEDOUT;
	}
	if (err == 0)
		err = rbd_result(r, q, r->lib.aio_get_return_value(c));
	r->lib.aio_release(c);
	return err;
}

/*
 * Read or write the rest of an io, or zero it (flags: RBD_WRITE_ZEROES_), and
 * wait; with a buffer, RBD_CALL_MOST bytes at most.  Returns 0 or an errno
 * value.  If the request has not returned in time, *call becomes NULL, and is
 * no longer the caller's; neither is the buffer if the io is lasting.
 */
static int
rbd_image_do(struct rbd_image *r, struct rbd_call **call, const struct io *io,
    int flags)
{
	size_t len = io->len - io->done;
	unsigned char *buf = io->op == OP_ZERO ? NULL : io->buf + io->done;
	struct request q = { .what = io->op == OP_READ ? READ :
	    io->op == OP_WRITE ? WRITE : ZERO, .buf = buf,
	    .off = io->off + io->done, .len = len, .flags = flags };
	int err;

	if (*call == NULL)
		return ETIMEDOUT;
	if (io->lasting)
		return rbd_request(r, call, &q);
	q.buf = (*call)->buf;
	if (io->op == OP_WRITE)
		memcpy(q.buf, buf, len);
	err = rbd_request(r, call, &q);
	if (err == 0 && io->op == OP_READ)
		memcpy(buf, q.buf, len);
	return err;
}

/* Flush to the disks of the cluster.  Returns 0 or an errno value. */
static int
rbd_image_flush(struct rbd_image *r)
{
	struct request q = { .what = FLUSH };
	struct rbd_call *call = rbd_call_new();
	int err = call == NULL ? ENOMEM : rbd_request(r, &call, &q);

	rbd_call_free(call);
	return err;
}

struct locking {
	struct rbd_image *r;
	int		 err;
};

static void
go_lock(void *arg)
{
	struct locking *l = arg;

	l->err = -l->r->lib.lock_acquire(l->r->image, RBD_LOCK_MODE_EXCLUSIVE);
}

/*
 * Take the exclusive lock, if the image supports it.  Returns 0 or an errno
 * value.
 */
static int
rbd_image_lock(struct rbd_image *r)
{
	struct locking *l = calloc(1, sizeof(*l));
	int err;

	if (l == NULL)
		return ENOMEM;
	l->r = r;
	err = rbd_run(r, go_lock, l, r->limit + MORE);
	if (err == 0)
		err = l->err;
	if (!r->stuck)
		free(l);
	/* not every image has this feature */
	return err == EINVAL || err == EOPNOTSUPP ? 0 : err;
}

/* ----------------------------------------------------- an image: extents */

struct asking {
	struct rbd_image *r;
	const char	*since;	/* or NULL */
	struct rbd_extents x;
	int		 err;
};

static bool
have_room(struct rbd_extents *x)
{
	size_t room = x->room > 0 ? 2 * x->room : ROOM_LEAST;
	struct rbd_range *at;

	if (x->n < x->room)
		return true;
	at = realloc(x->at, room * sizeof(*at));
	if (at == NULL)
		return false;
	x->at = at;
	x->room = room;
	return true;
}

/*
 * Called for each part of the image.  Check that it is in order and in bounds.
 */
static int
rbd_extent_note(uint64_t off, size_t len, int exists, void *arg)
{
	struct asking *a = arg;
	struct rbd_extents *x = &a->x;
	uint64_t end = x->off, last = x->off + x->len;

	if (x->n > 0)
		end = x->at[x->n - 1].off + x->at[x->n - 1].len;
	if (off < end || off > last || len > last - off)
		return -EPROTO;
	if (len == 0 || (exists == 0 && a->since == NULL))
		return 0;
	if (x->n > 0 && off == end) {
		x->at[x->n - 1].len += len;
		return 0;
	}
	if (!have_room(x))
		return -ENOMEM;
	x->at[x->n++] = (struct rbd_range){ off, len };
	return 0;
}

/* Ask for whole objects, which is what the image keeps a map of. */
static void
go_ask(void *arg)
{
	struct asking *a = arg;

	a->err = -a->r->lib.diff_iterate2(a->r->image, a->since, a->x.off,
	    a->x.len, 1, 1, rbd_extent_note, a);
}

/*
 * Find the data in a part of the image, or with "since" what has changed after
 * that snapshot.  Returns 0 or an errno value.
 */
static int
rbd_image_extents(struct rbd_image *r, const char *since, uint64_t off,
    uint64_t len, struct rbd_extents *x)
{
	struct asking *a = calloc(1, sizeof(*a));
	int err;

	if (a == NULL || r->lost != 0) {
		free(a);
		return r->lost != 0 ? r->lost : ENOMEM;
	}
	*a = (struct asking){ .r = r, .since = since, .x = *x };
	a->x.off = off;
	a->x.len = len;
	a->x.n = 0;
	err = rbd_run(r, go_ask, a, r->limit + MORE);
	if (r->stuck) {			/* all of it belongs to the errand */
		*x = (struct rbd_extents){ .n = 0 };
		return ETIMEDOUT;
	}
	*x = a->x;
	if (err == 0)
		err = a->err;
	free(a);
	return err;
}

/* --------------------------------------------------------------- the end */

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
		return opts_refuse(f, FORCE_HELD, "%s is in use: it is open "
		    "for writing by %s", ep->name, rbd->image.user);
	if (src->be == ep->be && (force & FORCE_OVERLAP) == 0 &&
	    same_image(&rbd->image, &other->image) && from < src_from +
	    (to - from) && src_from < to)
		return opts_refuse(f, FORCE_OVERLAP, "the range to be written "
		    "on %s overlaps the one to be read from %s", ep->name,
		    src->name);
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
