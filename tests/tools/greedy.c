/*
 * greedy: an iSCSI target of 32 MiB of zeros whose answers keep an initiator
 * busy for ever.
 *
 *	greedy ADDRESS WHAT
 *
 * It listens on port 3260 of ADDRESS, a loopback address, and prints "ready".
 * WHAT is
 *
 *	asks		it requests 4 GiB of the data to be written
 *	asks=N		... in packets of at most N bytes (8192; 0 is not
 *			allowed)
 *	reads=N		it does so at the Nth READ, too, and at all later ones
 *	pours=N		it answers those with endless data
 *	maps		it does so when asked which blocks are mapped
 *	lacks=N		it answers those with nothing, and calls that good
 */
#include <arpa/inet.h>
#include <endian.h>
#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {				/* RFC 7143 11 */
	PORT = 3260,
	HEADER = 48, WORDS = 512, SEGMENT = 64 << 10,
	BLOCK = 512, BLOCKS = 65536,
	NOP_OUT = 0x00, COMMAND = 0x01, LOGIN = 0x03, LOGOUT = 0x06,
	RESPONSE = 0x21, LOGGED_IN = 0x23, DATA_IN = 0x25, LOGGED_OUT = 0x26,
	R2T = 0x31,
	FINAL = 0x80, STATUS = 0x01, UNDERFLOW = 0x02, CHECK_CONDITION = 2,
};

static const char *packet = "8192";
static unsigned greedy_from;		/* which READ; 0: none */
static bool pours, maps, lacks;
static unsigned reads;

struct session {
	int		 fd;
	uint32_t	 number;	/* of the next status */
	unsigned char	 asked[HEADER];
};

static bool
receive(int fd, void *to, size_t len)
{
	return len == 0 || recv(fd, to, len, MSG_WAITALL) == (ssize_t)len;
}

static void
put(unsigned char *p, int bytes, uint64_t v)
{
	for (; bytes > 0; bytes--, v >>= 8)
		p[bytes - 1] = (unsigned char)v;
}

static uint32_t
get(const unsigned char *p, int bytes)
{
	uint32_t v = 0;

	for (; bytes > 0; bytes--)
		v = v << 8 | *p++;
	return v;
}

/* The header of an answer to what was asked, from the left. */
static void
begin(const struct session *s, unsigned char *h, int kind, int flags)
{
	uint32_t next = get(s->asked + 24, 4) + (kind != LOGGED_IN);

	memset(h, 0, HEADER);
	h[0] = (unsigned char)kind;
	h[1] = (unsigned char)flags;
	memcpy(h + 8, s->asked + 8, 12);	/* LUN or ISID, and tag */
	put(h + 20, 4, UINT32_MAX);
	put(h + 24, 4, s->number);
	put(h + 28, 4, next);
	put(h + 32, 4, next + 64);
}

