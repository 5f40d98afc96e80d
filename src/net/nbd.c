/*
 * Requests to an NBD server, by libnbd.
 *
 * The server may lose what it has acknowledged until it is flushed.  So if the
 * connection to a target breaks, there is no second one, and everything since
 * the last flush is in doubt.
 */
#include "config.h"

#include "end/backend.h"

#include "base/status.h"

#ifdef HAVE_LIBNBD
#include "nbd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/library.h"
#include "base/secrets.h"
#include "base/signals.h"
#include "cli/opts.h"
#include "disk/opened.h"

/*
 * It brings GnuTLS and libxml2, which takes 4 ms, so it is loaded when needed
 * instead of linked.
 */
#define NAME(name)	"nbd_" #name,
static const struct library libnbd = LIBRARY("libnbd.so.0", "libnbd0",
    LIBNBD_FUNCTIONS(NAME));
#undef NAME

/*
 * Extents of an NBD export: which are holes, and which have changed according
 * to a dirty bitmap.
 */

enum {
	ASK_MOST = 1 << 30,	/* bytes per query, and */
	ANSWER_MOST = 4096,	/* extents per answer */
};

/* Query the extents from off on, with nbd->lock held. */
static int
nbd_extents_query(struct nbd *nbd, struct extent_cache *cache, uint64_t off)
{
	uint64_t from = off - off % nbd->block, len = nbd->size - from;
	int err;

	if (cache->x.at == NULL) {
		cache->x.at = calloc(ANSWER_MOST, sizeof(*cache->x.at));
		cache->x.room = cache->x.at == NULL ? 0 : ANSWER_MOST;
	}
	if (cache->x.room == 0)
		return ENOMEM;
	err = nbd_link_extents(&nbd->link, from, len < ASK_MOST ? len :
	    ASK_MOST, &cache->x);
	cache->off = from;
	if (err != 0)
		cache->x.n = 0;
	return err;
}

/*
 * Whether an extent is skipped.  A hole that does not promise to read as zeros
 * is data, because nobody knows what it reads as.
 */
static bool
passed_over(const struct nbd *nbd, const struct extent_cache *cache,
    uint32_t flags)
{
	return cache == &nbd->dirty ? flags == 0 :
	    (flags & LIBNBD_STATE_ZERO) != 0;
}

/* The extent at off, if the last answer has it. */
static bool
nbd_extents_find(const struct nbd *nbd, const struct extent_cache *cache,
    uint64_t off, struct extent *x)
{
	uint64_t at = cache->off, end;
	bool hole, found = false;
	size_t i;

	for (i = 0; i < cache->x.n && at < nbd->size; i++, at = end) {
		end = at + cache->x.at[i].len;
		if (end > nbd->size)
			end = nbd->size;
		if (end <= off)
			continue;
		hole = passed_over(nbd, cache, cache->x.at[i].flags);
		if (at > off && (!found || x->hole != hole))
			return found;
		*x = (struct extent){ off, end - off, hole };
		found = true;
	}
	return found;
}

static int
nbd_extents_look_up(struct nbd *nbd, struct extent_cache *cache, uint64_t off,
    struct extent *x)
{
	int err = 0;

	if (off >= nbd->size)
		return ENXIO;
	pthread_mutex_lock(&nbd->lock);
	if (!nbd_extents_find(nbd, cache, off, x)) {
		err = nbd_extents_query(nbd, cache, off);
		if (err == 0 && !nbd_extents_find(nbd, cache, off, x))
			err = EPROTO;		/* an empty answer */
	}
	pthread_mutex_unlock(&nbd->lock);
	return err;
}

static int
nbd_extent_at(const struct endpoint *ep, uint64_t off, bool changed,
    struct extent *x)
{
	struct nbd *nbd = ep->priv;

	return changed || nbd->extents ? nbd_extents_look_up(nbd, changed ?
	    &nbd->dirty : &nbd->allocated, off, x) : EOPNOTSUPP;
}

/*
 * Connecting to an NBD server, its properties, and the connections of lanes.
 *
 * If the server lets several connections see each other's writes (multi-conn),
 * each lane has its own.  Otherwise all share the first one, which is also used
 * for flushes and extents.
 *
 * A server may be hostile: lengths and block sizes are checked against the
 * limits of the protocol before they are used.
 * https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
 */

