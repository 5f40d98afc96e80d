/*
 * pace: the time one disk needs by itself, the ideal of a copy.
 *
 *	pace r|w FILE
 *
 * Reads or writes the whole of FILE, a block device or a file that has its
 * size, 16 requests of 1 MiB deep and past the page cache where it can be;
 * flushes what it wrote and prints the seconds.  What it writes is no zeros.
 *
 * One thread and the kernel's asynchronous I/O, so that requests go out in
 * ascending order: a thread pool would shuffle them, and a disk that charges
 * for jumps would make the ideal too slow.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { DEPTH = 16, PIECE = 1 << 20 };

struct sweep {
	int fd;
	uint16_t opcode;
	uint64_t size;
	uint64_t next;			/* where the next request begins */
	aio_context_t ctx;
	struct iocb slots[DEPTH];
};

static _Alignas(4096) char buffers[DEPTH][PIECE];	/* one per slot */

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Start the next request in a slot; 0 when there is none left. */
static int
start(struct sweep *s, uint64_t slot)
{
	struct iocb *io = &s->slots[slot];
	uint64_t left = s->size - s->next;

	if (left == 0)
		return 0;
	*io = (struct iocb){
		.aio_data = slot,
		.aio_lio_opcode = s->opcode,
		.aio_fildes = (uint32_t)s->fd,
		.aio_buf = (uint64_t)(uintptr_t)buffers[slot],
		.aio_nbytes = left < PIECE ? left : PIECE,
		.aio_offset = (int64_t)s->next,
	};
	s->next += io->aio_nbytes;
	if (syscall(SYS_io_submit, s->ctx, 1L, &io) != 1)
		err(1, "io_submit");
	return 1;
}

/* Wait for one request and return its slot. */
static uint64_t
finish(struct sweep *s)
{
	struct io_event e;

	while (syscall(SYS_io_getevents, s->ctx, 1L, 1L, &e, NULL) != 1)
		if (errno != EINTR)
			err(1, "io_getevents");
	if (e.res < 0) {
		errno = (int)-e.res;
		err(1, "transfer");
	}
	if ((uint64_t)e.res != s->slots[e.data].aio_nbytes)
		errx(1, "a short transfer");
	return e.data;
}

static void
sweep(struct sweep *s)
{
	uint64_t slot;
	int busy = 0;

	for (slot = 0; slot < DEPTH; slot++)
		busy += start(s, slot);
	while (busy > 0)
		busy += start(s, finish(s)) - 1;
}

static void
prepare(struct sweep *s, const char *path)
{
	int mode = s->opcode == IOCB_CMD_PREAD ? O_RDONLY : O_RDWR;
	off_t end;

	s->fd = open(path, mode | O_DIRECT);
	if (s->fd < 0 && errno == EINVAL)
		s->fd = open(path, mode);	/* a file system without it */
	end = lseek(s->fd, 0, SEEK_END);
	if (end < 0)
		err(1, "%s", path);
	s->size = (uint64_t)end;
	memset(buffers, 0xa5, sizeof(buffers));
	if (syscall(SYS_io_setup, (long)DEPTH, &s->ctx) < 0)
		err(1, "io_setup");
}

int
main(int argc, char **argv)
{
	struct sweep s = { 0 };
	double began;

	if (argc != 3 ||
	    (strcmp(argv[1], "r") != 0 && strcmp(argv[1], "w") != 0))
		errx(2, "usage: pace r|w FILE");
	s.opcode = argv[1][0] == 'r' ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
	prepare(&s, argv[2]);
	began = now();
	sweep(&s);
	if (s.opcode == IOCB_CMD_PWRITE && fsync(s.fd) < 0)
		err(1, "%s", argv[2]);
	printf("%.4f\n", now() - began);
	return 0;
}
