/*
 * The address of a peer, and its socket: the kernel lists all connections of
 * this machine, each with both addresses, proc_pid_net(5), and says which one a
 * Unix socket is connected to, sock_diag(7).
 */
#include "base/peer.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORD = 48 };		/* bytes of an address in those lists */

bool
peer_address(int sock, char *text, size_t room)
{
	struct sockaddr_storage s = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(s);
	char host[64], port[16];

	text[0] = '\0';
	if (getpeername(sock, (struct sockaddr *)&s, &len) != 0 ||
	    (s.ss_family != AF_INET && s.ss_family != AF_INET6) ||
	    getnameinfo((struct sockaddr *)&s, len, host, sizeof(host), port,
	    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return false;
	snprintf(text, room, s.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
	    host, port);
	return true;
}

/*
 * An address of those lists: IPv4 if possible.  IPv4 in IPv6 is listed in host
 * byte order.
 */
static const char *
peer_from_list(const char *listed)
{
	char mapped[3 * 8 + 1];
	size_t n = (size_t)snprintf(mapped, sizeof(mapped), "%016X%08X", 0U,
	    htonl(0xffff));

	return strncmp(listed, mapped, n) == 0 ? listed + n : listed;
}

/* Write an address as those lists have it. */
static void
peer_as_listed(const struct sockaddr_storage *s, char *text)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)s;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)s;
	const uint32_t *w = in6->sin6_addr.s6_addr32;

	if (s->ss_family == AF_INET)
		snprintf(text, WORD, "%08X:%04X", in->sin_addr.s_addr,
		    ntohs(in->sin_port));
	else
		snprintf(text, WORD, "%08X%08X%08X%08X:%04X", w[0], w[1], w[2],
		    w[3], ntohs(in6->sin6_port));
}

/* The inode of a connection in one of the lists; 0 if it is not there. */
static unsigned long
inode_in(const char *lists, const char *local, const char *remote)
{
	FILE *file = fopen(lists, "re");
	char line[512], a[WORD], b[WORD], inode[24];
	unsigned long found = 0;

	while (file != NULL && found == 0 &&
	    fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, " %*s %47s %47s %*s %*s %*s %*s %*s %*s %23s",
		    a, b, inode) == 3 &&
		    strcmp(peer_from_list(a), peer_from_list(local)) == 0 &&
		    strcmp(peer_from_list(b), peer_from_list(remote)) == 0)
			found = strtoul(inode, NULL, 10);
	if (file != NULL)
		fclose(file);
	return found;
}

/* The inode of the peer in an answer of sock_diag(7); 0 if none. */
static unsigned long
inode_told(const unsigned char *answer, size_t len)
{
	size_t at = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct unix_diag_msg))), n;
	struct nlmsghdr head;
	struct nlattr a;
	uint32_t inode;

	if (len < at)
		return 0;
	memcpy(&head, answer, sizeof(head));
	if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	for (; at < len && len - at >= sizeof(a) + sizeof(inode); at += n) {
		memcpy(&a, answer + at, sizeof(a));
		memcpy(&inode, answer + at + sizeof(a), sizeof(inode));
		if (a.nla_type == UNIX_DIAG_PEER)
			return inode;
		n = (size_t)NLA_ALIGN(a.nla_len);
		if (n == 0)
			break;
	}
	return 0;
}

static unsigned long
inode_by_unix(int sock)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req req;
	} ask = { .head = { .nlmsg_len = sizeof(ask),
		.nlmsg_type = SOCK_DIAG_BY_FAMILY,
		.nlmsg_flags = NLM_F_REQUEST },
		.req = { .sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX,
		.udiag_show = UDIAG_SHOW_PEER,
		.udiag_cookie = { UINT32_MAX, UINT32_MAX } } };
	int kernel = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC,
	    NETLINK_SOCK_DIAG);
	unsigned char answer[1024];
	struct stat st;
	ssize_t n = -1;

	if (kernel >= 0 && fstat(sock, &st) == 0) {
		ask.req.udiag_ino = (uint32_t)st.st_ino;
		if (send(kernel, &ask, sizeof(ask), 0) == sizeof(ask))
			n = recv(kernel, answer, sizeof(answer), MSG_DONTWAIT);
	}
	if (kernel >= 0)
		close(kernel);
	return n > 0 ? inode_told(answer, (size_t)n) : 0;
}

unsigned long
peer_inode(int sock)
{
	struct sockaddr_storage here = { .ss_family = AF_UNSPEC }, there = here;
	socklen_t n = sizeof(here), m = sizeof(there);
	char local[WORD], remote[WORD];
	unsigned long inode;

	if (getsockname(sock, (struct sockaddr *)&here, &n) != 0)
		return 0;
	if (here.ss_family == AF_UNIX)
		return inode_by_unix(sock);
	if (getpeername(sock, (struct sockaddr *)&there, &m) != 0 ||
	    (here.ss_family != AF_INET && here.ss_family != AF_INET6))
		return 0;
	peer_as_listed(&there, local);
	peer_as_listed(&here, remote);
	inode = inode_in("/proc/net/tcp", local, remote);
	return inode != 0 ? inode : inode_in("/proc/net/tcp6", local, remote);
}
