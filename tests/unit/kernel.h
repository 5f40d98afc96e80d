/*
 * A kernel that refuses a call when a test says so, and a file that stands for
 * a node, with a directory for its sysfs entries: those of MAJOR:MINOR are in a
 * directory of that name in it.  /dev/NAME is dev.NAME there.  Included once,
 * by a test.
 */
#ifndef PARDD_TEST_KERNEL_H
#define PARDD_TEST_KERNEL_H

#include <ftw.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>

#include "../tools/preload.h"

enum { DENIALS = 4, EVER = 1 << 20 };

struct denial {
	const char	*call;		/* this call fails, */
	unsigned long	 what;		/* if it has this request or command,
					 * or these flags; 0: any has */
	unsigned	 after, times;	/* behind so many, so often, */
	int		 err;		/* with this; 0: it does nothing */
};

static struct {
	struct denial denial[DENIALS];
	struct stat node;		/* the file that is one, */
	mode_t	 type;			/* ... of this type; 0: no file is */
	dev_t	 rdev;
	struct stat generic;		/* and one that is of characters, */
	dev_t	 generic_rdev;		/* ... unless this is 0 */
	const char *link;		/* where the links of sysfs lead */
	dev_t	 member;		/* what all nodes in /dev are */
	blkcnt_t blocks;		/* that a file has; 0: as it is */
	long	 fs;			/* what files are on; 0: as it is */
	long	 fs_block;		/* with this, of it */
	unsigned direct_align;		/* what statx() says; 0: nothing */
	/* what a device answers: 0 or an errno value */
	int	 (*answer)(int fd, unsigned long request, void *arg);
	/* what a device does with what is written to it, and reads: bytes or
	 * -errno */
	ssize_t	 (*takes)(const void *buf, size_t n);
	ssize_t	 (*gives)(void *buf, size_t n);
	char	 sysfs[32];		/* "": there is none */
} kernel;

/* The call fails once, behind so many that are made. */
static void
deny(const char *call, unsigned long what, unsigned after, int err)
{
	size_t i = 0;

	while (kernel.denial[i].call != NULL)
		i++;
	assert_true(i < DENIALS);
	kernel.denial[i] = (struct denial){ call, what, after, 1, err };
}

static inline void
deny_nothing(void)
{
	memset(kernel.denial, 0, sizeof(kernel.denial));
}

static bool
denied(const char *call, unsigned long what)
{
	struct denial *d;

	for (d = kernel.denial; d < kernel.denial + DENIALS; d++) {
		if (d->call == NULL || d->times == 0 ||
		    strcmp(d->call, call) != 0 ||
		    (d->what != 0 && d->what != what))
			continue;
		if (d->after > 0) {
			d->after--;
			continue;
		}
		d->times--;
		errno = d->err;
		return true;
	}
	return false;
}

/* errno is that of the denial. */
static int
refused(void)
{
	return errno == 0 ? 0 : -1;
}

/* -------------------------------------------- in the place of the C library */

/* Not every directory for temporary files knows O_DIRECT. */
static int
opens(int dir, const char *path, int flags, mode_t mode)
{
	char there[300];

	if (dir == AT_FDCWD && strncmp(path, "/sys/", 5) != 0 &&
	    denied("open", (unsigned long)(flags & O_DIRECT)))
		return -1;
	if (strncmp(path, "/sys/dev/", 9) == 0) {
		if (denied("sysfs", 0))
			return -1;
		if (kernel.sysfs[0] == '\0') {
			errno = ENOENT;
			return -1;
		}
		snprintf(there, sizeof(there), "%s%s", kernel.sysfs,
		    strrchr(path, '/'));
		path = access(there, F_OK) == 0 ? there : kernel.sysfs;
	} else if (kernel.type != 0 && strncmp(path, "/dev/", 5) == 0) {
		if (denied("node", 0))
			return -1;
		snprintf(there, sizeof(there), "%s/dev.%s", kernel.sysfs,
		    path + 5);
		path = there;
	}
	return (int)syscall(SYS_openat, dir, path, flags & ~O_DIRECT, mode);
}

/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
OPENS(opens)

static bool
is_node(const struct stat *st)
{
	return kernel.type != 0 && st->st_dev == kernel.node.st_dev &&
	    st->st_ino == kernel.node.st_ino;
}

