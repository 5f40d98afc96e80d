/*
 * NBD: a disk that a server has, by libnbd.
 *
 * Where the server lets several connections see one another's writes
 * (multi-conn), each lane has one of its own; else all share the first, which
 * is also the one for flushes and questions.
 *
 * What was acknowledged and not flushed is the server's to lose.  So a target
 * whose connection breaks is not connected to again: nothing of it is known
 * since the last flush.
 *
 * Lengths, block sizes and errors are the server's word, and it may be hostile:
 * they are held to the limits of the protocol before they are used.
 * https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md
 */
#include "config.h"

#include "backend.h"

#include "base/status.h"

#ifdef HAVE_LIBNBD
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/signals.h"
#include "cli/opts.h"
#include "command.h"
#include "nbd_link.h"

enum {
	BLOCK_MOST = 64 << 10,	/* bytes: the largest minimum there may be */
	SECTOR = 512,		/* a smaller one is no disk's */
	REQUEST_MOST = 32 << 20,	/* where the server names no maximum */
	BOUNCE = 128 << 10,	/* bytes, for reads of parts of blocks */
	ZERO_MOST = 1 << 30,	/* bytes, of a request that has no data */
	ASK_MOST = 1 << 30,	/* bytes, of a question for extents, and */
	ANSWER_MOST = 4096,	/* of them, of the answer */
	FLIGHTS = 128,		/* of a lane */
	LAST_WORDS = 1000,	/* ms, for a command that has failed */
	WORDS = 96,		/* of them: io.why has 168 */
};

struct picture {		/* of a context */
	struct nbd_extents x;	/* the last answer, */
	uint64_t	 off;	/* from there on */
};

struct nbd {			/* an endpoint's priv */
	struct libnbd	 lib;
	struct nbd_address address;
	struct command	 command;	/* of the first connection, or none */
	struct nbd_link	 link;
	uint64_t	 size;		/* bytes */
	uint32_t	 block;		/* bytes: whole ones only; or 1 */
	uint32_t	 most;		/* bytes of a request */
	uint32_t	 preferred;	/* the same, or 0 */
	uint32_t	 write_flags, zero_flags;	/* LIBNBD_CMD_FLAG_ */
	bool		 read_only, flushes, fua, zeroes, fast, extents;
	bool		 several;	/* connections, for one picture */
	bool		 tls;
	atomic_bool	 no_zero;	/* the server will not */
	atomic_bool	 lost;		/* the connection, as was told */
	bool		 unflushed;	/* a flush failed: none is believed */
	atomic_uint	 links;		/* of lanes, ever */
	char		*bitmap;	/* the context of iflag=, or NULL */
	pthread_mutex_t	 lock;		/* held over a question; guards: */
	struct picture	 allocated, dirty;
};

struct nbd_lane {		/* a lane's priv */
	struct nbd_link	*link;
	struct nbd_link	 own;		/* if that is this */
	struct flights	 flights;	/* FLIGHTS nbd_calls */
	unsigned char	*bounce;	/* BOUNCE bytes, once they are needed */
};

/* ---------------------------------------------------------------- opening */

static bool
is_command(const char *name)
{
	return strncmp(name, "[ ", 2) == 0;
}

static int
say_no(const struct endpoint *ep, const char *what, int64_t n,
    struct fault *f)
{
	return fault_set(f, STATUS_REFUSED, "%s: the server says that %s "
	    "%lld, which no disk has", ep->name, what, (long long)n);
}

/* A size of blocks, or what is to be taken where none is named. */
static int64_t
block_size(const struct nbd *nbd, int which, int64_t unnamed)
{
	int64_t n = nbd->lib.get_block_size(nbd->link.handle, which);

	return n > 0 ? n : unnamed;
}

