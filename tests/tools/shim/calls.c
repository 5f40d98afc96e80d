/*
 * Calls that move no bytes: of files, of what has no file yet, and of threads.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "shim.h"

#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ	_IOR(0x12, 128, uint64_t)	/* Linux 5.15 */
#endif

enum { LONG = 12288 };

/* The name of what stands for a file in a device's sysfs directory, or "". */
static void
name_in_sysfs(char *file, int dir, const char *path)
{
	const char *base;
	char link[64], directory[4096];
	ssize_t n;

	file[0] = '\0';
	if (sysfs == NULL || strcmp(path, ".") == 0)
		return;
	if (strncmp(path, "/sys/block/", 11) == 0)
		snprintf(file, LONG, "%s%s", sysfs, path + 10);
	if (*path == '/')
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	n = readlink(link, directory, sizeof(directory) - 1);
	directory[n > 0 ? n : 0] = '\0';
	base = strrchr(directory, '/');
	if (base == NULL || strncmp(directory, "/sys/", 5) != 0)
		return;
	snprintf(file, LONG, "%s%s/%s", sysfs, base, path);
}

__attribute__((noinline)) static int
open_sysfs(int dir, const char *path, int flags)
{
	char file[LONG];

	name_in_sysfs(file, dir, path);
	return file[0] == '\0' ? -1 : (int)syscall(SYS_openat, AT_FDCWD, file,
	    O_RDONLY | O_CLOEXEC | (flags & O_DIRECTORY));
}

int
fdatasync(int fd)
{
	REAL(real, fdatasync);
	return refused(FLUSH, "fdatasync", fd) ? -1 : real(fd);
}

int
fsync(int fd)
{
	REAL(real, fsync);
	return refused(FLUSH, "fsync", fd) ? -1 : real(fd);
}

/* What was opened is closed again. */
static int
opened(int fd, int flags)
{
	if (fd >= 0 && (flags & O_PATH) != 0)
		refused(LOOK, "look", fd);
	if (fd < 0 || (flags & O_DIRECT) == 0 || !refused(DIRECT, "open", fd))
		return fd;
	syscall(SYS_close, fd);
	errno = errno == 0 ? EINVAL : errno;
	return -1;
}

#define OPEN(name)							\
	int name(const char *path, int flags, ...);			\
	int								\
	name(const char *path, int flags, ...)				\
	{								\
		va_list ap;						\
		int mode;						\
									\
		REAL(real, name);					\
		va_start(ap, flags);					\
		mode = flags & O_CREAT ? va_arg(ap, int) : 0;		\
		va_end(ap);						\
		return refused(OPENING, "open", -1) ? -1 :		\
		    opened(real(path, flags, mode), flags);		\
	}

OPEN(open)
OPEN(open64)
OPEN(__open_2)
OPEN(__open64_2)

#define OPENAT(name)							\
	int name(int dir, const char *path, int flags, ...);		\
	int								\
	name(int dir, const char *path, int flags, ...)			\
	{								\
		va_list ap;						\
		int mode, fd;						\
									\
		REAL(real, name);					\
		va_start(ap, flags);					\
		mode = flags & O_CREAT ? va_arg(ap, int) : 0;		\
		va_end(ap);						\
		if (refused(OPENING, "open", -1))			\
			return -1;					\
		fd = sysfs == NULL ? -1 : open_sysfs(dir, path, flags);	\
		return fd >= 0 ? fd :					\
		    opened(real(dir, path, flags, mode), flags);	\
	}

OPENAT(openat)
OPENAT(openat64)
OPENAT(__openat_2)
OPENAT(__openat64_2)

#define FCNTL(name)							\
	int name(int fd, int cmd, ...);					\
	int								\
	name(int fd, int cmd, ...)					\
	{								\
		va_list ap;						\
		void *arg;						\
									\
		REAL(real, name);					\
		va_start(ap, cmd);					\
		arg = va_arg(ap, void *);				\
		va_end(ap);						\
		return cmd == F_OFD_GETLK && refused(LOCK, "lock", fd) ?	\
		    -1 : real(fd, cmd, arg);				\
	}

FCNTL(fcntl)
FCNTL(fcntl64)

#define SCANDIRAT(name, entry)						\
	int								\
	name(int dir, const char *path, struct entry ***list,		\
	    int (*filter)(const struct entry *),			\
	    int (*order)(const struct entry **, const struct entry **))	\
	{								\
		char file[LONG];					\
									\
		REAL(real, name);					\
		if (refused(OPENING, "open", -1))			\
			return -1;					\
		name_in_sysfs(file, dir, path);				\
		return file[0] != '\0' && access(file, F_OK) == 0 ?	\
		    real(AT_FDCWD, file, list, filter, order) :		\
		    real(dir, path, list, filter, order);		\
	}

