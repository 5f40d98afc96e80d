/*
 * trace: record what a program changes on disk, for powercut (LD_PRELOAD,
 * before the shim: then a flush lasts from before its sleep=).
 *
 *	TRACE=FILE	gets the records of trace.h, appended
 *	HURRY=N		a poll of a second or more takes an Nth of that
 *
 * It records writes to regular files and block devices, their flushes, and new
 * files, renames, links, unlinks (renameat and so on) and flushes of
 * directories.  A name is recorded without its directory: there is only one.
 * What stdio writes bypasses write(), so the whole file is recorded after each
 * fflush and before each fclose.
 */
#undef _FILE_OFFSET_BITS		/* see shim.c */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload.h"
#include "trace.h"

enum { STDIO_MOST = 1 << 20, MOST = 64 };

static int trace_fd = -1;
static int hurry = 1;
static atomic_ullong ids;

__attribute__((constructor)) static void
begin(void)
{
	const char *to = getenv("TRACE"), *n = getenv("HURRY");

	if (n != NULL && atoi(n) > 0)
		hurry = atoi(n);
	if (to == NULL)
		return;
	trace_fd = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT |
	    O_APPEND | O_CLOEXEC, 0666);
	if (trace_fd < 0)
		_exit(125);
}

/* One call, past ourselves: records of several threads stay whole. */
static void
put(const struct outputs *r, const struct iovec *v, int n)
{
	struct iovec all[MOST + 1] = { { (void *)(uintptr_t)r, sizeof(*r) } };
	size_t len = sizeof(*r) + r->len;

	if (n > 0)
		memcpy(all + 1, v, (size_t)n * sizeof(*v));
	if (syscall(SYS_writev, trace_fd, all, n + 1) != (long)len)
		_exit(125);
}

/* The record before a call; its id. */
static uint64_t
note(enum kind kind, uint64_t ino, uint64_t off, const struct iovec *v, int n)
{
	struct outputs r = { .ino = ino, .off = off, .kind = kind };
	int i, saved = errno;

	r.id = (uint64_t)getpid() << 32 | atomic_fetch_add(&ids, 1);
	for (i = 0; i < n; i++)
		r.len += (uint32_t)v[i].iov_len;
	put(&r, v, n);
	errno = saved;
	return r.id;
}

/* And the one after it. */
static void
done(uint64_t id, bool failed)
{
	struct outputs r = { .id = id, .kind = DONE };
	int saved = errno;

	r.off = failed ? (uint64_t)(errno != 0 ? errno : EIO) : 0;
	put(&r, NULL, 0);
	errno = saved;
}

static const char *
base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* The number of the directory that a name is in. */
static uint64_t
dir_of(int dir, const char *path)
{
	size_t len = (size_t)(base(path) - path);
	char directory[4096];
	struct stat st;

	snprintf(directory, sizeof(directory), "%.*s", len > 0 ? (int)len : 1,
	    len > 0 ? path : ".");
	return fstatat(dir, directory, &st, 0) == 0 ? st.st_ino : 0;
}

static uint64_t
note_names(enum kind kind, uint64_t ino, int dir, const char *a, const char *b)
{
	struct iovec v[2] = { { (void *)(uintptr_t)base(a),
		strlen(base(a)) + 1 }, { NULL, 0 } };

	if (b != NULL)
		v[1] = (struct iovec){ (void *)(uintptr_t)base(b),
			strlen(base(b)) + 1 };
	return note(kind, ino, dir_of(dir, a), v, b == NULL ? 1 : 2);
}

/* Whether what is written there stays; its number. */
static bool
kept(int fd, uint64_t *ino)
{
	struct stat st;

	if (trace_fd < 0 || fd == trace_fd || fstat(fd, &st) != 0 ||
	    (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode)))
		return false;
	*ino = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_ino;
	return true;
}

/* --- writing ----------------------------------------------------------- */

static size_t
sum(const struct iovec *v, int n)
{
	size_t len = 0;

	while (n-- > 0)
		len += v[n].iov_len;
	return len;
}

/* A write that is cut short counts as one that failed. */
static ssize_t
store(int fd, const struct iovec *v, int n, off64_t at, int flags)
{
	uint64_t id = 0, ino;
	bool noted = n <= MOST && kept(fd, &ino);
	ssize_t moved;

	REAL(real, pwritev64v2);
	if (noted)
		id = note(WRITE, ino, (uint64_t)at, v, n);
	moved = real(fd, v, n, at, flags);
	if (noted)
		done(id, moved < 0 || (size_t)moved < sum(v, n));
	return moved;
}

/* Each under its plain and its 64-bit name. */
#define BOTH(name64, name, proto, call)	\
	ssize_t name64 proto { return call; }	\
	ssize_t name proto { return call; }
#define ONE	\
	&(struct iovec){ (void *)(uintptr_t)buf, len }, 1

BOTH(pwrite64, pwrite, (int fd, const void *buf, size_t len, off64_t at),
    store(fd, ONE, at, 0))
BOTH(pwritev64, pwritev, (int fd, const struct iovec *v, int n, off64_t at),
    store(fd, v, n, at, 0))
BOTH(pwritev64v2, pwritev2, (int fd, const struct iovec *v, int n, off64_t at,
    int flags), store(fd, v, n, at, flags))

