/*
 * An NBD server as an end: what it reports about itself, requests, and extents.
 * Its connections and libnbd are mocks; the disk has 1 MiB.
 */
#include "test.h"
#include "config.h"

#ifdef HAVE_LIBNBD
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "../../src/net/nbd.h"
#include "base/library.h"
#include "cli/opts.h"
#include "disk/opened.h"
#define POOR_OF_ALL
#include "poor.h"

#define BLOCK	((size_t)512)

enum { SIZE = 1 << 20, EXTENTS = 4 };

struct nbd_handle {		/* there is one */
	int	 unused;
};

static struct {
	struct nbd_handle handle;
	unsigned char	 bytes[SIZE];
	int64_t		 size, least, most, good;
	int		 read_only, flush, fua, zero, fast, several, tls;
	bool		 tells, bitmap;
	const char	*peer;		/* of all connections, */
	const char	*peer_then;	/* or of those after the first */
	unsigned	 links;		/* that are open */
	unsigned	 opened;	/* so far */
	bool		 full;		/* it takes no more */
	bool		 late;
	int		 err;		/* of the next command, or 0 */
	unsigned	 commands;
	struct nbd_alike extent[EXTENTS];
	size_t		 extents;
	uint64_t	 asked;		/* where extents were asked for last */
	char		 uri[100];	/* of the last connection */
	int		 sock;		/* what a connection has */
	pid_t		 pid;		/* who has the other end of it */
} server;

static struct opts o;
static struct endpoint end, back;
static struct lane lane;
static struct io io;
static struct fault f;
static unsigned char buf[2 * SIZE];

/* -------------------------------------------------- in the place of libnbd */

static int64_t
get_block_size(struct nbd_handle *h, int which)
{
	return which == LIBNBD_SIZE_MINIMUM ? server.least :
	    which == LIBNBD_SIZE_MAXIMUM ? server.most : server.good;
}

#define TELLS(type, name, what)						\
static type								\
name(struct nbd_handle *h)						\
{									\
	return server.what;						\
}

TELLS(int64_t, get_size, size)
TELLS(int, is_read_only, read_only)
TELLS(int, can_flush, flush)
TELLS(int, can_fua, fua)
TELLS(int, can_zero, zero)
TELLS(int, can_fast_zero, fast)
TELLS(int, can_multi_conn, several)
TELLS(int, get_tls_negotiated, tls)
TELLS(int, aio_get_fd, sock)

static int
can_meta_context(struct nbd_handle *h, const char *name)
{
	return strcmp(name, LIBNBD_CONTEXT_BASE_ALLOCATION) == 0 ?
	    server.tells : server.bitmap;
}

static char *
get_export_name(struct nbd_handle *h)
{
	return strdup("export");
}

int
library_load(const struct library *l, void *table, const char *what,
    struct fault *why)
{
	struct libnbd *lib = table;

	*lib = (struct libnbd){ .get_size = get_size,
		.get_block_size = get_block_size,
		.is_read_only = is_read_only, .can_flush = can_flush,
		.can_fua = can_fua, .can_zero = can_zero,
		.can_fast_zero = can_fast_zero,
		.can_multi_conn = can_multi_conn,
		.can_meta_context = can_meta_context,
		.get_tls_negotiated = get_tls_negotiated,
		.get_export_name = get_export_name,
		.aio_get_fd = aio_get_fd };
	return 0;
}

/* ------------------------------------------- in the place of a connection */

int
nbd_link_open(struct nbd_link *link, const struct libnbd *lib,
    const struct nbd_address *to, struct fault *why)
{
	if (server.full)
		return fault_set(why, STATUS_REFUSED, "no");
	*link = (struct nbd_link){ .handle = &server.handle, .kick = -1 };
	snprintf(link->peer, sizeof(link->peer), "%s", server.opened == 0 ?
	    server.peer : server.peer_then);
	if (to->uri != NULL)
		snprintf(server.uri, sizeof(server.uri), "%s", to->uri);
	server.links++;
	server.opened++;
	return 0;
}

void
nbd_link_close(struct nbd_link *link)
{
	server.links--;
}

