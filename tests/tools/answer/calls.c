/*
 * What the program calls of libc, where that meets one of the disks.
 */
#undef _FILE_OFFSET_BITS		/* both names of a call are defined here, */
#undef _FORTIFY_SOURCE		/* and none may be turned into another */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "answer.h"

enum { FLIGHTS = 64, SG_MAJOR = 21, FIRST_MINOR = 40000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct flight {		/* answered, and not asked for yet */
	bool used;
	int fd;
	struct sg_io_hdr h;
} flights[FLIGHTS];

static struct disk *
disk_of(const struct stat *st)
{
	struct disk *d;

	for (d = disks; d < disks + ndisks; d++)
		if (st->st_dev == d->dev && st->st_ino == d->ino)
			return d;
	return NULL;
}

static struct disk *
disk_at(int fd)
{
	struct stat st;

	REAL(real, fstat);
	return ndisks > 0 && real(fd, &st) == 0 ? disk_of(&st) : NULL;
}

static void
disguise(struct stat *st)
{
	const struct disk *d = disk_of(st);

	if (d == NULL)
		return;
	st->st_mode = S_IFCHR | 0600;
	st->st_rdev = makedev(SG_MAJOR, FIRST_MINOR + (unsigned)(d - disks));
	st->st_size = 0;
}

int
fstat(int fd, struct stat *st)
{
	int res;

	REAL(real, fstat);
	res = real(fd, st);
	if (res == 0)
		disguise(st);
	return res;
}

/* The same structure on machines of 64 bits. */
int
fstat64(int fd, struct stat64 *st)
{
	_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "64 bits");

	return fstat(fd, (struct stat *)(void *)st);
}

int
ioctl(int fd, unsigned long request, ...)
{
	struct disk *d = disk_at(fd);
	va_list ap;
	void *arg;
	int err = 0;

	REAL(real, ioctl);
	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (d == NULL)
		return real(fd, request, arg);
	switch (request) {
	case SG_IO:
		err = answer(d, arg);
		break;
	case SG_GET_VERSION_NUM:
		*(int *)arg = 30536;
		break;
	case SG_GET_RESERVED_SIZE:
	case BLKSECTGET:
		*(int *)arg = 512 << 10;
		break;
	case SG_SET_RESERVED_SIZE:
	case SG_SET_FORCE_PACK_ID:
		break;
	default:
		err = ENOTTY;
		break;
	}
	errno = err;
	return err != 0 ? -1 : 0;
}

ssize_t
write(int fd, const void *buf, size_t len)
{
	struct disk *d = disk_at(fd);
	struct sg_io_hdr h;
	struct flight *f;
	int err;

	REAL(real, write);
	if (d == NULL || len != sizeof(h))
		return real(fd, buf, len);
	memcpy(&h, buf, sizeof(h));
	err = answer(d, &h);
	pthread_mutex_lock(&lock);
	for (f = flights; f < flights + FLIGHTS && f->used; f++)
		continue;
	if (f < flights + FLIGHTS && err == 0)
		*f = (struct flight){ true, fd, h };
	pthread_mutex_unlock(&lock);
	errno = f == flights + FLIGHTS ? EDOM : err;
	return errno != 0 ? -1 : (ssize_t)len;
}

ssize_t
read(int fd, void *buf, size_t len)
{
	struct disk *d = disk_at(fd);
	struct sg_io_hdr *h = buf;
	struct flight *f;

	REAL(real, read);
	if (d == NULL || len != sizeof(*h))
		return real(fd, buf, len);
	pthread_mutex_lock(&lock);
	for (f = flights; f < flights + FLIGHTS; f++)
		if (f->used && f->fd == fd && f->h.pack_id == h->pack_id)
			break;
	if (f < flights + FLIGHTS) {
		*h = f->h;
		f->used = false;
	}
	pthread_mutex_unlock(&lock);
	errno = EAGAIN;
	return f < flights + FLIGHTS ? (ssize_t)len : -1;
}

int
nanosleep(const struct timespec *t, struct timespec *left)
{
	int64_t ns = t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
	struct timespec shorter = { ns / 100 / 1000000000,
		ns / 100 % 1000000000 };
	char line[40];
	int n;

	REAL(real, nanosleep);
	n = snprintf(line, sizeof(line), "pause %" PRId64 "\n", ns / 1000000);
	if (log_fd >= 0)
		(void)!syscall(SYS_write, log_fd, line, (size_t)n);
	return real(ndisks > 0 ? &shorter : t, left);
}

/* The disk's directory in sysfs; "/" has none of its files. */
static const char *
elsewhere(const char *path, char *room, size_t len)
{
	unsigned maj, min;

	if (ndisks == 0 || sscanf(path, "/sys/dev/char/%u:%u", &maj,
	    &min) != 2 || maj != SG_MAJOR || min < FIRST_MINOR ||
	    min >= FIRST_MINOR + ndisks)
		return path;
	snprintf(room, len, "%s.sys", disks[min - FIRST_MINOR].path);
	return faccessat(AT_FDCWD, room, F_OK, 0) == 0 ? room : "/";
}

#define OPEN(name)							\
	int name(const char *path, int flags, ...);			\
	int								\
	name(const char *path, int flags, ...)				\
	{								\
		char room[4110];					\
		va_list ap;						\
		int mode;						\
									\
		REAL(real, name);					\
		va_start(ap, flags);					\
		mode = flags & O_CREAT ? va_arg(ap, int) : 0;		\
		va_end(ap);						\
		return real(elsewhere(path, room, sizeof(room)),	\
		    flags, mode);					\
	}

OPEN(open)
OPEN(open64)

UNCONFINED(true)
