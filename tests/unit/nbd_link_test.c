/*
 * A connection to an NBD server, with a mock libnbd, whose server answers as a
 * table says, or not at all.
 */
#undef _FORTIFY_SOURCE		/* poll() is one of the test's own */
#include "test.h"
#include "config.h"

#ifdef HAVE_LIBNBD
#include <sys/socket.h>

#include "../../src/net/nbd.h"
#include "link_world.h"

enum { LENGTH = 64, PIECES = 10 };

struct nbd_handle {		/* there is one */
	int	 sock;
};

struct piece {			/* of the answer to a read */
	uint64_t off;
	size_t	 len;
	unsigned what;
};

static struct {
	struct nbd_handle handle;
	int		 err;		/* of what fails: an errno value */
	unsigned	 steps;		/* until it has connected: of each two */
	bool		 refuses;	/* ... and then it has not */
	bool		 plain;		/* without TLS */
	bool		 dead, closed;
	struct piece	 piece[PIECES];
	int		 result;	/* of the command */
	nbd_completion_callback done;	/* .callback NULL: none is in flight */
	nbd_chunk_callback chunk;
	unsigned	 open, disconnected;
	short		 hears;		/* what a poll finds beside what it
					 * wanted, instead of POLLIN */
	bool		 poor;		/* not root */
	int		 buffer;	/* the socket's */
} server;

static struct nbd_link conn;
static struct fault fault;
static unsigned char buf[LENGTH];

/* -------------------------------------------- in the place of the C library */

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	int heard = world_poll(p, n, ms);

	if (heard <= 0)
		return heard;
	if (server.done.callback == NULL && server.steps == 0)
		return 0;
	p[n - 1].revents = server.hears != 0 ? server.hears :
	    server.steps > 1 ? POLLOUT : POLLIN;
	return 1;
}

int
setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	if (level == SOL_SOCKET && name == SO_SNDBUFFORCE && server.poor) {
		errno = EPERM;
		return -1;
	}
	if (level == SOL_SOCKET &&
	    (name == SO_SNDBUFFORCE || name == SO_SNDBUF))
		memcpy(&server.buffer, value, sizeof(server.buffer));
	return 0;
}

/* -------------------------------------------------- in the place of libnbd */

static struct nbd_handle *
create(void)
{
	if (fails("create"))
		return NULL;
	server.open++;
	return &server.handle;
}

static void
shut(struct nbd_handle *h)
{
	if (h->sock >= 0)
		close(h->sock);
	h->sock = -1;
	server.open--;
}

static const char *
words(void)
{
	return world.words;
}

static int
number(void)
{
	return server.err;
}

static int
initialize(struct nbd_handle *h, bool on)
{
	return fails("initialize") ? -1 : 0;
}

static int
local(struct nbd_handle *h, bool on)
{
	return fails("local") ? -1 : 0;
}

static int
context(struct nbd_handle *h, const char *name)
{
	return fails(name) ? -1 : 0;
}

static int
connect_uri(struct nbd_handle *h, const char *uri)
{
	h->sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fails("uri") ? -1 : 0;
}

static int
connect_socket(struct nbd_handle *h, int sock)
{
	h->sock = sock;
	return fails("socket") ? -1 : 0;
}

static int
connecting(struct nbd_handle *h)
{
	return server.steps > 1;
}

static int
negotiating(struct nbd_handle *h)
{
	return server.steps == 1;
}

static int
ready(struct nbd_handle *h)
{
	return server.steps == 0 && !server.refuses && !server.dead;
}

static int
dead(struct nbd_handle *h)
{
	return server.dead;
}

static int
closed(struct nbd_handle *h)
{
	return server.closed;
}

static int
sock_of(struct nbd_handle *h)
{
	return h->sock;
}

static unsigned
direction(struct nbd_handle *h)
{
	return server.dead ? 0 : server.steps > 1 ?
	    LIBNBD_AIO_DIRECTION_WRITE : LIBNBD_AIO_DIRECTION_READ;
}