/* Sizes, as the protocol lets them be. */
static int
take_sizes(const struct endpoint *ep, struct nbd *nbd, struct fault *f)
{
	int64_t size = nbd->lib.get_size(nbd->link.handle);
	int64_t least = block_size(nbd, LIBNBD_SIZE_MINIMUM, 1);
	int64_t most = block_size(nbd, LIBNBD_SIZE_MAXIMUM, REQUEST_MOST);
	int64_t good = block_size(nbd, LIBNBD_SIZE_PREFERRED, 0);

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

/* What oflag= asks of writes, and of zeros. */
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

/* What a command that failed has to say goes with the fault. */
static void
add_words(const struct nbd *nbd, struct fault *f)
{
	char words[256];
	size_t n = strlen(f->text);

	command_tell(&nbd->command, LAST_WORDS, words, sizeof(words));
	if (words[0] != '\0')
		snprintf(f->text + n, sizeof(f->text) - n, "; %s", words);
}

static int
connect_first(const struct endpoint *ep, struct nbd *nbd, struct fault *f)
{
	struct nbd_address *to = &nbd->address;

	*to = (struct nbd_address){ .name = ep->name,
		.timeout = ep->spec.timeout, .patience = ep->spec.patience };
	if (!is_command(ep->name))
		to->uri = ep->name;
	else if (command_start(&nbd->command, ep->name, &to->sock, f) != 0)
		return -1;
	to->tls = strncmp(ep->name, "nbds", 4) == 0;
	to->bitmap = nbd->bitmap;
	if (nbd_link_open(&nbd->link, &nbd->lib, to, f) == 0)
		return 0;
	add_words(nbd, f);
	command_end(&nbd->command);
	return -1;
}

static void
let_go(struct nbd *nbd)
{
	nbd_link_close(&nbd->link);
	command_end(&nbd->command);
	pthread_mutex_destroy(&nbd->lock);
	free(nbd->allocated.x.at);
	free(nbd->dirty.x.at);
	free(nbd->bitmap);
	free(nbd);
}

static int
nbd_close_end(struct endpoint *ep)
{
	let_go(ep->priv);
	return 0;
}

/* What the server says of itself becomes what the end is. */
static void
fill_in(struct endpoint *ep, const struct nbd *nbd)
{
	bool target = ep->spec.role == TARGET;

	if (nbd->block > 1)
		ep->geo.block = ep->geo.io_align =
		    nbd->block > SECTOR ? nbd->block : SECTOR;
	ep->geo.size = ep->geo.room = (int64_t)nbd->size;
	if (target)		/* what is behind its last block is no use */
		ep->geo.room -= ep->geo.room % (int64_t)ep->geo.io_align;
	ep->geo.io_opt = nbd->preferred;
	ep->geo.io_max = nbd->most;
	ep->geo.depth = FLIGHTS;
	ep->is.seekable = ep->is.past_cache = true;
	ep->is.device = ep->is.remote = true;
	ep->is.single = !nbd->several;
	ep->is.durable = target;
	ep->is.unflushable = target && !nbd->flushes;
	ep->is.zeroes = target && nbd->zeroes;
	ep->is.sparse = !target && nbd->extents &&
	    (ep->spec.flags & FLAG_NOSPARSE) == 0;
}

/* The bitmap that iflag= names; 0 or ENOMEM. */
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
check(const struct endpoint *ep, struct nbd *nbd, struct fault *f)
{
	if (take_sizes(ep, nbd, f) != 0)
		return -1;
	take_flags(nbd);
	if (nbd->bitmap != NULL && nbd->lib.can_meta_context(nbd->link.handle,
	    nbd->bitmap) <= 0)
		return fault_set(f, STATUS_REFUSED, "%s: the server shows no "
		    "bitmap %s, as qemu-nbd -B %s does", ep->name,
		    ep->spec.bitmap, ep->spec.bitmap);
	if (ep->spec.role == TARGET && nbd->read_only) {
		errno = EROFS;
		return fault_found(f, ep);
	}
	return set_flags(ep, nbd, f);
}

static int
nbd_open(struct endpoint *ep, bool look, struct fault *f)
{
	struct nbd *nbd = calloc(1, sizeof(*nbd));

	(void)look;			/* nothing is written by looking */
	if (nbd == NULL)
		return fault_errno(f, ENOMEM, "%s", ep->name);
	signals_ignore();		/* a server that goes, as we write */
	ep->is.device = true;
	nbd->no_zero = false;
	if (want_bitmap(ep, nbd) != 0) {
		free(nbd);
		return fault_errno(f, ENOMEM, "%s", ep->name);
	}
	if (libnbd_load(&nbd->lib, ep->name, f) != 0 ||
	    connect_first(ep, nbd, f) != 0) {
		free(nbd->bitmap);
		free(nbd);
		return -1;
	}
	pthread_mutex_init(&nbd->lock, NULL);
	if (check(ep, nbd, f) != 0) {
		let_go(nbd);
		return -1;
	}
	fill_in(ep, nbd);
	ep->priv = nbd;
	return 0;
}

/* ------------------------------------------------------------------ lanes */

/*
 * The URI of another connection to the same server, to be freed, or NULL.  The
 * host's name may lead to several, and when we are confined it is looked up no
 * more.  A certificate has the name.
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
link_lane(struct nbd *nbd, struct nbd_lane *l)
{
	struct nbd_address to = nbd->address;
	char *uri = same_server(nbd);
	struct fault f;
	int err = uri == NULL ? ENOMEM : 0;

	to.uri = uri;
	if (err == 0 && nbd_link_open(&l->own, &nbd->lib, &to, &f) != 0)
		err = ECONNREFUSED;
	free(uri);
	if (err == 0 && strcmp(l->own.peer, nbd->link.peer) != 0) {
		nbd_link_close(&l->own);
		err = ECONNREFUSED;	/* another of that name */
	}
	return err;
}

