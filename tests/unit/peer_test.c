/*
 * The other end of a socket: of a server on this machine.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/peer.h"

struct pair {			/* two ends of a connection */
	int		here, there;
	unsigned short	port;	/* of the one there */
};

/* Connect "family" to a server of "serves"; false if there is none here. */
static bool
join(struct pair *p, int family, int serves)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_addr = family == AF_INET ? in6addr_any :
		    in6addr_loopback };
	struct sockaddr *to = family == AF_INET ? (struct sockaddr *)&in :
	    (struct sockaddr *)&in6;
	struct sockaddr *at = serves == AF_INET ? (struct sockaddr *)&in :
	    (struct sockaddr *)&in6;
	socklen_t n = serves == AF_INET ? sizeof(in) : sizeof(in6);
	int ear = socket(serves, SOCK_STREAM, 0), off = 0;
	bool is;

	if (serves == AF_INET6)
		setsockopt(ear, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	p->here = socket(family, SOCK_STREAM, 0);
	p->there = -1;
	is = ear >= 0 && p->here >= 0 && bind(ear, at, n) == 0 &&
	    listen(ear, 1) == 0 && getsockname(ear, at, &n) == 0;
	p->port = ntohs(serves == AF_INET ? in.sin_port : in6.sin6_port);
	in.sin_port = htons(p->port);
	is = is && connect(p->here, to, family == AF_INET ? sizeof(in) :
	    sizeof(in6)) == 0 && (p->there = accept(ear, NULL, NULL)) >= 0;
	close(ear);
	return is;
}

static void
part(const struct pair *p)
{
	close(p->here);
	if (p->there >= 0)
		close(p->there);
}

static unsigned long
inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static void
is_found_on_this_machine(void **state)
{
	static const struct {
		int		family, serves;
		const char	*address;
	} row[] = {
		{ AF_INET, AF_INET, "127.0.0.1" },
		{ AF_INET6, AF_INET6, "[::1]" },
		{ AF_INET, AF_INET6, "127.0.0.1" },	/* IPv4 in IPv6 */
	};
	char text[80], want[80];
	struct pair p;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (!join(&p, row[i].family, row[i].serves)) {
			assert_int_not_equal(i, 0);	/* without IPv6 */
			part(&p);
			continue;
		}
		snprintf(want, sizeof(want), "%s:%u", row[i].address, p.port);
		assert_true(peer_address(p.here, text, sizeof(text)));
		assert_string_equal(text, want);
		assert_int_equal(peer_inode(p.here), inode(p.there));
		assert_int_equal(peer_inode(p.there), inode(p.here));
		part(&p);
	}
}

static void
is_not_known(void **state)
{
	char text[80] = "x";
	unsigned long got;
	int fd[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_false(peer_address(fd[0], text, sizeof(text)));
	assert_string_equal(text, "");
	got = peer_inode(fd[0]);		/* not every kernel tells */
	assert_true(got == 0 || got == inode(fd[1]));
	close(fd[0]);
	close(fd[1]);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);	/* of nobody */
	assert_false(peer_address(fd[0], text, sizeof(text)));
	assert_int_equal(peer_inode(fd[0]), 0);
	close(fd[0]);
	assert_int_equal(peer_inode(fd[0]), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_found_on_this_machine),
		cmocka_unit_test(is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