enum {
	BLOCK_MOST = 64 << 10,	/* bytes: largest minimum block allowed */
	SECTOR = 512,		/* no disk has smaller blocks */
	REQUEST_MOST = 32 << 20,	/* if the server names no maximum */
	ZERO_MOST = 1 << 30,	/* bytes per request without data */
};

static int
say_no(const struct endpoint *ep, const char *what, int64_t n, struct fault *f)
{
	return fault_set(f, STATUS_REFUSED, "%s: the server says that %s "
	    "%lld, which no disk has", ep->name, what, (long long)n);
}

/* A block size of the server, or "unnamed" if it names none. */
static int64_t
nbd_block_size(const struct nbd *nbd, int which, int64_t unnamed)
{
	int64_t n = nbd->lib.get_block_size(nbd->link.handle, which);

	return n > 0 ? n : unnamed;
}

/* Check the sizes against the limits of the protocol, and store them. */
static int
take_sizes(const struct endpoint *ep, struct nbd *nbd, struct fault *f)
{
	int64_t size = nbd->lib.get_size(nbd->link.handle);
	int64_t least = nbd_block_size(nbd, LIBNBD_SIZE_MINIMUM, 1);
	int64_t most = nbd_block_size(nbd, LIBNBD_SIZE_MAXIMUM, REQUEST_MOST);
	int64_t good = nbd_block_size(nbd, LIBNBD_SIZE_PREFERRED, 0);

	if (size < 0)
		return say_no(ep, "its size is", size, f);
	if (least > BLOCK_MOST || (least & (least - 1)) != 0)
		return say_no(ep, "its smallest block is", least, f);
	if (most < least)
		return say_no(ep, "its largest request is", most, f);
	nbd->size = (uint64_t)size;
	nbd->block = (uint32_t)least;
	nbd->most = (uint32_t)(most < REQUEST_MOST ? most : REQUEST_MOST);
	nbd->most -= nbd->most % nbd->block;
	nbd->preferred = good <= REQUEST_MOST ? (uint32_t)good : 0;
	return 0;
}

static void
take_flags(struct nbd *nbd)
{
	const struct libnbd *lib = &nbd->lib;
	struct nbd_handle *h = nbd->link.handle;

	nbd->read_only = lib->is_read_only(h) != 0;
	nbd->flushes = lib->can_flush(h) > 0;
	nbd->fua = lib->can_fua(h) > 0;
	nbd->zeroes = lib->can_zero(h) > 0;
	nbd->fast = lib->can_fast_zero(h) > 0;
	nbd->several = nbd->address.uri != NULL && lib->can_multi_conn(h) > 0;
	nbd->extents = lib->can_meta_context(h,
	    LIBNBD_CONTEXT_BASE_ALLOCATION) > 0;
	nbd->tls = lib->get_tls_negotiated(h) > 0;
}

/* Set the flags of writes and zeros that oflag= asks for. */
static int
set_flags(const struct endpoint *ep, struct nbd *nbd, struct fault *f)
{
	if ((ep->spec.flags & (FLAG_DSYNC | FLAG_SYNC | FLAG_FUA)) != 0 &&
	    ep->spec.role == TARGET) {
		if (!nbd->fua)
			return fault_set(f, STATUS_REFUSED, "%s: the server "
			    "has no FUA, which oflag=dsync, sync and fua need",
			    ep->name);
		nbd->write_flags = nbd->zero_flags = LIBNBD_CMD_FLAG_FUA;
	}
	if ((ep->spec.flags & FLAG_NOSPARSE) != 0)
		nbd->zero_flags |= LIBNBD_CMD_FLAG_NO_HOLE;
	else if ((ep->spec.flags & FLAG_TRIM) != 0 && nbd->fast)
		nbd->zero_flags |= LIBNBD_CMD_FLAG_FAST_ZERO;
	return 0;
}

/* Add what a failed command has printed to the fault. */
static void
add_words(struct nbd *nbd, struct fault *f)
{
	char words[256];
	size_t n = strlen(f->text);
	bool well = command_tell(&nbd->command, NBD_LAST_WORDS, words,
	    sizeof(words));
	bool left = well && command_end_left(&nbd->command) > 0;

	if (words[0] != '\0')
		snprintf(f->text + n, sizeof(f->text) - n, "; %s%s", words,
		    left ? "; it went into the background, where it was ended: "
		    "nbdkit serves this run alone with -s" :
		    well ? "; nbdkit serves this run with -s" : "");
}

