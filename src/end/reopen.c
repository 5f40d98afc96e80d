/*
 * Opening anew what has been looked at.  A name that leads elsewhere by then
 * changes nothing.
 */
#include "end/reopen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

/*
 * By name, if that is still the same.  Both are asked afterwards: overlayfs
 * makes another of a file that is opened for writing.
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
 * A file by its name.  Somebody may have put something else there: a FIFO is
 * not waited for, and no link is followed, which may lead to a device.  A node
 * itself is root's to put.
 */
static int
open_file(int path, const char *name, int flags)
{
	int fd = open_same(path, name, flags | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0 && (flags & O_NONBLOCK) == 0)
		(void)fcntl(fd, F_SETFL, flags);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ENXIO))
		errno = ESTALE;
	return fd;
}

static bool
is_file(int path)
{
	struct stat st;

	return fstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/*
 * To open a device may do something to it, so that must be the one that was
 * looked at.  For a file it is enough to see afterwards: the way by /proc takes
 * ten times as long.
 */
int
reopen(int path, const char *name, int flags)
{
	char link[64];
	int fd = name != NULL && is_file(path) ? open_file(path, name, flags) :
	    -1;

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

	if (name == NULL || !is_file(path))
		return reopen(path, name, flags);
	fd = open_file(path, name, flags);
	if (fd >= 0 || (errno != ELOOP && errno != EAGAIN))
		return fd;
	fd = reopen(path, name, flags);	/* a link; somebody has a lease */
	if (fd < 0 || (stat(name, &got) == 0 && fstat(path, &want) == 0 &&
	    same_file(&want, &got)))
		return fd;
	close(fd);
	errno = ESTALE;
	return -1;
}
