/*
 * Reopening the file that was found, and locking it against other copies.  A
 * name that leads elsewhere by now has no effect.
 */
#include "end/backend.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "disk/usage.h"

/*
 * Open by name, and check both afterwards, because overlayfs replaces a file
 * when it is opened for writing.
 */
static int
open_same(int path, const char *name, int flags)
{
	int fd = open(name, flags | O_CLOEXEC);
	struct stat want, got;

	if (fd < 0 || (fstat(path, &want) == 0 && fstat(fd, &got) == 0 &&
	    same_file(&want, &got)))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

/*
 * Open a regular file by name.  Someone may have replaced it: do not wait for a
 * FIFO, and do not follow a link, which may lead to a device.  Only root could
 * put a node there.
 */
static int
reopen_file(int path, const char *name, int flags)
{
	int fd = open_same(path, name, flags | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0 && (flags & O_NONBLOCK) == 0)
		(void)fcntl(fd, F_SETFL, flags);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENXIO))
		errno = ESTALE;
	return fd;
}

static bool
path_is_file(int path)
{
	struct stat st;

	return fstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/*
 * Opening a device can have effects, so it must be the one found: open it by
 * /proc.  For a file, checking afterwards is enough, and ten times as fast as
 * /proc.
 */
int
reopen(int path, const char *name, int flags)
{
	char link[64];
	int fd = name != NULL && path_is_file(path) ?
	    reopen_file(path, name, flags) : -1;

	if (fd >= 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	fd = open(link, flags | O_CLOEXEC);
	if (fd >= 0 || errno != ENOENT || name == NULL || faccessat(AT_FDCWD,
	    "/proc/self/fd", F_OK, 0) == 0)
		return fd;
	return open_same(path, name, flags);
}

int
open_found(int path, const char *name, int flags)
{
	struct stat want, got;
	int fd;

	if (name == NULL || !path_is_file(path))
		return reopen(path, name, flags);
	fd = reopen_file(path, name, flags);
	if (fd >= 0 || errno != ELOOP)
		return fd;
	fd = reopen(path, name, flags);	/* a link */
	if (fd < 0 || (stat(name, &got) == 0 && fstat(path, &want) == 0 &&
	    same_file(&want, &got)))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}

bool
lock_copy(int fd, short type, uint64_t from, uint64_t to)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET,
		.l_start = (off_t)(LOCKS_OF_COPIES + from) }, ask;
	bool taken;

	if (from >= to || from >= LOCKS_OF_COPIES)
		return true;
	if (to < LOCKS_OF_COPIES)
		range.l_len = (off_t)(to - from);
	ask = range;
	if (fcntl(fd, F_OFD_SETLK, &range) == 0 || (errno != EAGAIN &&
	    errno != EACCES && errno != EBADF))
		return true;
	taken = errno != EBADF;
	if (fcntl(fd, F_OFD_GETLK, &ask) != 0 || ask.l_type == F_UNLCK)
		return !taken;
	return (uint64_t)ask.l_start < LOCKS_OF_COPIES;	/* of all the file */
}