/* The server has sent an answer. */
static int
notify_read(struct nbd_handle *h)
{
	nbd_completion_callback done = server.done;
	struct piece *p;
	int err = 0;

	if (server.steps > 0) {
		server.steps--;
		return fails("read") ? -1 : 0;
	}
	for (p = server.piece; p < server.piece + PIECES &&
	    server.chunk.callback != NULL; p++)
		if (p->len != 0 || p->what != 0)
			server.chunk.callback(server.chunk.user_data, NULL,
			    p->len, p->off, p->what, &err);
	err = server.result;
	server.done.callback = NULL;
	assert_int_equal(done.callback(done.user_data, &err), 1);
	return 0;
}

static int
notify_write(struct nbd_handle *h)
{
	if (server.steps > 0)
		server.steps--;
	return fails("write") ? -1 : 0;
}

static int
secret(struct nbd_handle *h)
{
	return !server.plain;
}

static int64_t
begun(nbd_completion_callback done)
{
	if (fails("command"))
		return -1;
	server.done = done;
	return 1;
}

static int64_t
pread_structured(struct nbd_handle *h, void *to, size_t len, uint64_t off,
    nbd_chunk_callback chunk, nbd_completion_callback done, uint32_t flags)
{
	server.chunk = chunk;
	return begun(done);
}

static int64_t
flush(struct nbd_handle *h, nbd_completion_callback done, uint32_t flags)
{
	server.chunk.callback = NULL;
	return begun(done);
}

static int64_t
block_status(struct nbd_handle *h, uint64_t len, uint64_t off,
    nbd_extent_callback extent, nbd_completion_callback done, uint32_t flags)
{
	uint32_t other[] = { 7, 7 }, some[] = { 4096, 0, 512, 3, 8 };
	uint32_t more[] = { 1024, 1, 1024, 2 };
	int err = 0;

	server.chunk.callback = NULL;
	extent.callback(extent.user_data, "other", off, other, 2, &err);
	extent.callback(extent.user_data, "base", off, some, 5, &err);
	extent.callback(extent.user_data, "base", off, more, 4, &err);
	return begun(done);
}

static int
disconnect(struct nbd_handle *h, uint32_t flags)
{
	server.disconnected++;
	return 0;
}

static const struct libnbd lib = {
	.create = create, .close = shut, .get_error = words,
	.get_errno = number, .set_pread_initialize = initialize,
	.set_uri_allow_local_file = local, .add_meta_context = context,
	.aio_connect_uri = connect_uri, .aio_connect_socket = connect_socket,
	.aio_is_connecting = connecting, .aio_is_negotiating = negotiating,
	.aio_is_ready = ready, .aio_is_dead = dead, .aio_is_closed = closed,
	.aio_get_fd = sock_of, .aio_get_direction = direction,
	.aio_notify_read = notify_read, .aio_notify_write = notify_write,
	.get_tls_negotiated = secret,
	.aio_pread_structured = pread_structured, .aio_flush = flush,
	.aio_block_status = block_status, .aio_disconnect = disconnect,
};

/* ------------------------------------------------------------- connecting */

static int
fresh(void **state)
{
	memset(&world, 0, sizeof(world));
	memset(&server, 0, sizeof(server));
	server.handle.sock = -1;
	server.steps = 3;
	return 0;
}

EACH(fresh, NULL)

static const struct nbd_address by_uri = { .name = "it", .uri = "nbd://x",
	.timeout = 5, .patience = 10 };

/* Connect through a socket of this machine, or by a URI. */
static int
join(const struct nbd_address *to)
{
	struct nbd_address a = *to;
	int pair[2] = { -1, -1 }, failed;

	if (a.uri == NULL) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
		    0, pair), 0);
		a.sock = pair[0];
	}
	failed = nbd_link_open(&conn, &lib, &a, &fault);
	if (failed != 0 && a.uri == NULL)	/* it is closed */
		assert_int_equal(recv(pair[1], pair, 1, MSG_DONTWAIT), 0);
	if (pair[1] >= 0)
		close(pair[1]);
	return failed;
}

