/*
 * glibc functions for C libraries without them: statx(2), preadv2(2) and
 * pwritev2(2) by system call, the others as documented.
 */
#include "base/libc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef HAVE_STATX
int
statx(int dir, const char *path, int flags, unsigned mask, struct statx *to)
{
	return (int)syscall(SYS_statx, dir, path, flags, mask, to);
}
#endif

#ifndef HAVE_PREADV2
/*
 * The kernel takes the offset as two words, and ignores the second if the first
 * has 64 bits.
 */
static ssize_t
result_or_error(long number, int fd, const struct iovec *v, int n, off_t off,
    int flags)
{
	return syscall(number, fd, v, n, (long)off,
	    (long)((uint64_t)off >> 32), flags);
}

ssize_t
preadv2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	return result_or_error(SYS_preadv2, fd, v, n, off, flags);
}

ssize_t
pwritev2(int fd, const struct iovec *v, int n, off_t off, int flags)
{
	return result_or_error(SYS_pwritev2, fd, v, n, off, flags);
}
#endif

#ifndef HAVE_SCANDIRAT
/* Needs /proc. */
int
scandirat(int dir, const char *path, struct dirent ***list,
    int (*chosen)(const struct dirent *),
    int (*order)(const struct dirent **, const struct dirent **))
{
	int fd = openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC), n, err;
	char name[32];

	if (fd < 0)
		return -1;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = scandir(name, list, chosen, order);
	err = errno;
	close(fd);
	errno = err;
	return n;
}
#endif

#ifndef HAVE_SIGABBREV_NP
const char *
sigabbrev_np(int signo)
{
	switch (signo) {
	case SIGHUP:	return "HUP";
	case SIGINT:	return "INT";
	case SIGQUIT:	return "QUIT";
	case SIGILL:	return "ILL";
	case SIGTRAP:	return "TRAP";
	case SIGABRT:	return "ABRT";
	case SIGBUS:	return "BUS";
	case SIGFPE:	return "FPE";
	case SIGKILL:	return "KILL";
	case SIGUSR1:	return "USR1";
	case SIGSEGV:	return "SEGV";
	case SIGUSR2:	return "USR2";
	case SIGPIPE:	return "PIPE";
	case SIGALRM:	return "ALRM";
	case SIGTERM:	return "TERM";
	default:	return NULL;
	}
}
#endif

/* Constants where strerrordesc_np is missing, too. */
#ifndef HAVE_STRERRORDESC_NP
const char *
strerrordesc_np(int err)
{
	return strerror(err);
}
#endif
