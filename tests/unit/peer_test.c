/*
 * The other end of a socket, if it is a server on this machine.
 */
#undef _FORTIFY_SOURCE		/* recv() is one of the test's own */
#include "test.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/peer.h"

/* -------------------------------------------- in the place of the C library */

static struct {
	unsigned char answer[128];	/* what the kernel says of a socket, */
	size_t	 len;			/* 0: what it does say */
	bool	 unasked;		/* there is no way to ask it */
	bool	 deaf;			/* ... or no question gets there */
	bool	 unlisted;		/* it lists no connections */
} kernel;

int
socket(int family, int type, int protocol)
{
	return kernel.unasked && family == AF_NETLINK ? -1 :
	    (int)syscall(SYS_socket, family, type, protocol);
}

ssize_t
send(int fd, const void *buf, size_t len, int flags)
{
	return kernel.deaf ? -1 :
	    syscall(SYS_sendto, fd, buf, len, flags, NULL, 0);
}

ssize_t
recv(int fd, void *buf, size_t len, int flags)
{
	if (kernel.len == 0)
		return syscall(SYS_recvfrom, fd, buf, len, flags, NULL, NULL);
	memcpy(buf, kernel.answer, kernel.len);
	return (ssize_t)kernel.len;
}

FILE *
fopen(const char *path, const char *mode)
{
	int fd = kernel.unlisted ? -1 : open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : fdopen(fd, mode);
}

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

CASE(is_found_on_this_machine)
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

	EACH_OF(i, row) {
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

CASE(is_not_known)
{
	char text[80] = "x";
	unsigned long got;
	int fd[2];

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

/* The next attribute of an answer, of so many bytes, with that number. */
static void
answer(unsigned short type, unsigned short len, uint32_t number)
{
	const struct nlattr a = { .nla_len = len, .nla_type = type };

	memcpy(kernel.answer + kernel.len, &a, sizeof(a));
	memcpy(kernel.answer + kernel.len + sizeof(a), &number, sizeof(number));
	kernel.len += sizeof(a) + sizeof(number);
}

static void
begin_answer(unsigned short type)
{
	const struct nlmsghdr head = { .nlmsg_type = type };

	memcpy(kernel.answer, &head, sizeof(head));
	kernel.len = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
}

/* Nothing of an answer that is another one, or ends too soon, is taken. */
CASE(is_told_by_the_kernel)
{
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	begin_answer(SOCK_DIAG_BY_FAMILY);
	answer(UNIX_DIAG_NAME, 8, 7);
	answer(UNIX_DIAG_PEER, 8, 1234);
	assert_int_equal(peer_inode(fd[0]), 1234);
	kernel.len -= 1;
	assert_int_equal(peer_inode(fd[0]), 0);
	kernel.len = 20;
	assert_int_equal(peer_inode(fd[0]), 0);
	begin_answer(NLMSG_ERROR);
	answer(UNIX_DIAG_PEER, 8, 1234);
	assert_int_equal(peer_inode(fd[0]), 0);
	begin_answer(SOCK_DIAG_BY_FAMILY);
	assert_int_equal(peer_inode(fd[0]), 0);
	answer(UNIX_DIAG_NAME, 0, 7);		/* would never end */
	answer(UNIX_DIAG_PEER, 8, 1234);
	assert_int_equal(peer_inode(fd[0]), 0);
	begin_answer(SOCK_DIAG_BY_FAMILY);
	answer(UNIX_DIAG_NAME, 1000, 7);
	answer(UNIX_DIAG_PEER, 8, 1234);
	assert_int_equal(peer_inode(fd[0]), 0);
	kernel.deaf = true;
	assert_int_equal(peer_inode(fd[0]), 0);
	kernel.deaf = false;
	kernel.unasked = true;
	assert_int_equal(peer_inode(fd[0]), 0);
	kernel.unasked = false;
	kernel.len = 0;
	close(fd[0]);
	close(fd[1]);
}

CASE(is_not_known_without_a_list)
{
	struct pair p;

	if (!join(&p, AF_INET, AF_INET))
		return;
	kernel.unlisted = true;
	assert_int_equal(peer_inode(p.here), 0);
	kernel.unlisted = false;
	part(&p);
	p.here = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG);
	assert_int_equal(peer_inode(p.here), 0);
	close(p.here);
}