static int
begin(void **state)
{
	fresh(state);
	return join(&by_uri);
}

static int
end(void **state)
{
	nbd_link_close(&conn);
	assert_int_equal(server.open, 0);
	return 0;
}

CASE(connects_and_takes_leave)
{
	static const struct nbd_address here = { .name = "it", .timeout = 5,
		.bitmap = "qemu:dirty-bitmap:x" };

	assert_int_equal(join(&by_uri), 0);
	assert_int_equal(server.open, 1);
	assert_int_equal(server.buffer, 0);	/* TCP sizes its own */
	nbd_link_close(&conn);
	assert_int_equal(server.open, 0);
	assert_int_equal(server.disconnected, 1);
	fresh(state);
	assert_int_equal(join(&here), 0);	/* a whole request has room */
	assert_int_equal(server.buffer, 2 << 20);
	nbd_link_close(&conn);
	fresh(state);
	server.poor = true;			/* ... as far as one may */
	assert_int_equal(join(&here), 0);
	assert_int_equal(server.buffer, 2 << 20);
	nbd_link_close(&conn);
}

CASE(says_why_it_does_not_connect)
{
	static const struct {
		const char	*fails, *words;
		int		 err, status;
		const char	*text;
	} row[] = {
		{ "create", "no", 0, STATUS_ERRNO + ENOMEM,
		    "it: Cannot allocate memory" },
		{ "initialize", "nbd_x: no", EINVAL, STATUS_ERRNO + EINVAL,
		    "it: connecting: no" },
		{ "local", "nbd_x", EINVAL, STATUS_ERRNO + EINVAL,
		    "it: connecting: nbd_x" },
		{ "base:allocation", "x: no", 0, STATUS_FILE,
		    "it: connecting: x: no" },
		{ "bits", NULL, ENOENT, STATUS_ERRNO + ENOENT,
		    "it: connecting: No such file or directory" },
		{ "uri", NULL, 0, STATUS_FILE,
		    "it: connecting: Input/output error" },
		{ "socket", NULL, ECONNREFUSED, STATUS_FILE,
		    "it: connecting: Connection refused" },
		{ "read", "nbd_x: no", EPIPE, STATUS_ERRNO + EPIPE,
		    "it: connecting: no" },
		{ "write", "nbd_x: no", EPIPE, STATUS_ERRNO + EPIPE,
		    "it: connecting: no" },
	};
	struct nbd_address to = by_uri;
	size_t how;

	to.bitmap = "bits";
	EACH_OF(i, row)
		for (how = 0; how < 2; how++) {
			to.uri = how == 0 ? "nbd://x" : NULL;
			fresh(state);
			world.fails = row[i].fails;
			world.words = row[i].words;
			server.err = row[i].err;
			if ((strcmp(row[i].fails, "uri") == 0 && how == 1) ||
			    (strcmp(row[i].fails, "socket") == 0 && how == 0))
				continue;
			assert_int_equal(join(&to), -1);
			assert_string_equal(fault.text, row[i].text);
			assert_int_equal(fault.status, row[i].status);
			assert_int_equal(server.open, 0);
		}
}

CASE(connects_with_what_was_asked_only)
{
	struct nbd_address to = by_uri;

	to.tls = true;
	fresh(state);
	assert_int_equal(join(&to), 0);
	nbd_link_close(&conn);
	fresh(state);
	server.plain = true;
	assert_int_equal(join(&to), -1);
	assert_string_equal(fault.text,
	    "it: the server does not offer TLS");
	assert_int_equal(fault.status, STATUS_REFUSED);
	fresh(state);
	server.refuses = true;
	world.words = "nbd_x: no such export";
	assert_int_equal(join(&to), -1);
	assert_string_equal(fault.text, "it: connecting: no such export");
	fresh(state);
	world.no_bell = true;
	assert_int_equal(join(&to), -1);
	assert_string_equal(fault.text, "it: Too many open files");
	assert_int_equal(server.open, 0);
}