static bool
send_all(int fd, const void *from, size_t len)
{
	return send(fd, from, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool
answer(struct session *s, unsigned char *h, const void *data, size_t len)
{
	static const unsigned char padding[4];

	put(h + 5, 3, len);
	s->number += (h[0] != DATA_IN || (h[1] & STATUS) != 0) && h[0] != R2T;
	return send_all(s->fd, h, HEADER) && send_all(s->fd, data, len) &&
	    send_all(s->fd, padding, (4 - len % 4) % 4);
}

static bool
log_in(struct session *s)
{
	unsigned char h[HEADER];
	char words[WORDS];
	int n, step = s->asked[1] >> 2 & 3;

	n = step == 0 ? snprintf(words, WORDS, "TargetPortalGroupTag=1%c"
	    "AuthMethod=None%c", 0, 0) : snprintf(words, WORDS,
	    "HeaderDigest=None%cDataDigest=None%cInitialR2T=Yes%c"
	    "ImmediateData=No%cMaxBurstLength=262144%cFirstBurstLength=65536%c"
	    "MaxRecvDataSegmentLength=%s%c", 0, 0, 0, 0, 0, 0, packet, 0);
	begin(s, h, LOGGED_IN, s->asked[1]);
	put(h + 14, 2, 1);		/* the session */
	put(h + 20, 4, 0);
	return answer(s, h, words, (size_t)n);
}

/* Data for a command, of which the initiator takes as much as it wants. */
static bool
data(struct session *s, const void *from, size_t len)
{
	static const unsigned char zeros[SEGMENT];
	size_t want = get(s->asked + 20, 4), at = 0, n;
	unsigned char h[HEADER];
	bool last;

	len = len < want ? len : want;
	do {
		n = len - at < SEGMENT ? len - at : SEGMENT;
		last = at + n == len;
		begin(s, h, DATA_IN, !last ? 0 : FINAL | STATUS |
		    (len < want ? UNDERFLOW : 0));
		put(h + 40, 4, at);
		put(h + 44, 4, last ? want - len : 0);
		if (!answer(s, h, from == NULL ? zeros : from, n))
			return false;
		at += n;
	} while (!last);
	return true;
}

static bool
pour(struct session *s)
{
	static unsigned char many[100][HEADER + BLOCK];
	size_t i;

	for (i = 0; i < 100; i++) {
		begin(s, many[i], DATA_IN, 0);
		put(many[i] + 5, 3, BLOCK);
	}
	while (send_all(s->fd, many, sizeof(many)))
		continue;
	return false;
}

static bool
ask_for_all(struct session *s)
{
	unsigned char h[HEADER];

	begin(s, h, R2T, FINAL);
	put(h + 20, 4, 1);
	put(h + 44, 4, UINT32_MAX - 15);
	return answer(s, h, "", 0);
}

static bool
refuse(struct session *s)
{
	static const unsigned char sense[20] = { 0, 18, 0x70, 0, 5, 0, 0, 0, 0,
		10, 0, 0, 0, 0, 0x20 };
	unsigned char h[HEADER];

	begin(s, h, RESPONSE, FINAL);
	h[3] = CHECK_CONDITION;
	return answer(s, h, sense, sizeof(sense));
}

static bool
inquire(struct session *s)
{
	static const char disk[] = "\0\0\6\2\37\0\0\2GREEDY  DISK            1";
	const unsigned char none[5] = { 0, s->asked[34], 0, 1, 0 };
	/* thin provisioning; what is not mapped reads as zeros */
	const unsigned char thin[8] = { 0, 0xb2, 0, 4, 0, 0xe4, 2, 0 };

	if ((s->asked[33] & 1) == 0)
		return data(s, disk, 36);
	if (maps && s->asked[34] == thin[1])
		return data(s, thin, sizeof(thin));
	return data(s, none, s->asked[34] == 0 ? 5 : 4);
}

static bool
serve(struct session *s)
{
	unsigned char room[32] = { 0 }, h[HEADER];

	begin(s, h, RESPONSE, FINAL);
	switch (s->asked[32]) {		/* the operation code */
	case 0x00:			/* TEST UNIT READY */
		return answer(s, h, "", 0);
	case 0x12:
		return inquire(s);
	case 0x25:			/* READ CAPACITY */
		put(room, 4, BLOCKS - 1);
		put(room + 4, 4, BLOCK);
		return data(s, room, 8);
	case 0x9e:
		if (maps && (s->asked[33] & 0x1f) == 0x12)
			return pour(s);
		put(room, 8, BLOCKS - 1);
		put(room + 8, 4, BLOCK);
		return data(s, room, 32);
	case 0x28:
	case 0x88:
		if (greedy_from == 0 || ++reads < greedy_from)
			return data(s, NULL, get(s->asked + 20, 4));
		return lacks ? answer(s, h, "", 0) : pours ? pour(s) :
		    ask_for_all(s);
	case 0x2a:
	case 0x8a:
		return ask_for_all(s);
	default:
		return refuse(s);
	}
}

/* Serve a request; false: the session is over. */
static bool
next(struct session *s)
{
	static unsigned char any[1 << 24];
	unsigned char h[HEADER];
	size_t len;

	if (!receive(s->fd, s->asked, HEADER))
		return false;
	len = (size_t)s->asked[4] * 4 + get(s->asked + 5, 3);
	len = (len + 3) / 4 * 4;
	if (len > sizeof(any) || !receive(s->fd, any, len))
		return false;
	switch (s->asked[0] & 0x3f) {
	case LOGIN:
		return log_in(s);
	case COMMAND:
		return serve(s);
	case LOGOUT:
		begin(s, h, LOGGED_OUT, FINAL);
		answer(s, h, "", 0);
		return false;
	default:
		return true;
	}
}

int
main(int argc, char *argv[])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons(PORT) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct session s;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &at.sin_addr) != 1)
		errx(1, "usage: greedy ADDRESS WHAT");
	if (strncmp(argv[2], "asks=", 5) == 0)
		packet = argv[2] + 5;
	pours = strncmp(argv[2], "pours=", 6) == 0;
	maps = strcmp(argv[2], "maps") == 0;
	lacks = strncmp(argv[2], "lacks=", 6) == 0;
	if (pours || lacks || strncmp(argv[2], "reads=", 6) == 0)
		greedy_from = (unsigned)atoi(argv[2] + 6);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(fd, 4) != 0)
		err(1, "%s", argv[1]);
	puts("ready");
	fflush(stdout);
	for (;;) {
		s = (struct session){ .fd = accept(fd, NULL, NULL), 1, { 0 } };
		setsockopt(s.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		while (next(&s))
			continue;
		close(s.fd);
	}
}
