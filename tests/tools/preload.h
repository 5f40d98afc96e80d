/*
 * What the libraries share that stand between a program and libc (LD_PRELOAD).
 */
#ifndef PRELOAD_H
#define PRELOAD_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A mistake in how they were called, or a libc that is none: no test goes on. */
static inline void
die(const char *what, const char *why)
{
	dprintf(2, "preload: %s: %s\n", what, why);
	_exit(125);
}

/* libc's own, behind ours. */
static inline void *
next(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	if (p == NULL)
		die(name, "not in libc");
	return p;
}

/*
 * A function pointer of the type of fn, for the duration of a call.  memcpy, as
 * ISO C has no cast from an object pointer to one to a function.
 */
#define REAL(ptr, fn)	REAL_OF(ptr, fn, #fn)
#define REAL_OF(ptr, fn, name)						\
	static __typeof__(&fn) ptr;					\
	do {								\
		void *sym_;						\
		if (ptr == NULL) {					\
			sym_ = next(name);				\
			memcpy(&ptr, &sym_, sizeof(ptr));		\
		}							\
	} while (0)

/* The name of a function for offsets of 64 bits, whatever the machine has. */
#ifdef __GLIBC__
#define LARGE(name)	name "64"
#else
#define LARGE(name)	name
#endif

/* Both that flush a file, by a function flush(fd, libc's own). */
#define FLUSHES								\
int									\
fdatasync(int fd)							\
{									\
	REAL(real, fdatasync);						\
	return flush(fd, real);						\
}									\
									\
int									\
fsync(int fd)								\
{									\
	REAL(real, fsync);						\
	return flush(fd, real);						\
}

/* The last argument of a call of open(), which only a new file has. */
#define MODE_OF(mode, flags)						\
	unsigned mode = 0;						\
	va_list ap;							\
									\
	va_start(ap, flags);						\
	if ((flags & O_CREAT) != 0)					\
		mode = va_arg(ap, unsigned);				\
	va_end(ap);

/* All names of open(), which is by(dir, path, flags, mode). */
#define OPENS(by)							\
int									\
openat(int dir, const char *path, int flags, ...)			\
{									\
	MODE_OF(mode, flags)						\
	return by(dir, path, flags, mode);				\
}									\
									\
int									\
open(const char *path, int flags, ...)					\
{									\
	MODE_OF(mode, flags)						\
	return by(AT_FDCWD, path, flags, mode);				\
}									\
									\
/* as it is called where it is checked for a mode */			\
int __open64_2(const char *, int);					\
int									\
__open64_2(const char *path, int flags)					\
{									\
	return by(AT_FDCWD, path, flags, 0);				\
}									\
									\
int __openat64_2(int, const char *, int);				\
int									\
__openat64_2(int dir, const char *path, int flags)			\
{									\
	return by(dir, path, flags, 0);					\
}

/* ioctl(), which is by(fd, request, arg). */
#define IOCTLS(by)							\
int									\
ioctl(int fd, unsigned long request, ...)				\
{									\
	va_list ap;							\
	void *arg;							\
									\
	va_start(ap, request);						\
	arg = va_arg(ap, void *);					\
	va_end(ap);							\
	return by(fd, request, arg);					\
}

/*
 * For a library that opens files of its own in the program's place, which the
 * program would keep itself from: it does not confine itself while "cond".
 */
#define UNCONFINED(cond)						\
int									\
prctl(int op, ...)							\
{									\
	unsigned long arg[4];						\
	va_list ap;							\
	int i;								\
									\
	va_start(ap, op);						\
	for (i = 0; i < 4; i++)						\
		arg[i] = va_arg(ap, unsigned long);			\
	va_end(ap);							\
	if (op == PR_SET_NO_NEW_PRIVS && (cond)) {			\
		errno = ENOSYS;						\
		return -1;						\
	}								\
	return (int)syscall(SYS_prctl, op, arg[0], arg[1], arg[2],	\
	    arg[3]);							\
}

struct word {
	const char	*name;
	int		 value;
};

/* The bits that a list of words stands for, which is taken apart. */
static inline unsigned
bits_of(char *list, const struct word *words, size_t n)
{
	unsigned set = 0;
	char *word;
	size_t i;

	while ((word = strsep(&list, ",")) != NULL) {
		for (i = 0; i < n && strcmp(word, words[i].name) != 0; i++)
			continue;
		if (i == n)
			die(word, "no such op");
		set |= (unsigned)words[i].value;
	}
	return set;
}

#endif