int
fstat(int fd, struct stat *st)
{
	if (denied("fstat", 0))
		return -1;
	if (fstatat(fd, "", st, AT_EMPTY_PATH) != 0)
		return -1;
	if (is_node(st)) {
		st->st_mode = kernel.type | (st->st_mode & 0777);
		st->st_rdev = kernel.rdev;
	} else if (kernel.generic_rdev != 0 &&
	    st->st_ino == kernel.generic.st_ino) {
		st->st_mode = S_IFCHR;
		st->st_rdev = kernel.generic_rdev;
	} else if (kernel.blocks != 0) {
		st->st_blocks = kernel.blocks;
	}
	return 0;
}

int
stat(const char *path, struct stat *st)
{
	if (fstatat(AT_FDCWD, path, st, 0) != 0 &&
	    (kernel.type == 0 || strncmp(path, "/dev/", 5) != 0))
		return -1;
	if (is_node(st)) {
		st->st_mode = kernel.type;
		st->st_rdev = kernel.rdev;
	} else if (kernel.type != 0 && strncmp(path, "/dev/", 5) == 0) {
		*st = (struct stat){ .st_mode = S_IFBLK,
			.st_rdev = kernel.member };
	}
	return 0;
}

ssize_t
readlink(const char *path, char *to, size_t room)
{
	size_t n;

	if (kernel.link == NULL || strncmp(path, "/sys/dev/", 9) != 0)
		return readlinkat(AT_FDCWD, path, to, room);
	n = strlen(kernel.link);
	n = n < room ? n : room;
	memcpy(to, kernel.link, n);
	return (ssize_t)n;
}

int
fstatfs(int fd, struct statfs *fs)
{
	REAL_OF(real, fstatfs, LARGE("fstatfs"));
	if (denied("fstatfs", 0) || real(fd, fs) != 0)
		return -1;
	if (kernel.fs != 0) {
		fs->f_type = (__typeof__(fs->f_type))kernel.fs;
		fs->f_bsize = (__typeof__(fs->f_bsize))kernel.fs_block;
	}
	return 0;
}

int
statx(int dir, const char *path, int flags, unsigned mask, struct statx *x)
{
	if (denied("statx", 0) ||
	    syscall(SYS_statx, dir, path, flags, mask, x) != 0)
		return -1;
#ifdef STATX_DIOALIGN
	x->stx_mask &= ~(unsigned)STATX_DIOALIGN;
	if (kernel.direct_align != 0) {
		x->stx_mask |= STATX_DIOALIGN;
		x->stx_dio_offset_align = kernel.direct_align;
	}
#endif
	return 0;
}

int
fcntl(int fd, int command, ...)
{
	va_list ap;
	long arg;

	va_start(ap, command);
	arg = command == F_GETFD || command == F_GETFL ? 0 : va_arg(ap, long);
	va_end(ap);
	if (denied("fcntl", (unsigned long)command))
		return -1;
	return (int)syscall(SYS_fcntl, fd, command, arg);
}

static int
answered(int fd, unsigned long request, void *arg)
{
	int err;

	if (denied("ioctl", request))
		return refused();
	if (kernel.answer == NULL)
		return (int)syscall(SYS_ioctl, fd, request, arg);
	err = kernel.answer(fd, request, arg);
	errno = err > 0 ? err : errno;
	return err > 0 ? -1 : -err;
}

IOCTLS(answered)

int
flock(int fd, int how)
{
	return denied("flock", 0) ? -1 : (int)syscall(SYS_flock, fd, how);
}

off_t
lseek(int fd, off_t off, int whence)
{
	REAL_OF(real, lseek, LARGE("lseek"));
	return denied("lseek", (unsigned long)whence) ? refused() :
	    real(fd, off, whence);
}

int
poll(struct pollfd *p, nfds_t n, int ms)
{
	REAL(real, poll);
	return denied("poll", 0) ? refused() : real(p, n, ms);
}

static ssize_t
result(ssize_t n)
{
	if (n >= 0)
		return n;
	errno = (int)-n;
	return -1;
}

ssize_t
read(int fd, void *buf, size_t n)
{
	struct stat st;

	if (denied("read", 0))
		return refused();
	if (kernel.gives != NULL && fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 &&
	    is_node(&st))
		return result(kernel.gives(buf, n));
	return syscall(SYS_read, fd, buf, n);
}

ssize_t
write(int fd, const void *buf, size_t n)
{
	struct stat st;

	if (denied("write", 0))
		return refused();
	if (kernel.takes != NULL && fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 &&
	    is_node(&st))
		return result(kernel.takes(buf, n));
	return syscall(SYS_write, fd, buf, n);
}

void *
mmap(void *at, size_t n, int prot, int flags, int fd, off_t off)
{
	REAL_OF(real, mmap, LARGE("mmap"));
	return denied("mmap", 0) ? MAP_FAILED :
	    real(at, n, prot, flags, fd, off);
}

