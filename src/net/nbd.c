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
#include "nbd_end.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"

enum {
	BOUNCE = 128 << 10,	/* bytes, to read parts of blocks */
	ZERO_MOST = 1 << 30,	/* bytes per request without data */
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
nbd_compose(const struct nbd *nbd, const struct io *io, size_t len)
{
	return (struct nbd_call){ .op = io->op,
		.buf = io->op == OP_ZERO ? NULL : io->buf + io->done,
		.off = io->off + io->done, .len = len,
		.flags = io->op == OP_WRITE ? nbd->write_flags :
		    io->op == OP_ZERO ? nbd->zero_flags : 0 };
}

/* Move the next len bytes, which are whole blocks or reach the end. */
static void
nbd_move(struct lane *lane, struct io *io, size_t len)
{
	struct nbd_lane *l = lane->priv;
	struct nbd_call call = nbd_compose(lane->ep->priv, io, len);
	int err = nbd_link_do(l->link, &call);

	if (err == 0)
		io->done += len;
	else
		nbd_fail(lane, io, err);
}

/* Whether err means that the server will not make zeros. */
static bool
will_not(int err)
{
	return err == EOPNOTSUPP || err == EINVAL;
}

static void
nbd_zero_range(struct lane *lane, struct io *io)
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
		nbd_move(lane, io, left < ZERO_MOST ? left : ZERO_MOST);
	}
	if (!will_not(io->err))
		return;
	io->err = EOPNOTSUPP;
	io->why[0] = '\0';
	nbd->no_zero = true;
}

/* Read parts of blocks by way of a bounce buffer. */
static void
nbd_read_unaligned(struct lane *lane, struct io *io)
{
	const struct nbd *nbd = lane->ep->priv;
	struct nbd_lane *l = lane->priv;
	uint64_t at = io->off + io->done, from = at - at % nbd->block;
	size_t skip = (size_t)(at - from), want = io->len - io->done, n;
	struct nbd_call call = { .op = OP_READ, .off = from };
	int err;

	if (l->bounce == NULL)
		l->bounce = malloc(BOUNCE);
	if (l->bounce == NULL) {
		io->err = ENOMEM;
		return;
	}
	n = (size_t)round_up(skip + want, nbd->block);
	n = n < BOUNCE ? n : BOUNCE;
	n = n < nbd->most ? n : nbd->most;
	if (n > nbd->size - from)
		n = (size_t)(nbd->size - from);
	call.len = n;
	call.buf = l->bounce;
	err = nbd_link_do(l->link, &call);
	if (err != 0) {
		nbd_fail(lane, io, err);
		return;
	}
	n = n - skip < want ? n - skip : want;
	memcpy(io->buf + io->done, l->bounce + skip, n);
	io->done += n;
}

static void
read_or_write(struct lane *lane, struct io *io)
{
	const struct nbd *nbd = lane->ep->priv;
	uint64_t at, left;

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
			nbd_move(lane, io, (size_t)left);
		else if (io->op == OP_READ)
			nbd_read_unaligned(lane, io);
		else
			io->err = EINVAL;
	}
}

static void
nbd_transfer(struct lane *lane, struct io *io)
{
	struct nbd *nbd = lane->ep->priv;

	if (io->op == OP_ZERO)
		nbd_zero_range(lane, io);
	else
		read_or_write(lane, io);
	command_listen(&nbd->command);
}

/* --- asynchronous requests ----------------------------------------------- */

/* Whether one request is enough. */
static bool
nbd_fits(const struct nbd *nbd, const struct io *io)
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

	if (!nbd_fits(nbd, io))
		return false;
	call = flights_begin(&l->flights, NBD_FLIGHTS, sizeof(*call));
	if (call == NULL)
		return false;
	*call = nbd_compose(nbd, io, io->len);
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
	struct nbd *nbd = lane->ep->priv;
	struct nbd_lane *l = lane->priv;
	struct nbd_call *call = io->flight;
	int err = call->err;

	io->flight = NULL;
	flights_end(&l->flights, call);
	if (err == 0)
		io->done = io->len;
	else
		nbd_fail(lane, io, err);
	command_listen(&nbd->command);
}

/* Uses the first connection, before there are lanes. */
static void
nbd_probe(struct endpoint *ep, struct io *io)
{
	struct nbd *nbd = ep->priv;
	struct nbd_lane l = { .link = &nbd->link };
	struct lane lane = { .ep = ep, .halt = -1, .priv = &l };

	lane_transfer(&lane, io);
	free(l.bounce);
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
	    nbd->extents ? ", reports holes" : "",
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