static int
connect_first(const struct endpoint *ep, struct nbd *nbd, struct fault *f)
{
	struct nbd_address *to = &nbd->address;
	const char *given = secrets_given(ep->spec.secrets, ep->name);

	*to = (struct nbd_address){ .name = ep->name,
		.timeout = ep->spec.timeout, .patience = ep->spec.patience };
	if (strncmp(ep->name, "[ ", 2) != 0)		/* no command */
		to->uri = given;
	else if (command_start(&nbd->command, ep->name, given, &to->sock,
	    f) != 0)
		return -1;
	to->tls = strncmp(ep->name, "nbds", 4) == 0;
	to->bitmap = nbd->bitmap;
	if (nbd_link_open(&nbd->link, &nbd->lib, to, f) == 0)
		return 0;
	add_words(nbd, f);
	command_end(&nbd->command, true);
	return -1;
}

static void
nbd_release(struct nbd *nbd)
{
	bool stuck = nbd_link_late(&nbd->link);

	nbd_link_close(&nbd->link);
	command_end(&nbd->command, stuck);
	pthread_mutex_destroy(&nbd->lock);
	free(nbd->allocated.x.at);
	free(nbd->dirty.x.at);
	free(nbd->export);
	free(nbd->bitmap);
	free(nbd);
}

static int
nbd_close_end(struct endpoint *ep)
{
	nbd_release(ep->priv);
	return 0;
}

/* Set the properties of the endpoint. */
static void
nbd_describe(struct endpoint *ep, const struct nbd *nbd)
{
	bool target = ep->spec.role == TARGET;

	if (nbd->block > 1)
		ep->geo.block = ep->geo.io_align =
		    nbd->block > SECTOR ? nbd->block : SECTOR;
	ep->geo.size = ep->geo.room = (int64_t)nbd->size;
	if (target)		/* a target's partial last block is unusable */
		ep->geo.room -= ep->geo.room % (int64_t)ep->geo.io_align;
	ep->geo.io_opt = nbd->preferred;
	ep->geo.io_max = nbd->most;
	ep->cmd = (struct commands){ .unit = nbd->block, .most = nbd->most,
		.zero_most = ZERO_MOST, .end = nbd->size };
	ep->geo.depth = NBD_FLIGHTS;
	ep->is.seekable = ep->is.past_cache = ep->is.probed = true;
	ep->is.device = ep->is.remote = true;
	ep->is.single = !nbd->several;
	ep->is.durable = target;
	ep->is.unflushable = target && !nbd->flushes;
	ep->is.zeroes = target && nbd->zeroes;
	ep->is.sparse = !target && nbd->extents &&
	    (ep->spec.flags & FLAG_NOSPARSE) == 0;
	snprintf(ep->offers, sizeof(ep->offers), "%s%s%s%s", nbd->several ?
	    "a connection for each worker" : "one connection",
	    nbd->tls ? ", encrypted" : "",
	    target ? nbd->flushes ? ", flush" : ", no flush" :
	    nbd->extents ? ", reports holes" : "",
	    target ? nbd->zeroes ? ", zeros" : ", no zeros" : "");
}

/* The bitmap context that iflag= names.  Returns 0 or ENOMEM. */
static int
want_bitmap(const struct endpoint *ep, struct nbd *nbd)
{
	nbd->allocated.x.context = LIBNBD_CONTEXT_BASE_ALLOCATION;
	if (ep->spec.bitmap == NULL)
		return 0;
	if (asprintf(&nbd->bitmap, "qemu:dirty-bitmap:%s", ep->spec.bitmap) < 0)
		nbd->bitmap = NULL;
	nbd->dirty.x.context = nbd->bitmap;
	return nbd->bitmap != NULL ? 0 : ENOMEM;
}

