/*
 * One connection to an NBD server.
 *
 * Calls of several threads are in flight at the same time. libnbd moves data
 * when it is told that the socket is ready, so one of the waiters polls for all
 * of them, and passes this on when its own call is over.  An asynchronous lane
 * has its own link, for which its ring polls.
 *
 * If the server answers nothing within timeout=, the connection is cut: libnbd
 * then ends all calls, and everything belongs to us again.
 *
 *	l	link->lock, a leaf; libnbd's own lock is taken below it.  Held
 *		over sends and receives, which do not wait
 */
#include "config.h"

#ifdef HAVE_LIBNBD
#include "nbd.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/peer.h"
#include "base/secrets.h"
#include "base/status.h"

enum {
	PART_LEAST = 512,	/* bytes of a part, if there are many */
	TICK = 1000,		/* ms between looks at the clock */
	SOCKET_BUFFER = 2 << 20,	/* bytes: one request fits */
	SILENCE = 60,		/* s, until a silent peer is probed */
	PROBES = 6,		/* times, */
	PROBE_TIME = 10,	/* s apart */
	UNHEARD = SILENCE + PROBES * PROBE_TIME,	/* s without an answer
							 * to sent data */
};

/* ------------------------------------------------------------- the calls */

bool
nbd_link_lost(int err)
{
	return err == ENOTCONN || err == ESHUTDOWN || err == ECONNRESET ||
	    err == EPIPE || err == ETIMEDOUT;
}