static int
carry_out(struct nbd_call *c)
{
	int err = server.err;

	server.commands++;
	server.err = 0;
	if (err != 0)
		return err;
	assert_true(c->off + c->len <= (uint64_t)server.size);
	if (c->off + c->len > SIZE)
		return 0;
	if (c->op == OP_READ)
		memcpy(c->buf, server.bytes + c->off, c->len);
	else if (c->op == OP_WRITE)
		memcpy(server.bytes + c->off, c->buf, c->len);
	else
		memset(server.bytes + c->off, 0, c->len);
	return 0;
}

int
nbd_link_do(struct nbd_link *link, struct nbd_call *c)
{
	return carry_out(c);
}

bool
nbd_link_send(struct nbd_link *link, struct nbd_call *c)
{
	return true;			/* and never answers */
}

int
nbd_link_pollfd(struct nbd_link *link, short *events)
{
	*events = POLLIN;
	return 7;
}

void
nbd_link_service(struct nbd_link *link)
{
}

int
nbd_link_flush(struct nbd_link *link)
{
	int err = server.err;

	server.err = 0;
	server.commands++;
	return err;
}

int
nbd_link_extents(struct nbd_link *link, uint64_t off, uint64_t len,
    struct nbd_extents *x)
{
	int err = server.err;

	assert_true(x->room >= EXTENTS);
	server.commands++;
	server.err = 0;
	server.asked = off;
	x->n = server.extents;
	memcpy(x->at, server.extent, sizeof(server.extent));
	return err;
}

bool
nbd_link_lost(int err)
{
	return err == ENOTCONN;
}

bool
nbd_link_late(struct nbd_link *link)
{
	return server.late;
}

pid_t
opened_peer(int sock)
{
	return server.pid;
}

/* ------------------------------------------------------------------ opening */

static int
set_up(void **state)
{
	size_t i;

	memset(&server, 0, sizeof(server));
	for (i = 0; i < SIZE; i++)
		server.bytes[i] = (unsigned char)(i * 7 + i / BLOCK);
	server.size = SIZE;
	server.least = BLOCK;
	server.most = 64 << 10;
	server.good = 4096;
	server.flush = server.fua = server.zero = server.fast = 1;
	server.tells = server.bitmap = true;
	server.peer = server.peer_then = "10.0.0.1:10809";
	server.sock = -1;
	o = (struct opts){ .input = "nbd://host/disk", .output =
		"nbd://host/disk", .timeout = -1, .sync = 1 };
	return 0;
}

static int
tear_down(void **state)
{
	return (int)server.links;
}

EACH(set_up, tear_down)

static int
open_end(enum role role, unsigned flags)
{
	server.opened = 0;
	o.iflag = o.oflag = flags;
	f = (struct fault){ 0 };
	return endpoint_open(&end, role, &o, false, &f);
}

static struct nbd *
opened(enum role role, unsigned flags)
{
	if (open_end(role, flags) != 0)
		fail_msg("not opened: %s", f.text);
	return end.priv;
}

static void
closed(void)
{
	assert_int_equal(endpoint_close(&end), 0);
	assert_int_equal(server.links, 0);
}

static void
is_refused(enum role role, unsigned flags, const char *says)
{
	assert_int_equal(open_end(role, flags), -1);
	if (f.status != STATUS_REFUSED || strstr(f.text, says) == NULL)
		fail_msg("%d: %s", f.status, f.text);
	assert_int_equal(server.links, 0);
}

CASE(refuses_numbers_that_cannot_be)
{
	server.size = -1;
	is_refused(SOURCE, 0, "its size is -1");
	server.size = SIZE;
	server.least = 128 << 10;
	is_refused(SOURCE, 0, "its smallest block is 131072");
	server.least = 513;
	is_refused(SOURCE, 0, "its smallest block is 513");
	server.least = BLOCK;
	server.most = 256;
	is_refused(SOURCE, 0, "its largest request is 256");
	server.most = (int64_t)1 << 40;
	server.good = (int64_t)1 << 40;
	assert_int_equal(opened(SOURCE, 0)->preferred, 0);
	assert_int_equal(end.geo.io_max, 32 << 20);
	assert_int_equal(end.geo.block, BLOCK);
	closed();
	server.most = 10 * BLOCK + 1;		/* in whole blocks */
	opened(SOURCE, 0);
	assert_int_equal(end.geo.io_max, 10 * BLOCK);
	closed();
	server.least = server.most = server.good = 0;	/* it names none */
	opened(SOURCE, 0);
	assert_int_equal(end.geo.io_max, 32 << 20);
	assert_int_equal(end.geo.block, 0);
	closed();
}