static int
nbd_check_export(const struct endpoint *ep, struct nbd *nbd, struct fault *f)
{
	if (take_sizes(ep, nbd, f) != 0)
		return -1;
	take_flags(nbd);
	if (nbd->bitmap != NULL && nbd->lib.can_meta_context(nbd->link.handle,
	    nbd->bitmap) <= 0)
		return fault_set(f, STATUS_REFUSED, "%s: the server offers no "
		    "bitmap %s, as qemu-nbd -B %s does", ep->name,
		    ep->spec.bitmap, ep->spec.bitmap);
	if (ep->spec.role == TARGET && nbd->read_only) {
		errno = EROFS;
		return fault_found(f, ep);
	}
	return set_flags(ep, nbd, f);
}

/*
 * The process of this machine that serves the end: the command, or the one that
 * has the other end of the connection, or else the one that began to listen on
 * a Unix socket, which has ended if the server went into the background.  0 if
 * unknown, or if init listens on behalf of others.
 */
static pid_t
server_of(const struct nbd *nbd)
{
	int fd = nbd->lib.aio_get_fd(nbd->link.handle);
	struct ucred peer = { .pid = 0 };
	socklen_t len = sizeof(peer);
	pid_t pid = nbd->command.pid != 0 ? nbd->command.pid : opened_peer(fd);

	if (pid != 0 || nbd->link.peer[0] != '\0')
		return pid;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 ||
	    peer.pid <= 1)
		return 0;
	return peer.pid;
}

static int
nbd_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct nbd *nbd = calloc(1, sizeof(*nbd));

	(void)look;			/* opening writes nothing */
	if (nbd == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	signals_ignore();		/* a write to a lost connection raises
					 * SIGPIPE */
	ep->is.device = true;
	if (want_bitmap(ep, nbd) != 0) {
		free(nbd);
		return fault_errno(f, ENOMEM, "%s", ep->name);
	}
	if (library_load(&libnbd, &nbd->lib, ep->name, f) != 0 ||
	    connect_first(ep, nbd, f) != 0) {
		free(nbd->bitmap);
		free(nbd);
		return -1;
	}
	pthread_mutex_init(&nbd->lock, NULL);
	if (nbd_check_export(ep, nbd, f) != 0) {
		nbd_release(nbd);
		return -1;
	}
	nbd_describe(ep, nbd);
	nbd->export = nbd->lib.get_export_name(nbd->link.handle);
	ep->id.server = server_of(nbd);
	ep->id.peer = nbd->link.peer;
	ep->id.export = nbd->export;
	ep->priv = nbd;
	return 0;
}

/* ------------------------------------------------------------------ lanes */

/*
 * The URI for another connection to the same server; the caller frees it.  NULL
 * if there is none.  It has the address instead of the host's name: a name may
 * lead to several servers, and cannot be looked up once we are confined.  A
 * certificate needs the name.
 */
static char *
same_server(const struct nbd *nbd)
{
	static const char plain[] = "nbd://";
	const char *uri = nbd->address.uri, *path;
	char *same;

	if (strncmp(uri, plain, strlen(plain)) != 0 ||
	    nbd->link.peer[0] == '\0')
		return strdup(uri);
	path = uri + strlen(plain);
	path += strcspn(path, "/?");
	return asprintf(&same, "%s%s%s", plain, nbd->link.peer, path) < 0 ?
	    NULL : same;
}

static int
link_lane(struct lane *lane, struct nbd *nbd, struct nbd_lane *l)
{
	struct nbd_address to = nbd->address;
	char *uri = same_server(nbd);
	struct fault f;
	int err = 0;

	if (uri == NULL)
		return ENOMEM;
	to.uri = uri;
	if (nbd_link_open(&l->own, &nbd->lib, &to, &f) != 0) {
		err = f.status == STATUS_ERRNO + EMFILE ? EMFILE : ECONNREFUSED;
		if (err == ECONNREFUSED)
			lane->why = "the server takes no second connection "
			    "(engine=threads needs only one)";
	} else if (strcmp(l->own.peer, nbd->link.peer) != 0) {
		nbd_link_close(&l->own);
		lane->why = "another server has that name now";
		err = ECONNREFUSED;
	}
	free(uri);
	return err;
}

/* Whether a new connection shows the same disk, as far as is known. */
static bool
same_disk(struct lane *lane, const struct nbd *nbd, struct nbd_handle *h)
{
	if (nbd->lib.get_size(h) != (int64_t)nbd->size)
		lane->why = "the server offers a disk of another size to a "
		    "second connection";
	else if (lane->ep->spec.role == TARGET && nbd->lib.is_read_only(h) != 0)
		lane->why = "the server offers the disk write-protected to a "
		    "second connection";
	return lane->why == NULL;
}