SCANDIRAT(scandirat, dirent)
SCANDIRAT(scandirat64, dirent64)

int
sync_file_range(int fd, off_t at, off_t len, unsigned flags)
{
	REAL(real, sync_file_range);
	return refused(RANGE, "sync_file_range", fd) ? -1
	    : real(fd, at, len, flags);
}

static int
zero_file(int fd, int mode, off_t at, off_t len)
{
	REAL(real, fallocate64);
	return refused_at(ZERO, "fallocate", fd, (uint64_t)at, (size_t)len) ? -1
	    : real(fd, mode, at, len);
}

#define RESULT int
BOTH(fallocate64, fallocate, (int fd, int mode, off_t at, off_t len),
    zero_file(fd, mode, at, len))
#undef RESULT

static int
set_length(int fd, off_t len)
{
	REAL(real, ftruncate64);
	return refused(LENGTH, "length", fd) ? -1 : real(fd, len);
}

#define RESULT int
BOTH(ftruncate64, ftruncate, (int fd, off_t len), set_length(fd, len))
#undef RESULT

static int
asked(int fd, unsigned long request, void *arg)
{
	uint64_t range[2], number;

	REAL(real, ioctl);
	if (request == BLKZEROOUT) {
		memcpy(range, arg, sizeof(range));
		if (refused_at(ZERO, "BLKZEROOUT", fd, range[0],
		    (size_t)range[1]))
			return -1;
	}
	if (refused(IOCTL, "ioctl", fd))
		return -1;
	if (request == FICLONERANGE && refused(SHARE, "FICLONERANGE", fd))
		return -1;
	if (request == BLKGETDISKSEQ && real(fd, request, &number) == 0) {
		number += refused(MEDIUM, "medium", fd);
		memcpy(arg, &number, sizeof(number));
		return 0;
	}
	return real(fd, request, arg);
}

IOCTLS(asked)

/* As close(2): the descriptor is gone, whatever it says. */
int
close(int fd)
{
	bool fails;
	int err;

	REAL(real, close);
	fails = refused(CLOSE, "close", fd);
	err = errno;
	if (!fails)
		return real(fd);
	(void)real(fd);
	errno = err;
	return -1;
}

struct start {
	void	*(*run)(void *);
	void	*arg;
};

static void *
started(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	running = true;
	return s.run(s.arg);
}

int
pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
    void *(*run)(void *), void *restrict arg)
{
	struct start *s;
	int err;

	REAL(real, pthread_create);
	REAL(real_malloc, malloc);
	if (refused(THREAD, "pthread_create", -1))
		return errno;
	s = real_malloc(sizeof(*s));
	if (s == NULL)
		return EAGAIN;
	*s = (struct start){ run, arg };
	err = real(thread, attr, started, s);
	if (err != 0)
		free(s);
	return err;
}

/* --- what has to do with no file, or with none yet ---------------------- */

/* Under its plain and its 64-bit name. */
#define STAT_OF(name, type)						\
	int								\
	name(int fd, struct type *st)					\
	{								\
		REAL(real, name);					\
		return refused(STAT, "fstat", fd) ? -1 : real(fd, st);	\
	}

STAT_OF(fstat, stat)
STAT_OF(fstat64, stat64)

int
renameat(int from, const char *old_name, int to, const char *new_name)
{
	REAL(real, renameat);
	return refused(RENAME, "rename", -1) ? -1 :
	    real(from, old_name, to, new_name);
}

int
rename(const char *old_name, const char *new_name)
{
	REAL(real, rename);
	return refused(RENAME, "rename", -1) ? -1 : real(old_name, new_name);
}

#define RESULT void *
static void *
mapped(void *at, size_t len, int prot, int flags, int fd, off_t off)
{
	REAL(real, mmap64);
	return refused(MAP, "mmap", -1) ? MAP_FAILED :
	    real(at, len, prot, flags, fd, off);
}

BOTH(mmap64, mmap, (void *at, size_t len, int prot, int flags, int fd,
    off_t off), mapped(at, len, prot, flags, fd, off))
#undef RESULT

int
eventfd(unsigned count, int flags)
{
	REAL(real, eventfd);
	return refused(EVENT, "eventfd", -1) ? -1 : real(count, flags);
}

int
signalfd(int fd, const sigset_t *set, int flags)
{
	REAL(real, signalfd);
	return refused(EVENT, "signalfd", -1) ? -1 : real(fd, set, flags);
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	REAL(real, poll);
	return refused(POLL, "poll", -1) ? -1 : real(p, n, ms);
}

int
ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *set)
{
	REAL(real, ppoll);
	return refused(POLL, "poll", -1) ? -1 : real(p, n, t, set);
}