CASE(refuses_what_the_server_cannot_do)
{
	server.fua = 0;
	is_refused(TARGET, FLAG_FUA, "has no FUA");
	opened(SOURCE, FLAG_DSYNC);
	closed();
	o.bitmap = "b";
	server.bitmap = false;
	is_refused(SOURCE, 0, "offers no bitmap b");
	server.read_only = 1;
	assert_int_equal(open_end(TARGET, 0), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EROFS);
	server.full = true;
	is_refused(SOURCE, 0, "no");
}

CASE(asks_for_zeros_as_it_is_told)
{
	server.several = 1;
	assert_int_equal(opened(TARGET, 0)->zero_flags, 0);
	closed();
	assert_int_equal(opened(TARGET, FLAG_NOSPARSE | FLAG_TRIM)->zero_flags,
	    LIBNBD_CMD_FLAG_NO_HOLE);
	closed();
	assert_int_equal(opened(TARGET, FLAG_TRIM | FLAG_FUA)->zero_flags,
	    LIBNBD_CMD_FLAG_FAST_ZERO | LIBNBD_CMD_FLAG_FUA);
	closed();
	server.fast = 0;
	assert_int_equal(opened(TARGET, FLAG_TRIM)->zero_flags, 0);
	closed();
	assert_true(end.is.zeroes);
	opened(SOURCE, FLAG_NOSPARSE);
	assert_false(end.is.sparse);
	closed();
	opened(SOURCE, 0);
	assert_true(end.is.sparse);
	closed();
}

/* Who began to listen at a Unix socket is this test itself. */
CASE(knows_who_serves_it)
{
	int pair[2];

	server.pid = 123;
	opened(SOURCE, 0);
	assert_int_equal(end.id.server, 123);
	closed();
	server.pid = 0;
	opened(SOURCE, 0);			/* on another machine */
	assert_int_equal(end.id.server, 0);
	closed();
	server.peer = "";
	opened(SOURCE, 0);
	assert_int_equal(end.id.server, 0);
	closed();
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	server.sock = pair[0];
	opened(SOURCE, 0);
	assert_int_equal(end.id.server, getpid());
	closed();
	close(pair[0]);
	close(pair[1]);
}

CASE(needs_memory)
{
	unsigned n = 0;

	o.bitmap = "b";
	for (;; n++) {
		poor_after(n);
		if (open_end(SOURCE, 0) == 0)
			break;
		assert_true(poor_was());
		assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
		assert_int_equal(server.links, 0);
	}
	poor_was();
#ifdef POOR
	assert_true(n >= 1);
	poor_after(0);
	assert_int_equal(endpoint_changed(&end, 0, &(struct extent){ 0 }),
	    ENOMEM);
	poor_after(0);
	assert_int_equal(lane_attach(&lane, &end, 0, -1), ENOMEM);
#endif
	assert_int_equal(lane_attach(&lane, &end, 0, -1), 0);
#ifdef POOR
	io = (struct io){ .op = OP_READ, .buf = buf, .len = BLOCK };
	poor_after(0);
	assert_false(lane_start(&lane, &io, NULL));
#endif
	assert_int_equal(lane_detach(&lane), 0);
	closed();
}

/* -------------------------------------------------------------- the lanes */

static void
joins(const char *uri)
{
	o.input = uri;
	opened(SOURCE, 0);
	assert_int_equal(lane_attach(&lane, &end, 0, -1), 0);
	assert_int_equal(server.links, 2);
	assert_int_equal(lane_detach(&lane), 0);
	closed();
}

CASE(connects_each_worker_to_the_same_server)
{
	server.several = 1;
	joins("nbd://host/disk");
	assert_string_equal(server.uri, "nbd://10.0.0.1:10809/disk");
	joins("nbd://host");
	assert_string_equal(server.uri, "nbd://10.0.0.1:10809");
	joins("nbds://host/disk");		/* whose certificate has it */
	assert_string_equal(server.uri, "nbds://host/disk");
	server.peer = server.peer_then = "";
	joins("nbd://host/disk");
	assert_string_equal(server.uri, "nbd://host/disk");
}