ssize_t
write(int fd, const void *buf, size_t len)
{
	uint64_t id = 0, ino;
	off_t at = -1;
	bool noted = kept(fd, &ino) && (at = lseek(fd, 0, SEEK_CUR)) >= 0;
	ssize_t moved;

	if (noted)
		id = note(WRITE, ino, (uint64_t)at, ONE);
	moved = syscall(SYS_write, fd, buf, len);
	if (noted)
		done(id, moved != (ssize_t)len);
	return moved;
}

/* The whole of a file that stdio has written; it may be open for that only. */
static void
note_stdio(FILE *f)
{
	static char room[STDIO_MOST];	/* one saves at a time */
	char link[64];
	uint64_t ino;
	ssize_t n;
	int fd;

	if (f == NULL || fileno(f) < 0 || !kept(fileno(f), &ino))
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fileno(f));
	fd = (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : pread(fd, room, sizeof(room), 0);
	if (n >= 0 && n < STDIO_MOST)
		done(note(WRITE, ino, 0, &(struct iovec){ room, (size_t)n },
		    1), false);
	else
		_exit(125);
	syscall(SYS_close, fd);
}

int
fflush(FILE *f)
{
	int failed;

	REAL(real, fflush);
	failed = real(f);
	if (failed == 0)
		note_stdio(f);
	return failed;
}

int
fclose(FILE *f)
{
	REAL(real, fclose);
	if (trace_fd >= 0)
		fflush(f);
	return real(f);
}

/* --- flushing ---------------------------------------------------------- */

static int
flush(int fd, int (*real)(int))
{
	struct stat st;
	uint64_t id = 0, ino = 0;
	bool directory = trace_fd >= 0 && fstat(fd, &st) == 0 &&
	    S_ISDIR(st.st_mode), noted = directory || kept(fd, &ino);
	int failed;

	if (noted)
		id = note(directory ? DIRECTORY : SYNC,
		    directory ? st.st_ino : ino,
		    directory ? st.st_ino : 0, NULL, 0);
	failed = real(fd);
	if (id > 0)
		done(id, failed != 0);
	return failed;
}

FLUSHES

/* --- names ------------------------------------------------------------- */

/* What a file without a name is called here. */
static const char *
nameless(const struct stat *st, char name[32])
{
	snprintf(name, 32, "#%llu", (unsigned long long)st->st_ino);
	return name;
}

/* As it was before: what was there already is no news. */
static int
open_it(int dir, const char *path, int flags, mode_t mode)
{
	struct stat st;
	char name[32];
	bool new = trace_fd >= 0 && (flags & O_CREAT) != 0 &&
	    fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) != 0;
	int fd = (int)syscall(SYS_openat, dir, path, flags, mode), saved = errno;

	if (new && fd >= 0 && fstat(fd, &st) == 0)
		done(note_names(CREATE, st.st_ino, dir, path, NULL), false);
	if (trace_fd >= 0 && (flags & O_TMPFILE) == O_TMPFILE && fd >= 0 &&
	    fstat(fd, &st) == 0)
		done(note_names(CREATE, st.st_ino, dir, nameless(&st, name),
		    NULL), false);
	errno = saved;
	return fd;
}

#define OPEN(name, proto, last, dir)					\
	int name proto							\
	{								\
		va_list ap;						\
		mode_t mode;						\
		va_start(ap, last);					\
		mode = (flags & O_CREAT) != 0 ||			\
		    (flags & O_TMPFILE) == O_TMPFILE ?			\
		    va_arg(ap, mode_t) : 0;				\
		va_end(ap);						\
		return open_it(dir, path, flags, mode);			\
	}

OPEN(open, (const char *path, int flags, ...), flags, AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), flags, AT_FDCWD)
OPEN(openat, (int dir, const char *path, int flags, ...), flags, dir)
OPEN(openat64, (int dir, const char *path, int flags, ...), flags, dir)

/* Begin a change of names; 0 where nothing is noted. */
static uint64_t
change(enum kind kind, int dir, const char *name, const char *to)
{
	struct stat st;

	if (trace_fd < 0 || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return 0;
	return note_names(kind, st.st_ino, dir, name, to);
}

int
renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	uint64_t id;
	int failed;

	REAL(real, renameat);
	id = change(RENAME, from_dir, from, to);
	failed = real(from_dir, from, to_dir, to);
	if (id > 0)
		done(id, failed != 0);
	return failed;
}

/* A file that was made without a name gets one. */
static uint64_t
first_name(const char *from, int dir, const char *to)
{
	struct stat st;
	char name[32];

	if (trace_fd < 0 || stat(from, &st) != 0)
		return 0;
	return note_names(LINK, st.st_ino, dir, nameless(&st, name), to);
}

int
linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	uint64_t id;
	int failed;

	REAL(real, linkat);
	id = (flags & AT_SYMLINK_FOLLOW) != 0 ? first_name(from, to_dir, to) :
	    change(LINK, from_dir, from, to);
	failed = real(from_dir, from, to_dir, to, flags);
	if (id > 0)
		done(id, failed != 0);
	return failed;
}

int
unlinkat(int dir, const char *path, int flags)
{
	uint64_t id;
	int failed;

	REAL(real, unlinkat);
	id = change(UNLINK, dir, path, NULL);
	failed = real(dir, path, flags);
	if (id > 0)
		done(id, failed != 0);
	return failed;
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	REAL(real, poll);
	return real(p, n, ms >= 1000 ? ms / hurry : ms);
}