/* A connection for a lane: to the same export, as far as can be told. */
static int
connect_lane(const struct endpoint *ep, struct nbd *nbd, struct nbd_lane *l)
{
	int err = link_lane(nbd, l);

	if (err != 0)
		return err;
	if (nbd->lib.get_size(l->own.handle) == (int64_t)nbd->size &&
	    (ep->spec.role == SOURCE ||
	    nbd->lib.is_read_only(l->own.handle) == 0)) {
		l->link = &l->own;
		nbd->links++;
		return 0;
	}
	nbd_link_close(&l->own);
	return ESTALE;
}

/*
 * A server may have no further connection for us.  Then the first one has to
 * do, for workers who wait; the requests of a ring need one that is its own.
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
	if (nbd->several)
		err = connect_lane(lane->ep, nbd, l);
	if (err == ECONNREFUSED && !lane->ep->spec.async)
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
	free(l->bounce);
	free(l);
	return 0;
}

/* --------------------------------------------------------------- requests */

/* Why a connection is lost, as far as it is known; what a command says once. */
static void
tell_loss(struct nbd *nbd, const struct endpoint *ep, struct nbd_link *link,
    char *words, size_t room)
{
	words[0] = '\0';
	if (nbd_link_late(link))
		snprintf(words, room, "no answer within %u seconds "
		    "(timeout=)", ep->spec.patience);
	else if (!atomic_exchange(&nbd->lost, true))
		command_tell(&nbd->command, LAST_WORDS, words, room);
}

/* The connection has failed, or the server: what the io is to say of it. */
static void
lose(const struct lane *lane, struct io *io)
{
	const struct endpoint *ep = lane->ep;
	const struct nbd_lane *l = lane->priv;
	char words[WORDS];

	tell_loss(ep->priv, ep, l->link, words, sizeof(words));
	io->err = ENODEV;
	io->spent = true;
	snprintf(io->why, sizeof(io->why), "the server is gone%s%s%s",
	    ep->spec.role == TARGET ? ", maybe with all since the last flush" :
	    "", words[0] != '\0' ? "; " : "", words);
}