CASE(joins_no_other_server_or_disk)
{
	server.several = 1;
	o.engine = ENGINE_ASYNC;
	opened(TARGET, 0);
	server.size = SIZE / 2;
	assert_int_equal(lane_attach(&lane, &end, 0, -1), ENODEV);
	assert_int_equal(server.links, 1);
	server.peer_then = "10.0.0.2:10809";
	assert_int_equal(lane_attach(&lane, &end, 0, -1), ECONNREFUSED);
	assert_string_equal(lane.why, "another server has that name now");
	closed();
}

/* ---------------------------------------------------------------- requests */

static void
begin(enum role role)
{
	opened(role, 0);
	assert_int_equal(lane_attach(&lane, &end, 0, -1), 0);
}

static void
finish(void)
{
	assert_int_equal(lane_detach(&lane), 0);
	closed();
}

static void
transfer(enum op op, uint64_t off, size_t len, int err, size_t done)
{
	io = (struct io){ .op = op, .buf = buf, .off = off, .len = len };
	server.commands = 0;
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, err);
	assert_int_equal(io.done, done);
}

static void
reads(uint64_t off, size_t len, size_t done, unsigned commands)
{
	memset(buf, 0, sizeof(buf));
	transfer(OP_READ, off, len, 0, done);
	assert_memory_equal(buf, server.bytes + off, done);
	assert_int_equal(server.commands, commands);
}

CASE(reads_any_bytes)
{
	begin(SOURCE);
	reads(0, SIZE, SIZE, 16);
	finish();
	server.size = SIZE - 100;		/* not in whole blocks */
	server.most = 0;
	begin(SOURCE);
	reads(0, SIZE, SIZE - 100, 1);
	reads(SIZE - BLOCK + 1, BLOCK, BLOCK - 101, 1);
	finish();
}

CASE(writes)
{
	begin(TARGET);
	memset(buf, 1, SIZE);
	transfer(OP_WRITE, 0, SIZE, 0, SIZE);
	assert_memory_equal(server.bytes, buf, SIZE);
	finish();
}

CASE(makes_no_zeros_where_it_will_not)
{
	server.size = (int64_t)3 << 30;
	begin(TARGET);
	transfer(OP_ZERO, 0, (size_t)3 << 30, 0, (size_t)3 << 30);
	assert_int_equal(server.commands, 3);
	server.err = EIO;
	transfer(OP_ZERO, 0, BLOCK, EIO, 0);
	server.err = EINVAL;
	transfer(OP_ZERO, 0, BLOCK, EOPNOTSUPP, 0);
	assert_string_equal(io.why, "");
	end.cmd.no_zero = false;
	server.err = EOPNOTSUPP;
	transfer(OP_ZERO, 0, BLOCK, EOPNOTSUPP, 0);
	finish();
}

static void
fails(enum role role, int err, int ends, const char *why)
{
	begin(role);
	server.err = err;
	transfer(role == SOURCE ? OP_READ : OP_WRITE, 0, BLOCK, ends, 0);
	assert_string_equal(io.why, why);
	assert_int_equal(io.spent, err == ENOTCONN);
	finish();
}

CASE(says_why_a_request_failed)
{
	fails(SOURCE, EIO, EIO, "");
	fails(TARGET, ENOSPC, ENOSPC, "");
	fails(SOURCE, EPROTO, EPROTO, "the server sent less than it was asked "
	    "for, or a part of it twice");
	fails(TARGET, EPERM, EPERM, "Operation not permitted, says the server");
	fails(SOURCE, ENOTCONN, ENODEV, "the server is gone");
	fails(TARGET, ENOTCONN, ENODEV, "the server is gone; writes since "
	    "the last flush may be lost");
	server.late = true;
	o.timeout = 3;
	fails(SOURCE, ENOTCONN, ENODEV, "the server is gone; no answer within "
	    "3 seconds (timeout=)");
}

