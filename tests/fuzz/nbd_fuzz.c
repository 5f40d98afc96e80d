/*
 * Any bytes as what an NBD server says, from its greeting on: an end is refused
 * with a reason or is one that a disk could be, requests come to an end, and
 * what is told of holes lies within it.  Run by tests/fuzz/run.
 *
 * libnbd is the real one.  What the server says is in the socket before it is
 * asked; then it hangs up.  libnbd numbers its commands from 1, so an answer can
 * be one to a command that is sent later.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bsd/sys/endian.h>

#include "end/backend.h"
#include "../../src/net/command.h"
#include "disk/opened.h"
#include "input.h"

enum {
	ROOM = 65536,		/* bytes of a buffer */
	ASKS = 200,		/* questions for extents; more is no end */
	SECONDS = 20,		/* that an input may take, on a busy machine */
};

static const uint8_t *said;
static size_t saying;
static int server = -1;
static unsigned char buffer[ROOM];

/* ------------------------------------------------------------ what is around */

int
command_start(struct command *c, const char *name, const char *line, int *sock,
    struct fault *f)
{
	int pair[2];

	(void)name;
	(void)line;
	(void)f;
	*c = (struct command){ .words = -1 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		err(2, "socketpair");
	if (saying > 0 && write(pair[0], said, saying) != (ssize_t)saying)
		err(2, "write");
	shutdown(pair[0], SHUT_WR);
	server = pair[0];
	*sock = pair[1];
	return 0;
}

bool
command_tell(struct command *c, int ms, char *text, size_t room)
{
	(void)c;
	(void)ms;
	if (room > 0)
		text[0] = '\0';
	return true;
}

unsigned
command_end_left(const struct command *c)
{
	(void)c;
	return 0;
}

void
command_end(struct command *c, bool stuck)
{
	(void)c;
	(void)stuck;
	if (server >= 0)
		close(server);
	server = -1;
}

void
command_listen(struct command *c)
{
	(void)c;
}

pid_t
opened_peer(int sock)
{
	(void)sock;
	return 0;
}

int
fault_found(struct fault *f, const struct endpoint *ep)
{
	return fault_errno(f, errno, "%s", ep->name);
}

int
file_readback(const struct endpoint *target, struct endpoint *r,
    struct fault *f)
{
	(void)target;
	(void)r;
	return fault_errno(f, ENOTSUP, "fuzz");
}

void
lane_over(struct lane *lane, struct io *io)
{
	(void)lane;
	(void)io;
}

void
lane_transfer(struct lane *lane, struct io *io)
{
	request_carry_out(lane, io);
}

/* ----------------------------------------------------------------- requests */

static void
request(struct lane *lane, enum op op, uint64_t off, size_t len)
{
	struct io io = { .op = op, .buf = buffer, .off = off, .len = len };
	size_t i;

	memset(buffer, 0xa5, sizeof(buffer));
	request_carry_out(lane, &io);
	if (io.done > len || (io.err == 0 && io.done < len &&
	    (int64_t)(off + io.done) < lane->ep->geo.size) ||
	    memchr(io.why, '\0', sizeof(io.why)) == NULL)
		abort();
	for (i = 0; op == OP_READ && i < io.done && buffer[i] == 0xa5; i++)
		continue;
	if (i > 0 && i == io.done)
		abort();		/* nothing was sent */
	fuzz_taken += io.err == 0 && io.done > 0;
}

/* One after another, as who looks for holes does. */
static void
extents(const struct endpoint *ep)
{
	uint64_t at = 0, size = (uint64_t)ep->geo.size;
	struct extent x;
	unsigned n;

	for (n = 0; at < size && n < ASKS; n++) {
		if (nbd_backend.extent(ep, at, false, &x) != 0)
			return;
		if (x.off != at || x.len == 0 || x.len > size - at)
			abort();
		fuzz_taken++;
		at += x.len;
	}
}

static void
use(struct endpoint *ep, uint8_t how)
{
	struct lane lane = { .ep = ep };
	struct fault f = { 0 };

	if (ep->geo.size < 0 || ep->geo.room > ep->geo.size ||
	    ep->geo.io_align == 0 || ep->geo.io_max == 0 ||
	    (ep->geo.io_align & (ep->geo.io_align - 1)) != 0 ||
	    ep->geo.block > 65536)
		abort();
	if (nbd_backend.attach(&lane) != 0)
		return;
	if (how & 2)
		request(&lane, OP_READ, how & 4 ? 0 : 100, how & 8 ? 512 : 700);
	if (how & 16)
		extents(ep);
	if (ep->spec.role == TARGET) {
		request(&lane, OP_WRITE, 0, how & 32 ? 512 : ROOM);
		request(&lane, OP_ZERO, 0, 4096);
		if (nbd_backend.flush(ep, &f) != 0 && (f.status == 0 ||
		    f.text[0] == '\0'))
			abort();
	}
	request(&lane, OP_READ, (uint64_t)ep->geo.size / 2, 512);
	nbd_backend.detach(&lane);
	free(lane.bounce);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct endpoint ep = { .be = &nbd_backend,
		.name = "[ fuzz ]", .fd = -1,
		.spec = { .role = SOURCE, .timeout = SECONDS / 2 },
		.geo = { .io_align = 1, .room = -1 } };
	struct fault f = { 0 };

	if (size < 1)
		return 0;
	said = data + 1;
	saying = size - 1;
	ep.spec.role = data[0] & 1 ? TARGET : SOURCE;
	fuzz_within(SECONDS);
	if (nbd_backend.open(&ep, false, &f) == 0) {
		use(&ep, data[0]);
		nbd_backend.close(&ep);
	} else {
		fuzz_failed(&f);
	}
	alarm(0);
	return 0;
}

/* -------------------------------------------------------------- the protocol */

static void
put(struct input *in, uint64_t n, unsigned bytes)
{
	uint8_t be[8];

	be64enc(be, n);
	if (in->n + bytes > INPUT_MOST)
		return;
	memcpy(in->bytes + in->n, be + 8 - bytes, bytes);
	in->n += bytes;
}

/* The head of an answer to an option. */
static void
reply(struct input *in, unsigned option, unsigned type, size_t len)
{
	put(in, 0x3e889045565a9, 8);
	put(in, option, 4);
	put(in, type, 4);
	put(in, len, 4);
}

/* An export of this size, and a context for its extents. */
static void
greet(struct input *in, uint64_t *dice)
{
	static const uint64_t sizes[] = { 0, 511, 1 << 20, 1000000,
		UINT64_C(1) << 40, INT64_MAX, INT64_MIN };
	uint64_t odd = input_roll(dice, 8);

	put(in, 0x4e42444d41474943, 8);
	put(in, 0x49484156454f5054, 8);
	put(in, 3, 2);
	reply(in, 8, 1, 0);			/* structured replies */
	reply(in, 10, 4, 4 + 15);
	put(in, 1, 4);
	input_print(in, "base:allocation");
	reply(in, 10, 1, 0);
	reply(in, 7, 3, 12);			/* the export */
	put(in, 0, 2);
	put(in, odd == 0 ? input_number(dice) : sizes[odd - 1], 8);
	put(in, input_roll(dice, 4) == 0 ? input_number(dice) : 0x8ed, 2);
	if (input_roll(dice, 2) == 0) {
		reply(in, 7, 3, 14);		/* its blocks */
		put(in, 3, 2);
		put(in, odd == 1 ? input_number(dice) :
		    UINT64_C(1) << input_roll(dice, 18), 4);
		put(in, 4096, 4);
		put(in, odd == 2 ? input_number(dice) : 1 << 25, 4);
	}
	reply(in, 7, 1, 0);
}

static void
chunk(struct input *in, unsigned flags, unsigned type, uint64_t cookie,
    size_t len)
{
	put(in, 0x668e33ef, 4);
	put(in, flags, 2);
	put(in, type, 2);
	put(in, cookie, 8);
	put(in, len, 4);
}

/* An answer of this kind, mostly to the next command. */
static void
answer(struct input *in, uint64_t *dice, uint64_t cookie, size_t kind)
{
	size_t n = 1 + input_roll(dice, 6), i;
	unsigned done = input_roll(dice, 8) > 0;

	if (input_roll(dice, 16) == 0)
		cookie = input_number(dice);
	switch (kind) {
	case 0:
		chunk(in, done, 0, cookie, 0);
		break;
	case 1:
		chunk(in, done, 1, cookie, 8 + 512);
		put(in, input_roll(dice, 4) == 0 ? input_number(dice) : 0, 8);
		for (i = 0; i < 64; i++)
			put(in, i, 8);
		break;
	case 2:
		chunk(in, done, 2, cookie, 12);
		put(in, input_roll(dice, 2) * 512, 8);
		put(in, 512, 4);
		break;
	case 3:
		chunk(in, done, 32769, cookie, 8);
		put(in, 1 + input_roll(dice, 120), 4);
		put(in, 2, 2);
		put(in, 0x1b41, 2);
		break;
	default:
		chunk(in, done, 5, cookie, 4 + 8 * n);
		put(in, 1, 4);
		for (i = 0; i < n; i++) {
			put(in, input_roll(dice, 2) == 0 ?
			    input_number(dice) : 65536, 4);
			put(in, input_roll(dice, 4), 4);
		}
	}
}

void
fuzz_make(struct input *in, uint64_t *dice)
{
	size_t n = input_roll(dice, 16), i;
	bool fit = input_roll(dice, 2) == 0;	/* a read, then extents */

	put(in, fit ? 0x1e : input_roll(dice, 256), 1);
	greet(in, dice);
	for (i = 1; i <= n; i++)
		answer(in, dice, i, fit && i < 8 ? (i == 1 ? 1 : 5) :
		    input_roll(dice, 6));
}