ssize_t
pread(int fd, void *buf, size_t n, off_t off)
{
	REAL_OF(real, pread, LARGE("pread"));
	return denied("pread", 0) ? refused() : real(fd, buf, n, off);
}

ssize_t
pwrite(int fd, const void *buf, size_t n, off_t off)
{
	REAL_OF(real, pwrite, LARGE("pwrite"));
	return denied("pwrite", 0) ? refused() : real(fd, buf, n, off);
}

ssize_t
preadv2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	return denied("preadv2", (unsigned long)flags) ? refused() :
	    syscall(SYS_preadv2, fd, iov, n, (long)off, (long)(off >> 32),
	    flags);
}

ssize_t
pwritev2(int fd, const struct iovec *iov, int n, off_t off, int flags)
{
	return denied("pwritev2", (unsigned long)flags) ? refused() :
	    syscall(SYS_pwritev2, fd, iov, n, (long)off, (long)(off >> 32),
	    flags);
}

int
ftruncate(int fd, off_t length)
{
	REAL_OF(real, ftruncate, LARGE("ftruncate"));
	return denied("ftruncate", 0) ? -1 : real(fd, length);
}

int
fallocate(int fd, int mode, off_t off, off_t len)
{
	REAL_OF(real, fallocate, LARGE("fallocate"));
	return denied("fallocate", 0) ? refused() : real(fd, mode, off, len);
}

int
sync_file_range(int fd, off_t off, off_t len, unsigned flags)
{
	REAL(real, sync_file_range);
	return denied("sync_file_range", flags) ? refused() :
	    real(fd, off, len, flags);
}

int
fsync(int fd)
{
	return denied("fsync", 0) ? -1 : (int)syscall(SYS_fsync, fd);
}

int
fdatasync(int fd)
{
	return denied("fdatasync", 0) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

/* A descriptor is closed, whatever it says. */
int
close(int fd)
{
	int result = (int)syscall(SYS_close, fd);

	return denied("close", 0) ? -1 : result;
}

int
faccessat(int dir, const char *path, int mode, int flags)
{
	return denied("faccessat", 0) ? -1 :
	    (int)syscall(SYS_faccessat2, dir, path, mode, flags);
}

int
access(const char *path, int mode)
{
	if (kernel.sysfs[0] == '\0' && strncmp(path, "/sys/", 5) == 0) {
		errno = ENOENT;
		return -1;
	}
	return (int)syscall(SYS_faccessat2, AT_FDCWD, path, mode, 0);
}

ssize_t
getrandom(void *buf, size_t n, unsigned flags)
{
	return denied("getrandom", 0) ? refused() :
	    syscall(SYS_getrandom, buf, n, flags);
}

int
nanosleep(const struct timespec *t, struct timespec *left)
{
	return 0;
}

/* ----------------------------------------------------------- making it up */

/* From now on the file of this name is a node of that type and number. */
static inline void
make_node(const char *name, mode_t type, dev_t rdev)
{
	assert_int_equal(stat(name, &kernel.node), 0);
	kernel.type = type;
	kernel.rdev = rdev;
}

/* What sysfs has of the node, as of all others: begin with nothing. */
static inline void
begin_sysfs(void)
{
	strcpy(kernel.sysfs, "/tmp/pardd-sysfs.XXXXXX");
	assert_non_null(mkdtemp(kernel.sysfs));
}

/* A file of this text, in a directory or two. */
static inline void
sysfs_has(const char *name, const char *text)
{
	char path[300], *slash = path + strlen(kernel.sysfs);
	int fd;

	snprintf(path, sizeof(path), "%s/%s", kernel.sysfs, name);
	while ((slash = strchr(slash + 1, '/')) != NULL) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT |
	    O_TRUNC, 0600);
	assert_true(syscall(SYS_write, fd, text, strlen(text)) ==
	    (long)strlen(text));
	syscall(SYS_close, fd);
}

static inline int
forget(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static inline void
end_sysfs(void)
{
	char directory[sizeof(kernel.sysfs)];

	strcpy(directory, kernel.sysfs);
	memset(&kernel, 0, sizeof(kernel));
	if (directory[0] != '\0')
		assert_int_equal(nftw(directory, forget, 8, FTW_DEPTH |
		    FTW_PHYS), 0);
}

/* How many descriptors are open. */
static inline unsigned
count_open(void)
{
	unsigned n = 0;
	int fd;

	for (fd = 0; fd < 64; fd++)
		n += syscall(SYS_fcntl, fd, F_GETFD, 0) >= 0;
	return n;
}

#endif
