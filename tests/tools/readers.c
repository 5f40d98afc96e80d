/*
 * readers: threads that read a file by dice, and compare with a model.
 *
 *	readers FILE MODEL BAD THREADS TIMES SEED [end]
 *
 * Each thread reads TIMES ranges of FILE: small and large ones, in a row and at
 * random, around the bad ranges (BAD is OFF+LEN,... or -) and beyond the end, by
 * pread(2), with O_DIRECT, and through mmap(2).  What is read has to be that of
 * MODEL.  A read fails, with EIO, if and only if a page that it touches has bad
 * bytes; with "end" any may, from the first on that fails elsewhere, because the
 * file has ended.  Prints the reads that were good, and that failed; status 1
 * if one was wrong.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096, MOST = 256 << 10, BADS = 64, THREADS = 16 };

static struct { uint64_t off, len; } bad[BADS];
static size_t bads;
static const unsigned char *model;
static uint64_t size;
static const char *path;
static pthread_barrier_t opened;	/* the file may soon be gone */
static unsigned long times;
static bool ends;
static atomic_bool ended;
static atomic_ulong good, failed, wrong;

static uint64_t
dice(uint64_t *x, uint64_t n)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x % n;
}

static bool
touches_bad(uint64_t off, uint64_t len)
{
	uint64_t from = off / PAGE * PAGE, to = (off + len + PAGE - 1) / PAGE *
	    PAGE;
	size_t i;

	for (i = 0; i < bads; i++)
		if (from < bad[i].off + bad[i].len && bad[i].off < to)
			return true;
	return false;
}

/* What came of a read of len bytes: n, or -1 with an error. */
static void
judge(const char *how, uint64_t off, uint64_t len, ssize_t n,
    const unsigned char *buf)
{
	uint64_t want = off >= size ? 0 : size - off < len ? size - off : len;
	int error = errno;
	bool lost = want > 0 && touches_bad(off, want);

	if (n >= 0 && memcmp(buf, model + off, (size_t)n) != 0) {
		warnx("%s of %llu+%llu: wrong data", how,
		    (unsigned long long)off, (unsigned long long)len);
		wrong++;
	} else if (n == (ssize_t)want && !lost) {
		good++;
	} else if (ends && (ended || !lost || (n < 0 && (error == ENOTCONN ||
	    error == ECONNABORTED)))) {
		ended = true;
		failed++;
	} else if (lost && (n < 0 ? error == EIO || error == EFAULT :
	    !touches_bad(off, (uint64_t)n) && n < (ssize_t)want)) {
		failed++;
	} else {
		warnx("%s of %llu+%llu: %zd, %s", how, (unsigned long long)off,
		    (unsigned long long)len, n, n < 0 ? strerror(error) : "");
		wrong++;
	}
}

/* A page that cannot be read makes write(2) fail with EFAULT. */
static ssize_t
copied(int to, const unsigned char *map, uint64_t off, uint64_t len,
    unsigned char *buf)
{
	ssize_t n;

	if (off >= size)
		return 0;
	if (len > size - off)
		len = size - off;
	n = pwrite(to, map + off, len, 0);
	return n <= 0 ? n : pread(to, buf, (size_t)n, 0);
}

static void *
thread(void *arg)
{
	uint64_t x = 0x9e3779b97f4a7c15 * (1 + (uint64_t)(uintptr_t)arg);
	int fd = open(path, O_RDONLY), direct = open(path, O_RDONLY | O_DIRECT);
	int to = memfd_create("copy", 0);
	unsigned char *map, *buf = aligned_alloc(PAGE, MOST);
	uint64_t off = 0, len;
	unsigned long i;
	size_t b;

	if (fd < 0 || to < 0 || buf == NULL)
		err(2, "%s", path);
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		err(2, "mmap");
	pthread_barrier_wait(&opened);
	for (i = 0; i < times; i++) {
		len = 1 + dice(&x, dice(&x, 3) == 0 ? MOST : 3 * PAGE);
		if (bads > 0 && dice(&x, 3) == 0) {
			b = dice(&x, bads);
			off = bad[b].off + dice(&x, bad[b].len + 4 * PAGE);
			off -= dice(&x, off < 8 * PAGE ? off + 1 : 8 * PAGE);
		} else if (dice(&x, 2) == 0) {
			off = dice(&x, size + PAGE);
		}
		errno = 0;
		switch (dice(&x, direct < 0 ? 2 : 3)) {
		case 0:
			judge("read", off, len, pread(fd, buf, len, (off_t)off),
			    buf);
			break;
		case 1:
			judge("mapping", off, len, copied(to, map, off, len,
			    buf), buf);
			break;
		default:
			off -= off % PAGE;
			len = (len + PAGE - 1) / PAGE * PAGE;
			judge("direct read", off, len, pread(direct, buf, len,
			    (off_t)off), buf);
		}
		off += len;
	}
	free(buf);
	return NULL;
}

int
main(int argc, char *argv[])
{
	pthread_t t[THREADS];
	unsigned long threads, i;
	struct stat st;
	char *rest;
	int fd;

	if (argc < 7)
		errx(2, "usage: readers FILE MODEL BAD THREADS TIMES SEED [end]");
	path = argv[1];
	fd = open(argv[2], O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0)
		err(2, "%s", argv[2]);
	size = (uint64_t)st.st_size;
	model = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (model == MAP_FAILED)
		err(2, "mmap");
	for (rest = argv[3]; *rest != '-' && *rest != '\0' && bads < BADS;
	    bads++) {
		bad[bads].off = strtoull(rest, &rest, 10);
		bad[bads].len = strtoull(rest + 1, &rest, 10);
		rest += *rest == ',';
	}
	threads = strtoul(argv[4], NULL, 10);
	times = strtoul(argv[5], NULL, 10);
	ends = argc > 7;
	if (threads < 1 || threads > THREADS)
		errx(2, "1 to %d threads", THREADS);
	pthread_barrier_init(&opened, NULL, (unsigned)threads);
	for (i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)(uintptr_t)
		    (strtoul(argv[6], NULL, 10) * THREADS + i)) != 0)
			err(2, "pthread_create");
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%lu %lu\n", (unsigned long)good, (unsigned long)failed);
	return wrong > 0;
}
