/*
 * An open Ceph image.
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

#ifdef HAVE_LIBRBD
#include "rbd_image.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/errand.h"
#include "base/status.h"

enum {
	MORE = 2,		/* s that our limits exceed its own */
	PATIENCE = 10,		/* s, to close an image that is lost */
	WATCHERS = 64,		/* most to be listed */
	ROOM_LEAST = 64,
};

struct rbd_call {
	pthread_mutex_t	 lock;
	pthread_cond_t	 moved;
	bool		 over;	/* l */
	unsigned char	 buf[RBD_CALL_MOST];	/* librbd's until it is over;
				 * untouched if all are lasting */
};

/* ---------------------------------------------------------------- opening */

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

int
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

bool
rbd_image_close(struct rbd_image *r)
{
	unsigned limit = r->lost != 0 ? PATIENCE : r->limit + MORE;

	if (r->stuck || rbd_run(r, rbd_close_errand, r, limit) != 0)
		return false;
	rbd_name_free(&r->name);
	return true;
}

/* --------------------------------------------------------------- requests */

struct rbd_call *
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

bool
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

int
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

int
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

int
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

/* ---------------------------------------------------------------- extents */

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

int
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
#endif
