/*
 * Reading back past the page cache, on mock file systems and kernels: whether
 * there is O_DIRECT, and whether it is known what is cached.
 */
#include "test.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "end/backend.h"

#ifndef SYS_cachestat
#define SYS_cachestat	451
#endif

enum { PAGE = 4096, SHORT = 3 * PAGE, LENGTH = 10 * PAGE + 100 };

static struct {
	bool	 memory;	/* the file is in tmpfs */
	bool	 overlay;	/* ... is on an overlay */
	int	 no_direct;	/* why it cannot be opened so; or 0 */
	bool	 refuses;	/* ... can, and then reads fail with EINVAL */
	int64_t	 cached;	/* pages; -1: no such system call */
	int	 resident;	/* the same of mincore; -1 */
	unsigned busy;		/* reads that are to be tried again */
	int	 error;		/* of other reads, or 0 */
	unsigned reads, dropped, random;
	unsigned align;		/* of direct reads, as statx tells; 0: not */
	int	 block;		/* of the device; 0: not told */
} kernel;

static char name[] = "/tmp/pardd-readback.XXXXXX";
static unsigned char content[LENGTH];
static unsigned char buf[LENGTH + PAGE] __attribute__((aligned(4096)));
static struct endpoint target, back;
static struct lane lane;
static struct io io;

/* -------------------------------------------- in the place of the C library */

/* What is asked for by its number is cachestat alone, here. */
long
syscall(long number, ...)
{
	va_list ap;
	uint64_t *pages;

	assert_int_equal(number, SYS_cachestat);
	va_start(ap, number);
	(void)va_arg(ap, int);
	(void)va_arg(ap, void *);
	pages = va_arg(ap, void *);
	va_end(ap);
	if (kernel.cached < 0) {
		errno = ENOSYS;
		return -1;
	}
	pages[0] = (uint64_t)kernel.cached;
	return 0;
}

int
mincore(void *at, size_t len, unsigned char *there)
{
	if (kernel.resident < 0) {
		errno = EPERM;
		return -1;
	}
	memset(there, 0, (len + PAGE - 1) / PAGE);
	memset(there, 1, (size_t)kernel.resident);
	return 0;
}

int
posix_fadvise(int fd, off_t off, off_t len, int advice)
{
	kernel.dropped += advice == POSIX_FADV_DONTNEED;
	kernel.random += advice == POSIX_FADV_RANDOM;
	return 0;
}

int
statx(int dir, const char *path, int flags, unsigned mask, struct statx *x)
{
	*x = (struct statx){ .stx_mask = mask };
#ifdef STATX_DIOALIGN
	x->stx_mask = kernel.align > 0 ? STATX_DIOALIGN : 0;
	x->stx_dio_offset_align = kernel.align > 0 ? kernel.align : 65536;
#endif
	return 0;
}

int
ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	assert_int_equal(request, BLKSSZGET);
	errno = ENOTTY;
	if (kernel.block == 0)
		return -1;
	va_start(ap, request);
	*va_arg(ap, int *) = kernel.block;
	va_end(ap);
	return 0;
}

int
fstatfs(int fd, struct statfs *fs)
{
	*fs = (struct statfs){ .f_type = kernel.memory ? TMPFS_MAGIC :
	    kernel.overlay ? OVERLAYFS_SUPER_MAGIC : EXT4_SUPER_MAGIC };
	return 0;
}

int
open(const char *path, int flags, ...)
{
	if ((flags & O_DIRECT) == 0 || kernel.no_direct == 0)
		return openat(AT_FDCWD, path, flags & ~O_DIRECT);
	errno = kernel.no_direct;
	return -1;
}

/* The same, as it is called where it is checked for a mode that is missing. */
int __open64_2(const char *, int);	/* NOLINT(bugprone-reserved-*,cert-*) */
int
__open64_2(const char *path, int flags)	/* NOLINT(bugprone-reserved-*,cert-*) */
{
	return open(path, flags);
}

/* The first descriptor that reads is the direct one. */
ssize_t
pread(int fd, void *to, size_t len, off_t off)
{
	static int direct = -1;

	if (kernel.reads++ == 0)
		direct = fd;
	errno = EAGAIN;
	if (kernel.busy > 0 && kernel.busy-- > 0)
		return -1;
	errno = kernel.error;
	if (kernel.error != 0)
		return -1;
	errno = EINVAL;
	if (kernel.refuses && fd == direct)
		return -1;
	if (off >= LENGTH)
		return 0;
	if ((size_t)(LENGTH - off) < len)
		len = (size_t)(LENGTH - off);
	if (len > SHORT && kernel.align <= PAGE)
		len = SHORT;		/* as reads may be */
	memcpy(to, content + off, len);
	return (ssize_t)len;
}

/* ------------------------------------------------------------- what is done */

static int view_error, free_fd;

/* The descriptor that the next to be opened gets. */
static int
next_fd(void)
{
	int fd = 0;

	while (fcntl(fd, F_GETFD) >= 0)
		fd++;
	return fd;
}

static int
view(const struct endpoint *ep, bool *cached)
{
	*cached = false;
	errno = view_error;
	return view_error != 0 ? -1 : openat(AT_FDCWD, ep->name,
	    O_RDONLY | O_CLOEXEC);
}

static const struct backend backend = { .view = view,
	.open_readback = file_readback };

static int
set_up(void **state)
{
	size_t i;

	memset(&kernel, 0, sizeof(kernel));
	view_error = 0;
	free_fd = next_fd();
	for (i = 0; i < LENGTH; i++)
		content[i] = (unsigned char)(i * 7 + i / 256);
	target = (struct endpoint){ .be = &backend, .name = name, .fd = -1,
		.dir = -1, .spec.timeout = 30 };
	return 0;
}

