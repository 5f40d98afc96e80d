/*
 * hijack: a preload that makes a worker act, at its first read, as if a
 * malicious disk had taken it over; and print the results, a line each.
 *
 *	SHADOW	a file to open; default /etc/shadow
 *	MAKE	one to create; or nothing
 */
#include "preload.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static void
tell(const char *what, int result)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "hijack: %s %s\n", what,
	    result < 0 ? strerror(errno) : "done");

	if (write(STDERR_FILENO, line, (size_t)n) != n)
		_exit(125);
}

static void
open_files(void)
{
	const char *secret = getenv("SHADOW"), *make = getenv("MAKE");

	tell("shadow", open(secret != NULL ? secret : "/etc/shadow",
	    O_RDONLY | O_CLOEXEC));
	if (make != NULL)
		tell("make", open(make, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void
reach(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	tell("connect", tcp < 0 ? tcp : connect(tcp, (struct sockaddr *)&to,
	    sizeof(to)));
	tell("socket", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static void
strike(void)
{
	static char name[] = "true";
	char *command[] = { name, NULL };

	open_files();
	reach();
	tell("exec", execve("/bin/true", command, NULL));
}

/* Under the name that it has where offsets have 64 bits, and the plain one. */
ssize_t
preadv64v2(int fd, const struct iovec *v, int n, off64_t off, int flags)
{
	static _Atomic int struck;

	REAL(real, preadv64v2);
	if (struck++ == 0)
		strike();
	return real(fd, v, n, off, flags);
}

ssize_t
preadv2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	return preadv64v2(fd, v, n, off, flags);
}
