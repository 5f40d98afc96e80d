/*
 * counted: a bad disk whose costs are counted, between the program and libc
 * (LD_PRELOAD).  Nothing really waits: the clock stands still while the program
 * computes, and advances by the cost of each read.  So a rescue of a whole
 * night takes a second, and has the same result each time, however busy the
 * machine is.
 *
 *	DISK=FILE	the properties of the disk: lines of a word and numbers
 *	SOURCE=FILE	stands for it: reads of it are reads of the disk, and it
 *			has the same size
 *	TARGET=FILE	what is written to it is checked and discarded
 *	FIGURES=FILE	gets the results, one line
 *	READS=FILE	gets a line for each read: second, offset, length, good
 *	SYSFS=DIR	if given, SOURCE is a block device, and DIR its
 *			directory in sysfs
 *
 * The words of DISK (bytes, microseconds):
 *
 *	size BYTES	rate BYTES_PER_SECOND	physical BYTES
 *	overhead US	of each read; the disk is occupied
 *	latency US	of each read; the disk continues meanwhile
 *	jump US		of a read that does not follow the last one
 *	error US	of a read that fails; it ends at the bad sector
 *	servers N	the number of reads served at a time (1)
 *	tries N		a bad sector can be read at the Nth try (0: never)
 *	above BYTES	only longer reads fail
 *	grow N		every Nth error makes its bad area a sector longer
 *	stop 1		the run ends once everything readable was read
 *	limit SECONDS	the run ends then, at the latest
 *	bad OFF LEN	in order, as are:
 *	slow OFF LEN RATE
 *
 * The disk serves reads in the order in which they come: one after the other,
 * or with servers=N as many at a time.  Then each has its own overhead and its
 * own error, and all share the rate.  A sector contains its number, so that
 * data written can be told from data never read.  The line of FIGURES, with
 * tabs: seconds and errors until 50, 90, 99, 99.9 and 100 % of the readable
 * data were written; seconds, errors, reads and jumps in all; sectors that are
 * missing; sectors written wrong.
 */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>

#include "counted/counted.h"

enum { MAJOR = 240 };			/* of nobody */

struct disk disk = { .physical = SECTOR, .rate = 200e6, .servers = 1 };
FILE *trace;

static struct stat source, target;
static const char *sysfs;

/* -------------------------------------------------------- what is called */

static bool
is(int fd, const struct stat *which)
{
	struct stat st;

	REAL(real, fstat);
	return real(fd, &st) == 0 && st.st_dev == which->st_dev &&
	    st.st_ino == which->st_ino;
}

/* A transfer at a place, or (at < 0) where the descriptor stands. */
static ssize_t
transfer(int fd, const struct iovec *v, int n, off_t at, bool writes)
{
	off_t off = at >= 0 ? at : lseek64(fd, 0, SEEK_CUR);
	ssize_t moved;

	if (n != 1)
		die("transfer", "of several buffers");
	if (writes)
		note_write(v->iov_base, (uint64_t)off, v->iov_len);
	moved = writes ? (ssize_t)v->iov_len :
	    read_disk(v->iov_base, (uint64_t)off, v->iov_len);
	if (at < 0 && moved > 0)
		lseek64(fd, off + moved, SEEK_SET);
	return moved;
}

#define ONE(buf, len)	\
	&(struct iovec){ .iov_base = (void *)(uintptr_t)(buf), .iov_len = (len) }, 1

ssize_t
read(int fd, void *buf, size_t len)
{
	REAL(real, read);
	return is(fd, &source) ? transfer(fd, ONE(buf, len), -1, false) :
	    real(fd, buf, len);
}

ssize_t
write(int fd, const void *buf, size_t len)
{
	REAL(real, write);
	return is(fd, &target) ? transfer(fd, ONE(buf, len), -1, true) :
	    real(fd, buf, len);
}

/* Each of the positioned ones under its plain and its 64-bit name. */
#define BOTH(name64, name, proto, args, which, call)			\
	ssize_t								\
	name64 proto							\
	{								\
		REAL(real, name64);					\
		return is(fd, which) ? transfer call : real args;	\
	}								\
	ssize_t								\
	name proto							\
	{								\
		REAL(real, name);					\
		return is(fd, which) ? transfer call : real args;	\
	}

BOTH(pread64, pread, (int fd, void *buf, size_t len, off_t at),
    (fd, buf, len, at), &source, (fd, ONE(buf, len), at, false))
BOTH(pwrite64, pwrite, (int fd, const void *buf, size_t len, off_t at),
    (fd, buf, len, at), &target, (fd, ONE(buf, len), at, true))
BOTH(preadv64v2, preadv2,
    (int fd, const struct iovec *v, int n, off_t at, int flags),
    (fd, v, n, at, flags), &source, (fd, v, n, at, false))
BOTH(pwritev64v2, pwritev2,
    (int fd, const struct iovec *v, int n, off_t at, int flags),
    (fd, v, n, at, flags), &target, (fd, v, n, at, true))

/* With SYSFS the source is a block device. */
#define STAT_OF(name, type)						\
	int								\
	name(int fd, struct type *st)					\
	{								\
		REAL(real, name);					\
		if (real(fd, st) != 0)					\
			return -1;					\
		if (sysfs != NULL && st->st_dev == source.st_dev &&	\
		    st->st_ino == source.st_ino) {			\
			st->st_mode = S_IFBLK | 0600;			\
			st->st_rdev = makedev(MAJOR, 0);		\
		}							\
		return 0;						\
	}

STAT_OF(fstat, stat)
STAT_OF(fstat64, stat64)