/* A request failed with err: what the io is to say. */
static void
fail(struct lane *lane, struct io *io, int err)
{
	if (nbd_link_lost(err)) {
		lose(lane, io);
		return;
	}
	io->err = err;
	if (err == EPROTO)
		snprintf(io->why, sizeof(io->why), "the server sent less than "
		    "it was asked for");
	else if (err != EIO && err != ENOSPC)
		snprintf(io->why, sizeof(io->why), "%s, says the server",
		    errno_words(err));
}

static struct nbd_call
compose(const struct nbd *nbd, const struct io *io, size_t len)
{
	return (struct nbd_call){ .op = io->op,
		.buf = io->op == OP_ZERO ? NULL : io->buf + io->done,
		.off = io->off + io->done, .len = len,
		.flags = io->op == OP_WRITE ? nbd->write_flags :
		    io->op == OP_ZERO ? nbd->zero_flags : 0 };
}

/* Move the next len bytes, which are whole blocks or the end. */
static void
move(struct lane *lane, struct io *io, size_t len)
{
	struct nbd_lane *l = lane->priv;
	struct nbd_call call = compose(lane->ep->priv, io, len);
	int err = nbd_link_do(l->link, &call);

	if (err == 0)
		io->done += len;
	else
		fail(lane, io, err);
}

/* What a server says that makes no zeros where it is told to. */
static bool
will_not(int err)
{
	return err == ENOTSUP || err == EOPNOTSUPP || err == EINVAL;
}

static void
zero(struct lane *lane, struct io *io)
{
	struct nbd *nbd = lane->ep->priv;
	size_t left;

	if (nbd->no_zero || io->off % nbd->block != 0 ||
	    io->len % nbd->block != 0) {
		io->err = EOPNOTSUPP;
		return;
	}
	while (io->done < io->len && io->err == 0) {
		left = io->len - io->done;
		move(lane, io, left < ZERO_MOST ? left : ZERO_MOST);
	}
	if (!will_not(io->err))
		return;
	io->err = EOPNOTSUPP;
	io->why[0] = '\0';
	nbd->no_zero = true;
}

/* A read whose ends lie within blocks: by way of another buffer. */
static void
read_unaligned(struct lane *lane, struct io *io)
{
	const struct nbd *nbd = lane->ep->priv;
	struct nbd_lane *l = lane->priv;
	uint64_t at = io->off + io->done, from = at - at % nbd->block;
	size_t skip = (size_t)(at - from), want = io->len - io->done, n;
	struct nbd_call call = { .op = OP_READ, .off = from };
	int err;

	if (l->bounce == NULL)
		l->bounce = malloc(BOUNCE);
	n = (size_t)round_up(skip + want, nbd->block);
	n = n < BOUNCE ? n : BOUNCE;
	n = n < nbd->most ? n : nbd->most;
	if (n > nbd->size - from)
		n = (size_t)(nbd->size - from);
	call.len = n;
	call.buf = l->bounce;
	err = l->bounce == NULL ? ENOMEM : nbd_link_do(l->link, &call);
	if (err != 0) {
		fail(lane, io, err);
		return;
	}
	n = n - skip < want ? n - skip : want;
	memcpy(io->buf + io->done, l->bounce + skip, n);
	io->done += n;
}

static void
nbd_transfer(struct lane *lane, struct io *io)
{
	const struct nbd *nbd = lane->ep->priv;
	uint64_t at, left;

	if (io->op == OP_ZERO) {
		zero(lane, io);
		return;
	}
	while (io->done < io->len && io->err == 0) {
		at = io->off + io->done;
		if (at >= nbd->size) {
			io->err = io->op == OP_READ ? 0 : ENOSPC;
			break;
		}
		left = io->len - io->done;
		if (left > nbd->size - at)
			left = nbd->size - at;
		if (left > nbd->most)
			left = nbd->most;
		if (at + left != nbd->size)
			left -= left % nbd->block;
		if (at % nbd->block == 0 && left > 0)
			move(lane, io, (size_t)left);
		else if (io->op == OP_READ)
			read_unaligned(lane, io);
		else
			io->err = EINVAL;
	}
}

