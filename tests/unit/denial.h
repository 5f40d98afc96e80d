/*
 * Calls on files, one of which fails where a test says so; included once, by a
 * test, which has others of its own.
 */
#ifndef PARDD_TEST_DENIAL_H
#define PARDD_TEST_DENIAL_H

#include <sys/file.h>
#include <sys/syscall.h>

#include "../tools/preload.h"

static struct {
	unsigned left;		/* calls before the one that fails */
	int	 err;		/* so; 0: none does */
	const char *call;	/* of that name, or NULL: any */
	bool	 lasts;		/* and all after it */
} denial;

static bool
denied(const char *call)
{
	if (denial.err == 0 || (denial.call != NULL &&
	    strcmp(denial.call, call) != 0) || denial.left-- > 0)
		return false;
	errno = denial.err;
	if (denial.lasts)
		denial.left = 0;
	else
		denial.err = 0;
	return true;
}

int
fsync(int fd)
{
	return denied("fsync") ? -1 : (int)syscall(SYS_fsync, fd);
}

int
flock(int fd, int how)
{
	return denied("flock") ? -1 : (int)syscall(SYS_flock, fd, how);
}

int
renameat(int dir, const char *name, int to_dir, const char *to)
{
	return denied("renameat") ? -1 :
	    (int)syscall(SYS_renameat, dir, name, to_dir, to);
}

FILE *
fdopen(int fd, const char *mode)
{
	REAL(real, fdopen);
	return denied("fdopen") ? NULL : real(fd, mode);
}

int
fclose(FILE *stream)
{
	REAL(real, fclose);
	int failed = real(stream);

	return denied("fclose") ? EOF : failed;
}

#endif