/* As many are in flight as a lane has at most, and no more. */
CASE(has_requests_in_flight)
{
	static struct io many[NBD_FLIGHTS + 1];
	short events;
	unsigned i;

	begin(SOURCE);
	for (i = 0; i <= NBD_FLIGHTS; i++) {
		many[i] = (struct io){ .op = OP_READ, .buf = buf,
			.len = BLOCK };
		assert_int_equal(lane_start(&lane, &many[i], NULL), i < NBD_FLIGHTS);
	}
	assert_int_equal(lane_pollfd(&lane, &events), 7);
	assert_int_equal(events, POLLIN);
	finish();
}

/* ---------------------------------------------------------------- the end */

static void
flushes(int err, int status, const char *says)
{
	server.err = err;
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_flush(&end, &f), status == 0 ? 0 : -1);
	assert_int_equal(f.status, status);
	if (status != 0 && strstr(f.text, says) == NULL)
		fail_msg("%s", f.text);
}

CASE(says_what_was_not_flushed)
{
	opened(TARGET, 0);
	flushes(0, 0, "");
	flushes(EIO, STATUS_NOT_FLUSHED, "flushing: Input/output error, says");
	flushes(0, STATUS_NOT_FLUSHED, "flushing: Input/output error");
	closed();
	opened(TARGET, 0);
	flushes(ENOTCONN, STATUS_NOT_FLUSHED, "the server is gone; writes "
	    "since the last flush may be lost");
	server.late = true;
	((struct nbd *)end.priv)->unflushed = false;
	flushes(ENOTCONN, STATUS_NOT_FLUSHED, "; no answer within 0 seconds");
	closed();
	server.flush = 0;
	opened(TARGET, 0);
	flushes(0, STATUS_NOT_FLUSHED, "has no flush");
	closed();
	o.sync = 0;
	opened(TARGET, 0);
	server.commands = 0;
	flushes(0, 0, "");
	assert_int_equal(server.commands, 0);
	closed();
}

CASE(is_read_back)
{
	opened(TARGET, 0);
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), 0);
	assert_int_equal(back.geo.io_align, BLOCK);
	assert_int_equal(lane_attach(&lane, &back, 0, -1), 0);
	reads(0, BLOCK, BLOCK, 1);
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_close(&back), 0);
	io = (struct io){ .op = OP_READ, .buf = buf, .off = 1, .len = 1 };
	endpoint_probe(&end, &io);
	assert_int_equal(io.done, 1);
	closed();
}

/* ---------------------------------------------------------------- extents */

static void
extents(const struct nbd_alike *x, size_t n)
{
	memcpy(server.extent, x, n * sizeof(*x));
	server.extents = n;
}

static void
is_at(uint64_t off, uint64_t len, bool hole)
{
	struct extent x;

	assert_int_equal(endpoint_extent(&end, off, &x), 0);
	assert_int_equal(x.off, off);
	assert_int_equal(x.len, len);
	assert_int_equal(x.hole, hole);
}

CASE(joins_extents_that_are_alike)
{
	static const struct nbd_alike some[] = { { 4096, 0 }, { 4096, 1 },
		{ 4096, 3 }, { 2 * SIZE, 2 } };

	opened(SOURCE, 0);
	extents(some, 4);
	is_at(0, 8192, false);		/* a hole need not be zeros */
	is_at(100, 8092, false);
	is_at(8192, SIZE - 8192, true);
	assert_int_equal(server.commands, 1);
	closed();
}

CASE(tells_no_extents_that_it_was_not_told)
{
	static const struct nbd_alike some[] = { { 4096, 0 }, { 4096, 3 } };
	struct extent x;

	opened(SOURCE, 0);
	assert_int_equal(endpoint_extent(&end, SIZE, &x), ENXIO);
	assert_int_equal(endpoint_extent(&end, 0, &x), EPROTO);
	server.err = EIO;
	assert_int_equal(endpoint_extent(&end, 0, &x), EIO);
	extents(some, 2);
	is_at(0, 4096, false);
	is_at(4096, 4096, true);
	extents(some, 1);
	server.commands = 0;
	is_at(8192 + 100, 4096 - 100, false);	/* it asks at a block */
	assert_int_equal(server.asked, 8192);
	assert_int_equal(server.commands, 1);
	assert_int_equal(endpoint_changed(&end, 0, &x), EOPNOTSUPP);
	closed();
	server.tells = false;
	opened(SOURCE, 0);
	assert_int_equal(endpoint_extent(&end, 0, &x), EOPNOTSUPP);
	closed();
}

#endif