/* Make room for one more part at i.  Returns 0 or an errno value. */
static int
parts_open(struct nbd_call *call, size_t i)
{
	size_t room = 2 * call->room;
	struct nbd_part *more;

	if (call->parts == call->room) {
		if (room > call->len / PART_LEAST + (size_t)2 * PARTS)
			return EPROTO;
		more = reallocarray(call->part == call->few ? NULL :
		    call->part, room, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		if (call->part == call->few)
			memcpy(more, call->few, sizeof(call->few));
		call->part = more;
		call->room = room;
	}
	memmove(call->part + i + 1, call->part + i,
	    (call->parts++ - i) * sizeof(*call->part));
	return 0;
}

/* The first part that ends at off or later. */
static size_t
parts_find(const struct nbd_call *call, uint64_t off)
{
	size_t i = 0, n = call->parts, half;

	while (n > 0) {
		half = n / 2;
		if (call->part[i + half].to < off) {
			i += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return i;
}

/*
 * Add what has arrived.  Returns 0, ENOMEM, or EPROTO: it has come before, or
 * in pieces that are too small.
 */
static int
parts_add(struct nbd_call *call, uint64_t from, uint64_t to)
{
	size_t i = parts_find(call, from), next;
	struct nbd_part *p;
	bool after, before;
	int err;

	after = i < call->parts && call->part[i].to == from;
	next = i + after;
	if (next < call->parts && call->part[next].from < to)
		return EPROTO;
	before = next < call->parts && call->part[next].from == to;
	if (!after && !before && (err = parts_open(call, i)) != 0)
		return err;
	p = call->part + i;
	if (after && before) {
		p->to = p[1].to;
		call->parts--;
		memmove(p + 1, p + 2, (call->parts - next) * sizeof(*p));
	} else if (after) {
		p->to = to;
	} else if (before) {
		p->from = from;
	} else {
		*p = (struct nbd_part){ from, to };
	}
	return 0;
}

/* Called when a part of a read has arrived, with link->lock held. */
static int
nbd_call_part(void *arg, const void *bytes, size_t len, uint64_t off,
    unsigned what, int *err)
{
	struct nbd_call *call = arg;

	(void)bytes, (void)err;
	if (what != LIBNBD_READ_ERROR && len > 0 && call->odd == 0)
		call->odd = parts_add(call, off, off + len);
	return 0;
}

/* Whether a read has arrived: 0, or an errno value. */
static int
parts_whole(const struct nbd_call *call)
{
	if (call->odd != 0)
		return call->odd;
	return call->parts == 1 && call->part[0].to - call->part[0].from ==
	    call->len ? 0 : EPROTO;
}

/*
 * Called by libnbd when a command is over, with link->lock held. libnbd (1.14)
 * calls a read complete even if the server has sent nothing, or a part twice.
 */
static int
nbd_call_over(void *arg, int *err)
{
	struct nbd_call *call = arg;

	call->err = *err;
	if (*err == 0 && call->buf != NULL && call->op == OP_READ)
		call->err = parts_whole(call);
	if (call->part != call->few)
		free(call->part);
	call->over = true;
	call->link->ended++;
	call->link->heard = clock_ns();
	if (call->flight.lane != NULL)
		lane_over(call->flight.lane, call->flight.io);
	return 1;			/* libnbd may forget the command */
}

/* What to poll the socket for; -1: it is closed. */
static int
nbd_link_events(const struct nbd_link *link, short *events)
{
	unsigned dir = link->lib->aio_get_direction(link->handle);

	*events = 0;
	if ((dir & LIBNBD_AIO_DIRECTION_READ) != 0)
		*events |= POLLIN;
	if ((dir & LIBNBD_AIO_DIRECTION_WRITE) != 0)
		*events |= POLLOUT;
	return *events == 0 ? -1 : link->lib->aio_get_fd(link->handle);
}

/*
 * Let libnbd do all it can, with link->lock held.  Only tell it what is true:
 * after a read that returns nothing it would wait for an answer, and send no
 * more commands.
 */
static void
nbd_link_work(struct nbd_link *link)
{
	struct pollfd p;

	for (;;) {
		p.fd = nbd_link_events(link, &p.events);
		if (p.fd < 0 || poll(&p, 1, 0) <= 0)
			return;
		if ((p.events & POLLIN) != 0 && (p.revents & ~POLLOUT) != 0)
			link->lib->aio_notify_read(link->handle);
		else
			link->lib->aio_notify_write(link->handle);
	}
}

/*
 * Do all that can be done, and check whether the limit has passed.  Time for
 * which we were stopped does not count.
 */
static void
nbd_link_serve(struct nbd_link *link)
{
	uint64_t heard = link->heard + clock_missed(&link->looked);

	link->heard = MIN(heard, clock_ns());
	nbd_link_work(link);
	if (link->limit == 0 || link->begun == link->ended ||
	    clock_ns() - link->heard <= link->limit)
		return;
	link->late = true;
	shutdown(link->lib->aio_get_fd(link->handle), SHUT_RDWR);
	nbd_link_work(link);
}

/* Poll for all waiters; link->lock is held, but not while polling. */
static void
poll_once(struct nbd_link *link)
{
	struct pollfd p[2] = { { .fd = link->kick, .events = POLLIN } };
	eventfd_t any;

	p[1].fd = nbd_link_events(link, &p[1].events);
	link->polling = true;
	pthread_mutex_unlock(&link->lock);
	poll(p, 2, link->limit > 0 ? TICK : -1);
	pthread_mutex_lock(&link->lock);
	link->polling = false;
	if (p[0].revents != 0)
		eventfd_read(link->kick, &any);
	nbd_link_serve(link);
	pthread_cond_broadcast(&link->moved);
}

static void
nbd_link_await(struct nbd_link *link, const struct nbd_call *call)
{
	while (!call->over)
		if (link->polling)
			pthread_cond_wait(&link->moved, &link->lock);
		else
			poll_once(link);
}

/*
 * Whether a command was accepted and has a number; otherwise set call->err.
 * The thread that polls may have to wait for more events now, or for none, if
 * the connection broke and the calls of others ended with it.
 */
static bool
nbd_call_accepted(struct nbd_link *link, struct nbd_call *call, int64_t cookie)
{
	const struct libnbd *lib = link->lib;

	if (link->polling)
		eventfd_write(link->kick, 1);
	if (cookie >= 0) {
		if (link->begun++ == link->ended)
			link->heard = link->looked = clock_ns();
		return true;
	}
	call->err = lib->get_errno();
	if (call->err == 0 || lib->aio_is_dead(link->handle) > 0 ||
	    lib->aio_is_closed(link->handle) > 0)
		call->err = ENOTCONN;
	call->over = true;
	return false;
}

static bool
nbd_send_locked(struct nbd_link *link, struct nbd_call *call)
{
	const struct libnbd *lib = link->lib;
	nbd_completion_callback done =
	    { .callback = nbd_call_over, .user_data = call };
	nbd_chunk_callback note = { .callback = nbd_call_part, .user_data =
	    call };
	int64_t cookie;

	call->link = link;
	call->over = false;
	call->part = call->few;
	call->parts = 0;
	call->room = PARTS;
	call->odd = 0;
	switch (call->op) {
	case OP_READ:
		cookie = lib->aio_pread_structured(link->handle, call->buf,
		    call->len, call->off, note, done, call->flags);
		break;
	case OP_WRITE:
		cookie = lib->aio_pwrite(link->handle, call->buf, call->len,
		    call->off, done, call->flags);
		break;
	case OP_ZERO:
	default:
		cookie = lib->aio_zero(link->handle, call->len, call->off,
		    done, call->flags);
		break;
	}
	return nbd_call_accepted(link, call, cookie);
}

bool
nbd_link_send(struct nbd_link *link, struct nbd_call *call)
{
	bool sent;

	pthread_mutex_lock(&link->lock);
	sent = nbd_send_locked(link, call);
	pthread_mutex_unlock(&link->lock);
	return sent;
}

int
nbd_link_do(struct nbd_link *link, struct nbd_call *call)
{
	pthread_mutex_lock(&link->lock);
	if (nbd_send_locked(link, call))
		nbd_link_await(link, call);
	pthread_mutex_unlock(&link->lock);
	return call->err;
}

int
nbd_link_flush(struct nbd_link *link)
{
	struct nbd_call call = { .link = link };
	nbd_completion_callback done = { .callback = nbd_call_over,
		.user_data = &call };

	pthread_mutex_lock(&link->lock);
	if (nbd_call_accepted(link, &call,
	    link->lib->aio_flush(link->handle, done, 0)))
		nbd_link_await(link, &call);
	pthread_mutex_unlock(&link->lock);
	return call.err;
}

/* Store an answer of the server, which may come in several parts. */
static int
note_extents(void *arg, const char *context, uint64_t off, uint32_t *entries,
    size_t n, int *err)
{
	struct nbd_extents *x = arg;
	size_t i;

	(void)off, (void)err;
	if (strcmp(context, x->context) != 0)
		return 0;
	for (i = 0; i + 1 < n && x->n < x->room; i += 2)
		x->at[x->n++] = (struct nbd_alike){ entries[i],
			entries[i + 1] };
	return 0;
}

int
nbd_link_extents(struct nbd_link *link, uint64_t off, uint64_t len,
    struct nbd_extents *x)
{
	struct nbd_call call = { .link = link };
	nbd_completion_callback done = { .callback = nbd_call_over,
		.user_data = &call };
	nbd_extent_callback note = { .callback = note_extents,
		.user_data = x };

	x->n = 0;
	pthread_mutex_lock(&link->lock);
	if (nbd_call_accepted(link, &call,
	    link->lib->aio_block_status(link->handle, len, off, note, done, 0)))
		nbd_link_await(link, &call);
	pthread_mutex_unlock(&link->lock);
	return call.err;
}

int
nbd_link_pollfd(struct nbd_link *link, short *events)
{
	int fd;

	pthread_mutex_lock(&link->lock);
	fd = nbd_link_events(link, events);
	pthread_mutex_unlock(&link->lock);
	return fd;
}

void
nbd_link_service(struct nbd_link *link)
{
	pthread_mutex_lock(&link->lock);
	nbd_link_serve(link);
	pthread_mutex_unlock(&link->lock);
}

bool
nbd_link_late(struct nbd_link *link)
{
	bool late;

	pthread_mutex_lock(&link->lock);
	late = link->late;
	pthread_mutex_unlock(&link->lock);
	return late;
}

/* -------------------------------------------------------- the connection */

/*
 * Report what libnbd says, without the name of its function.  It may repeat the
 * URI as it was given.
 */
static int
nbd_link_fail(const struct nbd_link *link, const struct nbd_address *to,
    struct fault *f)
{
	const char *why = link->lib->get_error(), *colon;
	int err = link->lib->get_errno();

	if (why == NULL)
		why = errno_words(err != 0 ? err : EIO);
	colon = strncmp(why, "nbd_", 4) == 0 ? strstr(why, ": ") : NULL;
	fault_set(f, err == 0 ? STATUS_FILE : status_errno(err),
	    "%s: connecting: %s", to->name, colon != NULL ? colon + 2 : why);
	f->err = (unsigned char)err;
	secrets_hide(f->text);
	return -1;
}

static int
nbd_link_prepare(struct nbd_link *link, const struct nbd_address *to,
    struct fault *f)
{
	const struct libnbd *lib = link->lib;

	if (lib->set_pread_initialize(link->handle, false) != 0 ||
	    lib->set_uri_allow_local_file(link->handle, true) != 0 ||
	    lib->add_meta_context(link->handle,
	    LIBNBD_CONTEXT_BASE_ALLOCATION) != 0 ||
	    (to->bitmap != NULL &&
	    lib->add_meta_context(link->handle, to->bitmap) != 0))
		return nbd_link_fail(link, to, f);
	return 0;
}

/* Do one step of connecting.  Returns 0, or -1 with *f. */
static int
nbd_link_step(struct nbd_link *link, const struct nbd_address *to, double until,
    struct fault *f)
{
	const struct libnbd *lib = link->lib;
	double left = until - clock_seconds();
	struct pollfd p;
	int n, failed = 0;

	p.fd = nbd_link_events(link, &p.events);
	n = poll(&p, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
	if (n < 0)
		return errno == EINTR ? 0 : fault_errno(f, errno, "%s",
		    to->name);
	if (n == 0 && left <= 0)
		return fault_set(f, STATUS_FILE, "%s: the server does not "
		    "answer within %u seconds (timeout=)", to->name,
		    to->timeout);
	if ((p.revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
	    (p.events & POLLIN) != 0)
		failed = lib->aio_notify_read(link->handle);
	else if (p.revents != 0)
		failed = lib->aio_notify_write(link->handle);
	return failed == 0 ? 0 : nbd_link_fail(link, to, f);
}

static int
nbd_link_negotiate(struct nbd_link *link, const struct nbd_address *to,
    struct fault *f)
{
	const struct libnbd *lib = link->lib;
	double until = clock_seconds() + to->timeout;

	while (lib->aio_is_connecting(link->handle) > 0 ||
	    lib->aio_is_negotiating(link->handle) > 0)
		if (nbd_link_step(link, to, until, f) != 0)
			return -1;
	if (lib->aio_is_ready(link->handle) <= 0)
		return nbd_link_fail(link, to, f);
	if (to->tls && lib->get_tls_negotiated(link->handle) <= 0)
		return fault_set(f, STATUS_REFUSED, "%s: the server does not "
		    "offer TLS", to->name);
	return 0;
}

/*
 * Set up the socket: a local one has room for a request, a remote one notices
 * when its peer dies.
 */
static void
nbd_link_tune_socket(struct nbd_link *link)
{
	static const struct { int level, name, value; } options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, SILENCE },
		{ IPPROTO_TCP, TCP_KEEPINTVL, PROBE_TIME },
		{ IPPROTO_TCP, TCP_KEEPCNT, PROBES },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, UNHEARD * 1000 },
	};
	int fd = link->lib->aio_get_fd(link->handle), family, size;
	socklen_t len = sizeof(family);
	size_t i;

	peer_address(fd, link->peer, sizeof(link->peer));
	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) != 0)
		return;
	if (family == AF_UNIX) {
		size = SOCKET_BUFFER;
		if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size,
		    sizeof(size)) != 0)
			setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size,
			    sizeof(size));
		return;
	}
	for (i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name,
		    &options[i].value, sizeof(options[i].value));
}