CASE(waits_for_the_server_as_long_as_asked)
{
	world.mute = true;
	assert_int_equal(join(&by_uri), -1);
	assert_string_equal(fault.text, "it: the server does not answer "
	    "within 5 seconds (timeout=)");
	assert_in_range(world.now, 5 * SECOND, 5 * SECOND + 2);
	fresh(state);
	world.poll_err = EINTR;		/* it goes on */
	assert_int_equal(join(&by_uri), 0);
	nbd_link_close(&conn);
	fresh(state);
	world.poll_err = EINVAL;
	assert_int_equal(join(&by_uri), -1);
	assert_string_equal(fault.text, "it: Invalid argument");
	fresh(state);
	server.hears = POLLHUP;			/* libnbd says what it is */
	world.fails = "read";
	world.words = "nbd_x: hung up";
	server.steps = 1;
	assert_int_equal(join(&by_uri), -1);
	assert_string_equal(fault.text, "it: connecting: hung up");
}

/* ----------------------------------------------------------------- commands */

static int
read_it(void)
{
	struct nbd_call call = { .op = OP_READ, .buf = buf, .len = LENGTH };

	return nbd_link_do(&conn, &call);
}

EACH(begin, end)

CASE(takes_a_read_whose_bytes_all_came_once)
{
	static const struct {
		struct piece	piece[PIECES];
		int		result, answer;
	} row[] = {
		{ { { 0, 64, 1 } }, 0, 0 },
		{ { { 0, 32, 1 }, { 32, 32, 1 } }, 0, 0 },
		{ { { 32, 32, 1 }, { 0, 32, 1 } }, 0, 0 },
		{ { { 0, 8, 1 }, { 16, 48, 1 }, { 8, 8, 2 } }, 0, 0 },
		{ { { 0, 64, 1 }, { 64, 0, 1 } }, 0, 0 },	/* nothing */
		{ { { 0, 0, 0 } }, 0, EPROTO },
		{ { { 0, 63, 1 } }, 0, EPROTO },
		{ { { 0, 65, 1 } }, 0, EPROTO },
		{ { { 0, 32, 1 }, { 0, 32, 1 } }, 0, EPROTO },
		{ { { 0, 48, 1 }, { 47, 16, 1 } }, 0, EPROTO },
		{ { { 16, 48, 1 }, { 0, 17, 1 } }, 0, EPROTO },
		{ { { 0, 64, 1 }, { 0, 64, 1 }, { 0, 1, 1 } }, 0, EPROTO },
		/* an error, and what else came */
		{ { { 0, 32, 1 }, { 32, 32, LIBNBD_READ_ERROR } }, EIO, EIO },
		{ { { 0, 32, 1 }, { 32, 32, LIBNBD_READ_ERROR } }, 0, EPROTO },
		/* in many parts, and not all */
		{ { { 0, 1, 1 }, { 2, 1, 1 }, { 4, 1, 1 }, { 6, 1, 1 },
		    { 8, 1, 1 }, { 10, 1, 1 }, { 12, 1, 1 }, { 14, 1, 1 },
		    { 16, 57, 1 } }, 0, EPROTO },
	};

	EACH_OF(i, row) {
		memcpy(server.piece, row[i].piece, sizeof(server.piece));
		server.result = row[i].result;
		if (read_it() != row[i].answer)
			fail_msg("row %zu", i);
	}
}

CASE(says_how_a_command_ended)
{
	assert_int_equal(nbd_link_flush(&conn), 0);
	server.result = ENOSPC;
	assert_int_equal(nbd_link_flush(&conn), ENOSPC);
}

