/*
 * The address of a peer.
 */
#include "base/peer.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

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