EACH(set_up, NULL)

static int
make_file(void **state)
{
	int fd = mkstemp(name);

	return fd < 0 || close(fd) != 0;
}

static int
remove_file(void **state)
{
	return unlink(name);
}

ONCE(make_file, remove_file)

/* Opened, and all of it read; returns whether that is what is there. */
static bool
reads_all(void)
{
	struct fault f;
	bool right;

	assert_int_equal(endpoint_readback(&back, &target, UINT32_MAX, &f), 0);
	assert_int_equal(lane_attach(&lane, &back, 0, -1), 0);
	memset(buf, 0, sizeof(buf));
	io = (struct io){ .op = OP_READ, .buf = buf, .len = LENGTH };
	lane_transfer(&lane, &io);
	right = io.err == 0 && io.done == LENGTH &&
	    memcmp(buf, content, LENGTH) == 0;
	assert_int_equal(lane_detach(&lane), 0);
	return right;
}

static void
close_it(void)
{
	assert_int_equal(endpoint_close(&back), 0);
	assert_int_equal(next_fd(), free_fd);
}

/* -1 with *f, and nothing to close. */
static void
refused(int status, const char *words)
{
	struct fault f;

	assert_int_equal(endpoint_readback(&back, &target, UINT32_MAX, &f), -1);
	assert_int_equal(f.status, status);
	assert_non_null(strstr(f.text, words));
	assert_int_equal(next_fd(), free_fd);
}

CASE(reads_memory_as_it_is)
{
	kernel.memory = true;
	kernel.cached = 11;
	assert_true(reads_all());
	assert_int_equal(back.geo.io_align, 1);
	assert_int_equal(kernel.dropped, 0);
	close_it();
}

CASE(reads_past_the_cache)
{
	kernel.busy = 2;
	assert_true(reads_all());
	assert_true(back.geo.io_align >= PAGE);
	assert_int_equal(kernel.dropped, 1);	/* it may be read through it */
	/* 3 pages each, and one that finds the end */
	assert_true(kernel.reads >= 2 + 4);
	assert_int_equal(kernel.random, 0);
	close_it();
}

/* In units of the file system, or of the device. */
CASE(reads_whole_units)
{
#ifdef STATX_DIOALIGN
	kernel.align = 512;
	assert_true(reads_all());
	assert_int_equal(back.geo.io_align, PAGE);
	close_it();
	kernel.align = 16384;
	assert_true(reads_all());
	assert_int_equal(back.geo.io_align, 16384);
	close_it();
	kernel.align = 0;		/* it does not tell */
#endif
	assert_true(reads_all());
	assert_int_equal(back.geo.io_align, PAGE);
	close_it();
	target.is.device = true;
	kernel.block = 512;
	assert_true(reads_all());
	assert_int_equal(back.geo.io_align, 512);
	assert_int_equal(kernel.dropped, 3);	/* not of a device */
	close_it();
	kernel.block = 0;
	assert_true(reads_all());
	assert_int_equal(back.geo.io_align, PAGE);
	close_it();
	kernel.no_direct = EINVAL;
	refused(STATUS_REFUSED, "cannot be read past the page cache");
}

CASE(proves_it_where_it_cannot)
{
	kernel.no_direct = EINVAL;
	assert_true(reads_all());
	assert_int_equal(kernel.dropped, 1);
	assert_int_equal(kernel.random, 1);	/* nothing is read ahead */
	close_it();
	kernel.no_direct = EOPNOTSUPP;
	kernel.cached = -1;		/* Linux before 6.5 */
	assert_true(reads_all());
	close_it();
}

CASE(believes_no_cached_page)
{
	kernel.no_direct = EINVAL;
	kernel.cached = 1;
	assert_false(reads_all());
	assert_int_equal(io.err, EBUSY);
	assert_int_equal(io.done, 0);
	assert_int_equal(kernel.reads, 0);
	close_it();
	kernel.cached = -1;
	kernel.resident = 2;
	assert_false(reads_all());
	assert_int_equal(io.err, EBUSY);
	close_it();
	kernel.overlay = true;		/* its pages are counted in a layer */
	kernel.cached = 0;
	assert_false(reads_all());
	assert_int_equal(io.err, EBUSY);
	close_it();
	kernel.resident = 0;
	assert_true(reads_all());
	close_it();
}

CASE(refuses_what_nobody_can_tell)
{
	kernel.no_direct = EINVAL;
	kernel.cached = -1;
	kernel.resident = -1;
	refused(STATUS_REFUSED, "cannot be read past the page cache");
	kernel.no_direct = EACCES;
	refused(status_errno(EACCES), "opening it to read it back");
	view_error = EMFILE;
	refused(status_errno(EMFILE), "opening it to read it back");
}

/* A file system that takes the flag, and refuses all reads. */
CASE(proves_it_where_reads_are_refused)
{
	kernel.refuses = true;
	assert_true(reads_all());
	assert_int_equal(kernel.dropped, 2);
	close_it();
	kernel.reads = 0;
	kernel.cached = 1;
	assert_false(reads_all());
	assert_int_equal(io.err, EBUSY);
	close_it();
	kernel.reads = 0;
	kernel.cached = kernel.resident = -1;
	assert_false(reads_all());
	assert_int_equal(io.err, EINVAL);
	close_it();
}

CASE(tells_an_error)
{
	kernel.error = EIO;
	assert_false(reads_all());
	assert_int_equal(io.err, EIO);
	assert_int_equal(io.done, 0);
	close_it();
}