/* ------------------------------------------------- many requests at a time */

/* One request will do. */
static bool
fits(const struct nbd *nbd, const struct io *io)
{
	return io->op != OP_ZERO && io->len <= nbd->most &&
	    io->off % nbd->block == 0 && io->len % nbd->block == 0 &&
	    io->off < nbd->size && io->len <= nbd->size - io->off;
}

static bool
nbd_start(struct lane *lane, struct io *io)
{
	const struct nbd *nbd = lane->ep->priv;
	struct nbd_lane *l = lane->priv;
	struct nbd_call *call;

	if (!fits(nbd, io))
		return false;
	call = flights_begin(&l->flights, FLIGHTS, sizeof(*call));
	if (call == NULL)
		return false;
	*call = compose(nbd, io, io->len);
	call->flight = (struct flight){ lane, io, NULL };
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
nbd_conclude(struct lane *lane, struct io *io)
{
	struct nbd_lane *l = lane->priv;
	struct nbd_call *call = io->flight;
	int err = call->err;

	io->flight = NULL;
	flights_end(&l->flights, call);
	if (err == 0)
		io->done = io->len;
	else
		fail(lane, io, err);
}

/* ----------------------------------------------------------- what it knows */

/* Ask the server, from there on; nbd->lock is held. */
static int
ask(struct nbd *nbd, struct picture *pic, uint64_t off)
{
	uint64_t from = off - off % nbd->block, len = nbd->size - from;
	int err;

	if (pic->x.at == NULL) {
		pic->x.at = calloc(ANSWER_MOST, sizeof(*pic->x.at));
		pic->x.room = pic->x.at == NULL ? 0 : ANSWER_MOST;
	}
	if (pic->x.room == 0)
		return ENOMEM;
	err = nbd_link_extents(&nbd->link, from, len < ASK_MOST ? len :
	    ASK_MOST, &pic->x);
	pic->off = from;
	if (err != 0)
		pic->x.n = 0;
	return err;
}

/*
 * Whether such a part is passed over.  A hole that is not told to read as zeros
 * is data: nobody knows what it reads as.
 */
static bool
passed_over(const struct nbd *nbd, const struct picture *pic, uint32_t flags)
{
	return pic == &nbd->dirty ? flags == 0 :
	    (flags & LIBNBD_STATE_ZERO) != 0;
}

/* The extent of the last answer that holds off. */
static bool
find(const struct nbd *nbd, const struct picture *pic, uint64_t off,
    struct extent *x)
{
	uint64_t at = pic->off, end;
	bool hole, found = false;
	size_t i;

	for (i = 0; i < pic->x.n && at < nbd->size; i++, at = end) {
		end = at + pic->x.at[i].len;
		if (end > nbd->size)
			end = nbd->size;
		if (end <= off)
			continue;
		hole = passed_over(nbd, pic, pic->x.at[i].flags);
		if (at > off && (!found || x->hole != hole))
			return found;
		*x = (struct extent){ off, end - off, hole };
		found = true;
	}
	return found;
}

static int
look_up(struct nbd *nbd, struct picture *pic, uint64_t off, struct extent *x)
{
	int err = 0;

	if (off >= nbd->size)
		return ENXIO;
	pthread_mutex_lock(&nbd->lock);
	if (!find(nbd, pic, off, x)) {
		err = ask(nbd, pic, off);
		if (err == 0 && !find(nbd, pic, off, x))
			err = EPROTO;		/* it has told nothing */
	}
	pthread_mutex_unlock(&nbd->lock);
	return err;
}

static int
nbd_extent_at(const struct endpoint *ep, uint64_t off, struct extent *x)
{
	struct nbd *nbd = ep->priv;

	return nbd->extents ? look_up(nbd, &nbd->allocated, off, x) :
	    EOPNOTSUPP;
}

static int
nbd_changed(const struct endpoint *ep, uint64_t off, struct extent *x)
{
	struct nbd *nbd = ep->priv;

	return nbd->bitmap != NULL ? look_up(nbd, &nbd->dirty, off, x) :
	    EOPNOTSUPP;
}

/* By the first connection, before there are lanes. */
static void
nbd_probe(struct endpoint *ep, struct io *io)
{
	struct nbd *nbd = ep->priv;
	struct nbd_lane l = { .link = &nbd->link };
	struct lane lane = { .ep = ep, .halt = -1, .priv = &l };

	lane_transfer(&lane, io);
	free(l.bounce);
}

/* ------------------------------------------------------------ when written */

/* The connection: whether it has been lost, as the last word on a flush. */
static int
nbd_flush_end(struct endpoint *ep, struct fault *f)
{
	struct nbd *nbd = ep->priv;
	char words[WORDS];
	int err;

	if (!nbd->flushes && !ep->spec.sync)
		return 0;		/* nobody asked for it */
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
	return fault_set(f, STATUS_NOT_FLUSHED, "%s: the server is gone, "
	    "maybe with all since the last flush%s%s", ep->name,
	    words[0] != '\0' ? "; " : "", words);
}

static int
reader_close(struct endpoint *r)
{
	(void)r;
	return 0;
}

/* The target, asked for what it was given: it is for the server to read it. */
static const struct backend nbd_readback_backend = {
	.attach = nbd_attach,
	.detach = nbd_detach,
	.transfer = nbd_transfer,
	.close = reader_close,
};

static int
nbd_readback(const struct endpoint *target, struct endpoint *r, struct fault *f)
{
	const struct nbd *nbd = target->priv;

	(void)f;
	r->be = &nbd_readback_backend;
	r->priv = target->priv;
	r->geo.io_align = nbd->block;
	r->geo.size = (int64_t)nbd->size;
	return 0;
}

static void
nbd_traits(const struct endpoint *ep, char *text, size_t room)
{
	const struct nbd *nbd = ep->priv;
	bool target = ep->spec.role == TARGET;

	snprintf(text, room, "%s%s%s%s", nbd->several ?
	    "a connection for each worker" : "one connection",
	    nbd->tls ? ", encrypted" : "",
	    target ? nbd->flushes ? ", flush" : ", no flush" :
	    nbd->extents ? ", tells of holes" : "",
	    target ? nbd->zeroes ? ", zeros" : ", no zeros" : "");
}

static void
nbd_note(const struct endpoint *ep, char *text, size_t room)
{
	const struct nbd *nbd = ep->priv;

	text[0] = '\0';
	if (ep->spec.loud && nbd->links > 0)
		snprintf(text, room, "%u connections", nbd->links + 1);
}

const struct backend nbd_backend = {
	.open = nbd_open,
	.attach = nbd_attach,
	.detach = nbd_detach,
	.transfer = nbd_transfer,
	.start = nbd_start,
	.pollfd = nbd_pollfd,
	.service = nbd_service,
	.conclude = nbd_conclude,
	.extent = nbd_extent_at,
	.changed = nbd_changed,
	.flush = nbd_flush_end,
	.probe = nbd_probe,
	.open_readback = nbd_readback,
	.note = nbd_note,
	.traits = nbd_traits,
	.close = nbd_close_end,
};

#else

static int
nbd_open(struct endpoint *ep, bool look, struct fault *f)
{
	(void)look;
	return fault_set(f, STATUS_REFUSED, "%s: this pardd was built without "
	    "libnbd", ep->name);
}

const struct backend nbd_backend = { .open = nbd_open };
#endif