CASE(loses_a_command_that_cannot_be_sent)
{
	static const struct {
		int	err;
		bool	dead, closed;
		int	answer;
	} row[] = {
		{ EINVAL, false, false, EINVAL },
		{ ENOMEM, false, false, ENOMEM },
		{ 0, false, false, ENOTCONN },
		{ EINVAL, true, false, ENOTCONN },
		{ EINVAL, false, true, ENOTCONN },
	};
	struct nbd_extents x = { .context = "base" };
	struct nbd_call call = { .op = OP_READ, .buf = buf, .len = LENGTH };

	world.fails = "command";
	EACH_OF(i, row) {
		server.err = row[i].err;
		server.dead = row[i].dead;
		server.closed = row[i].closed;
		assert_int_equal(read_it(), row[i].answer);
		assert_int_equal(nbd_link_flush(&conn), row[i].answer);
		assert_int_equal(nbd_link_extents(&conn, 0, 1, &x),
		    row[i].answer);
		assert_false(nbd_link_send(&conn, &call));
		assert_int_equal(call.err, row[i].answer);
	}
}

/* With it, the call of whoever polls may have ended. */
CASE(wakes_who_polls_when_a_command_cannot_be_sent)
{
	struct nbd_call call = { .op = OP_READ, .buf = buf, .len = LENGTH };
	eventfd_t any;

	world.fails = "command";
	server.dead = true;
	assert_false(nbd_link_send(&conn, &call));	/* nobody does */
	assert_int_equal(eventfd_read(conn.kick, &any), -1);
	conn.polling = true;
	assert_false(nbd_link_send(&conn, &call));
	assert_int_equal(eventfd_read(conn.kick, &any), 0);
	conn.polling = false;
}

CASE(takes_as_many_extents_as_there_is_room_for)
{
	struct nbd_alike at[3] = { { 0, 0 } };
	struct nbd_extents x = { .context = "base", .at = at, .room = 3 };

	assert_int_equal(nbd_link_extents(&conn, 0, 8192, &x), 0);
	assert_int_equal(x.n, 3);	/* none of another context's */
	assert_int_equal(at[0].len, 4096);
	assert_int_equal(at[0].flags, 0);
	assert_int_equal(at[1].len, 512);
	assert_int_equal(at[1].flags, 3);
	assert_int_equal(at[2].len, 1024);
	assert_int_equal(at[2].flags, 1);
}

static void
wait_for_nothing(unsigned seconds)
{
	while (seconds-- > 0) {
		world.now += SECOND;
		nbd_link_service(&conn);
		assert_false(nbd_link_late(&conn));
	}
}

CASE(cuts_a_connection_that_is_silent_too_long)
{
	struct nbd_call call = { .op = OP_READ, .buf = buf, .len = LENGTH };
	struct pollfd p = { .fd = -1 };

	world.mute = true;
	world.now += 100 * SECOND;		/* idle: nothing is due */
	nbd_link_service(&conn);
	assert_false(nbd_link_late(&conn));
	assert_true(nbd_link_send(&conn, &call));
	wait_for_nothing(4);
	world.now += 100 * SECOND;		/* stopped */
	wait_for_nothing(7);
	world.now++;
	nbd_link_service(&conn);
	assert_true(nbd_link_late(&conn));
	world.mute = false;			/* libnbd sees it, and ends all */
	server.result = ENOTCONN;
	p.fd = nbd_link_pollfd(&conn, &p.events);
	assert_int_equal(p.fd, server.handle.sock);
	assert_int_equal(p.events, POLLIN);
	nbd_link_service(&conn);
	assert_true(call.over);
	assert_int_equal(call.err, ENOTCONN);
	server.dead = true;			/* nothing to wait for */
	assert_int_equal(nbd_link_pollfd(&conn, &p.events), -1);
}

CASE(knows_which_errors_are_the_connections)
{
	static const int lost[] = { ENOTCONN, ESHUTDOWN, ECONNRESET, EPIPE,
		ETIMEDOUT };
	static const int other[] = { 0, EIO, EPROTO, ENOSPC, EPERM };

	EACH_OF(i, lost) {
		assert_true(nbd_link_lost(lost[i]));
		assert_false(nbd_link_lost(other[i]));
	}
}
#endif