/*
 * Connect through a socket, which belongs to libnbd from here on in any case.
 */
static int
nbd_link_join(struct nbd_link *link, const struct nbd_address *to,
    struct fault *f)
{
	const struct libnbd *lib = link->lib;
	int failed = to->uri != NULL ?
	    lib->aio_connect_uri(link->handle, to->uri) :
	    lib->aio_connect_socket(link->handle, to->sock);

	return failed != 0 ? nbd_link_fail(link, to, f) :
	    nbd_link_negotiate(link, to, f);
}

int
nbd_link_open(struct nbd_link *link, const struct libnbd *lib,
    const struct nbd_address *to, struct fault *f)
{
	int failed, err;

	*link = (struct nbd_link){ .lib = lib, .handle = lib->create(),
		.limit = (uint64_t)to->patience * 1000000000 };
	link->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = link->kick < 0 ? errno : ENOMEM;
	pthread_mutex_init(&link->lock, NULL);
	pthread_cond_init(&link->moved, NULL);
	if (link->handle == NULL || link->kick < 0)
		failed = fault_errno(f, err, "%s", to->name);
	else
		failed = nbd_link_prepare(link, to, f);
	if (failed != 0 && to->uri == NULL)
		close(to->sock);
	if (failed == 0)
		failed = nbd_link_join(link, to, f);
	if (failed != 0)
		nbd_link_close(link);
	else
		nbd_link_tune_socket(link);
	return failed;
}

void
nbd_link_close(struct nbd_link *link)
{
	if (link->handle != NULL) {
		if (link->lib->aio_is_ready(link->handle) > 0)
			link->lib->aio_disconnect(link->handle, 0);
		link->lib->close(link->handle);
	}
	if (link->kick >= 0)
		close(link->kick);
	pthread_cond_destroy(&link->moved);
	pthread_mutex_destroy(&link->lock);
}
#endif