/* Open a connection for a lane. */
static int
connect_lane(struct lane *lane, struct nbd *nbd, struct nbd_lane *l)
{
	int err = link_lane(lane, nbd, l);

	if (err != 0)
		return err;
	if (!same_disk(lane, nbd, l->own.handle)) {
		nbd_link_close(&l->own);
		return ENODEV;
	}
	l->link = &l->own;
	nbd->links++;
	return 0;
}

/*
 * A server may refuse further connections, or descriptors have run out.
 * Workers that wait can then use the first one; the requests of a ring need
 * their own.
 */
static int
nbd_attach(struct lane *lane)
{
	struct nbd *nbd = lane->ep->priv;
	struct nbd_lane *l = calloc(1, sizeof(*l));
	int err = 0;

	if (l == NULL)
		return ENOMEM;
	l->link = &nbd->link;
	if (nbd->several && !lane->probes)
		err = connect_lane(lane, nbd, l);
	if ((err == ECONNREFUSED || err == EMFILE) && !lane->ep->spec.async)
		err = 0;
	if (err != 0)
		free(l);
	else
		lane->priv = l;
	return err;
}

static int
nbd_detach(struct lane *lane)
{
	struct nbd_lane *l = lane->priv;

	if (l->link == &l->own)
		nbd_link_close(&l->own);
	flights_free(&l->flights);
	free(l);
	return 0;
}

enum {
	WORDS = 96,		/* of a loss; io.why has 168 */
};

/*
 * How long to wait for a command's last words: all lanes that have lost it wait
 * until the same moment, because any of them may be the one that is reported.
 */
static int
nbd_last_words_timeout(struct nbd *nbd)
{
	uint64_t now = clock_ns(), first = 0, waited;

	if (atomic_compare_exchange_strong(&nbd->lost, &first, now))
		return NBD_LAST_WORDS;
	waited = now < first ? 0 : (now - first) / 1000000;
	return waited < NBD_LAST_WORDS ? NBD_LAST_WORDS - (int)waited : 0;
}

/* Why a connection was lost, as far as known. */
static void
tell_loss(struct nbd *nbd, const struct endpoint *ep, struct nbd_link *link,
    char *words, size_t room)
{
	words[0] = '\0';
	if (nbd_link_late(link))
		snprintf(words, room, "no answer within %u seconds "
		    "(timeout=)", ep->spec.patience);
	else
		command_tell(&nbd->command, nbd_last_words_timeout(nbd), words,
		    room);
}

/* The connection or the server has failed: fill in the io. */
static void
nbd_lose(const struct lane *lane, struct io *io)
{
	const struct endpoint *ep = lane->ep;
	const struct nbd_lane *l = lane->priv;
	char words[WORDS];

	tell_loss(ep->priv, ep, l->link, words, sizeof(words));
	io->err = ENODEV;
	io->spent = true;
	snprintf(io->why, sizeof(io->why), "the server is gone%s%s%s",
	    ep->spec.role == TARGET ? "; writes since the last flush may be "
	    "lost" : "", words[0] != '\0' ? "; " : "", words);
}

/* A request has failed with err: fill in the io. */
static void
nbd_fail(struct lane *lane, struct io *io, int err)
{
	if (nbd_link_lost(err)) {
		nbd_lose(lane, io);
		return;
	}
	io->err = err;
	if (err == EPROTO)
		snprintf(io->why, sizeof(io->why), "the server sent less than "
		    "it was asked for, or a part of it twice");
	else if (err != EIO && err != ENOSPC)
		snprintf(io->why, sizeof(io->why), "%s, says the server",
		    errno_words(err));
}

static struct nbd_call
nbd_compose(const struct nbd *nbd, const struct io *io)
{
	return (struct nbd_call){ .op = io->op,
		.buf = io->op == OP_ZERO ? NULL : io->buf + io->done,
		.off = io->off + io->done, .len = io->len - io->done,
		.flags = io->op == OP_WRITE ? nbd->write_flags :
		    io->op == OP_ZERO ? nbd->zero_flags : 0 };
}

