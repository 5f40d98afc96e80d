/*
 * A file whose medium may lose what was written and not flushed.
 */
#undef _FILE_OFFSET_BITS		/* as in the shim, which may be below */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "inside.h"

#include "../tools/preload.h"

enum { DIRTY = 256 };		/* writes that are not flushed */

static int file = -1;
static bool lost;		/* and nobody was told */
static struct { off_t off; size_t len; } dirty[DIRTY];
static size_t n_dirty;

void
medium_open(const char *path)
{
	if (path != NULL && (file = open(path, O_WRONLY | O_CLOEXEC)) < 0)
		die("SCHED_FILE", strerror(errno));
}

static void
ruin(size_t i)
{
	static const char junk[512] = "lost";
	size_t at, n;

	for (at = 0; at < dirty[i].len; at += n) {
		n = dirty[i].len - at < sizeof(junk) ? dirty[i].len - at :
		    sizeof(junk);
		if (syscall(SYS_pwrite64, file, junk, n,
		    dirty[i].off + (off_t)at) < 0)
			die("ruin", strerror(errno));
	}
	dirty[i] = dirty[--n_dirty];
}

bool
medium_lose(void)
{
	if (n_dirty == 0)
		return false;
	ruin(roll(n_dirty));
	lost = true;
	return true;
}

void
medium_cut(void)
{
	while (n_dirty > 0)
		ruin(n_dirty - 1);
	_exit(99);
}

static bool
is_on(int fd)
{
	struct stat a, b;

	return file >= 0 && fstat(fd, &a) == 0 && fstat(file, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool
medium_told(int fd)
{
	if (!lost || !is_on(fd))
		return false;
	lost = false;
	errno = EIO;
	return true;
}

ssize_t
medium_wrote(int fd, off_t off, ssize_t n)
{
	if (n <= 0 || !is_on(fd))
		return n;
	if (n_dirty == DIRTY)
		die("writes", "too many without a flush");
	dirty[n_dirty].off = off;
	dirty[n_dirty++].len = (size_t)n;
	return n;
}

void
medium_flushed(int fd)
{
	if (is_on(fd))
		n_dirty = 0;
}