/* What is thrown away fits onto a file system that knows of no holes. */
#define STATFS_OF(name, type)						\
	int								\
	name(int fd, struct type *fs)					\
	{								\
		REAL(real, name);					\
		if (real(fd, fs) != 0)					\
			return -1;					\
		if (is(fd, &target)) {					\
			fs->f_type = 0;					\
			fs->f_blocks = fs->f_bfree = fs->f_bavail =	\
			    disk.size;					\
		}							\
		return 0;						\
	}

STATFS_OF(fstatfs, statfs)
STATFS_OF(fstatfs64, statfs64)

static int
answered(int fd, unsigned long request, void *arg)
{
	REAL(real, ioctl);
	if (sysfs == NULL || !is(fd, &source))
		return real(fd, request, arg);
	if (request == BLKSSZGET)
		*(int *)arg = SECTOR;
	else if (request == BLKPBSZGET)
		*(unsigned *)arg = (unsigned)disk.physical;
	else if (request == BLKGETSIZE64)
		*(uint64_t *)arg = disk.size;
	else {
		errno = ENOTTY;
		return -1;
	}
	return 0;
}

IOCTLS(answered)

#define OPEN(name)							\
	int name(const char *path, int flags, ...);			\
	int								\
	name(const char *path, int flags, ...)				\
	{								\
		char node[64];						\
		va_list ap;						\
		int mode;						\
									\
		REAL(real, name);					\
		va_start(ap, flags);					\
		mode = flags & (O_CREAT | O_TMPFILE) ?			\
		    va_arg(ap, int) : 0;				\
		va_end(ap);						\
		snprintf(node, sizeof(node), "/sys/dev/block/%d:0",	\
		    MAJOR);						\
		if (sysfs != NULL && strcmp(path, node) == 0)		\
			path = sysfs;					\
		return real(path, flags, mode);				\
	}

OPEN(open)
OPEN(open64)
OPEN(__open_2)
OPEN(__open64_2)

/* ------------------------------------------------------ what it is like */

static void
add(struct areas *a, uint64_t off, uint64_t len, double rate)
{
	if (a->n > 0 && off < a->area[a->n - 1].end)
		die("DISK", "areas are not in order");
	if (off > disk.size || len > disk.size - off)
		die("DISK", "an area behind the end");
	if (a->n == a->room) {
		a->room = a->room * 2 + 64;
		a->area = realloc(a->area, a->room * sizeof(*a->area));
	}
	if (a->area == NULL)
		die("DISK", "no memory");
	a->area[a->n++] = (struct area){ off, off + len, rate };
}

/* A word that has one number; false when it is none of them. */
static bool
number(const char *word, double value)
{
	const struct { const char *name; uint64_t *to; } bytes[] = {
		{ "size", &disk.size }, { "physical", &disk.physical },
		{ "above", &disk.above }, { "grow", &disk.grow },
		{ "tries", &disk.tries }, { "stop", &disk.stop },
		{ "servers", &disk.servers },
	};
	const struct { const char *name; int64_t *to; } times[] = {
		{ "overhead", &disk.overhead }, { "latency", &disk.latency },
		{ "jump", &disk.jump }, { "error", &disk.error },
	};
	size_t i;

	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		if (strcmp(word, bytes[i].name) == 0)
			return *bytes[i].to = (uint64_t)value, true;
	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (strcmp(word, times[i].name) == 0)
			return *times[i].to = (int64_t)(value *
			    (double)ns_per_us), true;
	if (strcmp(word, "rate") == 0)
		return disk.rate = value, true;
	if (strcmp(word, "limit") == 0)
		return disk.limit = (int64_t)value * ns_per_s, true;
	return false;
}

static void
line_of(const char *line)
{
	char word[16];
	double a, b = 0, c = 0;
	int n = sscanf(line, "%15s %lf %lf %lf", word, &a, &b, &c);

	if (n == 3 && strcmp(word, "bad") == 0)
		add(&disk.bad, (uint64_t)a, (uint64_t)b, 0);
	else if (n == 4 && strcmp(word, "slow") == 0)
		add(&disk.slow, (uint64_t)a, (uint64_t)b, c);
	else if (n != 2 || !number(word, a))
		die(line, "not a line of DISK");
}

static void
read_disk_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[256];

	if (f == NULL)
		die(path, strerror(errno));
	while (fgets(line, sizeof(line), f) != NULL)
		line_of(line);
	fclose(f);
}

static void
find(const char *name, struct stat *st)
{
	const char *path = getenv(name);

	if (path == NULL || stat(path, st) != 0)
		die(name, "no such file");
}

__attribute__((constructor)) static void
begin(void)
{
	const char *path = getenv("DISK"), *reads = getenv("READS");
	uint64_t good;
	size_t i;

	if (path == NULL)
		die("DISK", "not given");
	find("SOURCE", &source);
	find("TARGET", &target);
	read_disk_file(path);
	if (disk.size == 0 || (uint64_t)source.st_size != disk.size)
		die("SOURCE", "not as large as the disk");
	if (disk.servers < 1 || disk.servers > SERVERS)
		die("DISK", "too many servers");
	good = disk.size / SECTOR;
	for (i = 0; i < disk.bad.n && disk.tries + disk.above == 0; i++)
		good -= (disk.bad.area[i].end - disk.bad.area[i].off) / SECTOR;
	figures_begin(disk.size / SECTOR, good);
	if (disk.tries > 0 && (disk.tried = calloc((size_t)(disk.size /
	    SECTOR), 1)) == NULL)
		die("DISK", "no memory");
	trace = reads != NULL ? fopen(reads, "w") : NULL;
	sysfs = getenv("SYSFS");
	if (sysfs != NULL && (sysfs = strdup(sysfs)) == NULL)
		die("SYSFS", "no memory");	/* a title goes over it */
}

UNCONFINED(true)