static void
nbd_transfer(struct lane *lane, struct io *io)
{
	struct nbd *nbd = lane->ep->priv;
	struct nbd_lane *l = lane->priv;
	struct nbd_call call = nbd_compose(nbd, io);
	int err = nbd_link_do(l->link, &call);

	if (err == 0)
		io->done = io->len;
	else if (io->op == OP_ZERO && (err == EOPNOTSUPP || err == EINVAL))
		io->err = EOPNOTSUPP;
	else
		nbd_fail(lane, io, err);
	command_listen(&nbd->command);
}

/* --- asynchronous requests ----------------------------------------------- */

static bool
nbd_start(struct lane *lane, struct io *io, struct io_uring_sqe *unused)
{
	const struct nbd *nbd = lane->ep->priv;
	struct nbd_lane *l = lane->priv;
	struct nbd_call *call;

	(void)unused;
	call = flights_begin(&l->flights, NBD_FLIGHTS, sizeof(*call));
	if (call == NULL)
		return false;
	*call = nbd_compose(nbd, io);
	call->flight = (struct call_head){ lane, io, NULL };
	if (!nbd_link_send(l->link, call)) {
		flights_end(&l->flights, call);
		return false;
	}
	io->flight = call;
	return true;
}

static int
nbd_pollfd(struct lane *lane, short *events)
{
	struct nbd_lane *l = lane->priv;

	return nbd_link_pollfd(l->link, events);
}

static void
nbd_service(struct lane *lane)
{
	struct nbd_lane *l = lane->priv;

	nbd_link_service(l->link);
}

static void
nbd_finish(struct lane *lane, struct io *io, int result)
{
	struct nbd *nbd = lane->ep->priv;
	struct nbd_lane *l = lane->priv;
	struct nbd_call *call = io->flight;
	int err = call->err;

	(void)result;
	io->flight = NULL;
	flights_end(&l->flights, call);
	if (err == 0)
		io->done += call->len;
	else
		nbd_fail(lane, io, err);
	command_listen(&nbd->command);
}

/* --- after the last write ------------------------------------------------- */

/* A connection that was lost may have taken along what was not flushed. */
static int
nbd_flush_end(struct endpoint *ep, struct fault *f)
{
	struct nbd *nbd = ep->priv;
	char words[WORDS];
	int err;

	if (!nbd->flushes && !ep->spec.sync)
		return 0;		/* the user wants no flush */
	if (!nbd->flushes)
		return fault_set(f, STATUS_NOT_FLUSHED, "%s: the server has no "
		    "flush (sync=0 does without)", ep->name);
	err = nbd->unflushed ? EIO : nbd_link_flush(&nbd->link);
	if (err == 0)
		return 0;
	nbd->unflushed = true;
	if (!nbd_link_lost(err))
		return fault_set(f, STATUS_NOT_FLUSHED, "%s: flushing: %s, "
		    "says the server", ep->name, errno_words(err));
	tell_loss(nbd, ep, &nbd->link, words, sizeof(words));
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: the server is gone; "
	    "writes since the last flush may be lost%s%s", ep->name,
	    words[0] != '\0' ? "; " : "", words);
}

/* Reads the target back: how the server reads it is up to the server. */
static const struct backend nbd_readback_backend = {
	.attach = nbd_attach,
	.detach = nbd_detach,
	.transfer = nbd_transfer,
};

static int
nbd_readback(const struct endpoint *target, struct endpoint *r, struct fault *f)
{
	(void)f;
	r->be = &nbd_readback_backend;
	r->priv = target->priv;
	return 0;
}

static void
nbd_note(const struct endpoint *ep, char *text, size_t room)
{
	const struct nbd *nbd = ep->priv;

	text[0] = '\0';
	if (ep->spec.loud && nbd->links > 0)
		snprintf(text, room, "%u connections", nbd->links + 1);
}

#endif

const struct backend nbd_backend = {
#ifdef HAVE_LIBNBD
	.open = nbd_open,
	.attach = nbd_attach,
	.detach = nbd_detach,
	.transfer = nbd_transfer,
	.start = nbd_start,
	.pollfd = nbd_pollfd,
	.service = nbd_service,
	.finish = nbd_finish,
	.extent = nbd_extent_at,
	.flush = nbd_flush_end,
	.open_readback = nbd_readback,
	.note = nbd_note,
	.close = nbd_close_end,
#endif
};
