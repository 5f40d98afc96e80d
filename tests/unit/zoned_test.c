/*
 * A zoned disk as a target: what may be written to it, and what is.  The disk
 * is made up here: four zones of 1 MiB, the first of which takes any order; the
 * others have blocks for 768 KiB.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/blkzoned.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/end/backend.h"
#include "base/status.h"
#include "cli/opts.h"

#define MIB	((size_t)1 << 20)

enum {
	ZONES = 4, SECTOR = 512,
	SECTORS = MIB / SECTOR,		/* of a zone */
	ROOM = 3 * MIB / 4,
};

static struct {
	struct blk_zone zone[ZONES];
	int	 read_only;
	unsigned block;
	unsigned resets;
	uint64_t reset_at[ZONES];	/* sectors */
} disk;

static char name[32];
static struct endpoint end, source;
static struct lane lane;
static struct io io;
static struct fault f;
static unsigned char buf[2 * MIB] __attribute__((aligned(4096)));

/* -------------------------------------------- in the place of the C library */

static int
report(struct blk_zone_report *r)
{
	uint64_t first = r->sector / SECTORS, n = ZONES - first;

	n = first > ZONES ? 0 : n < r->nr_zones ? n : r->nr_zones;
	memcpy(r->zones, disk.zone + first, n * sizeof(disk.zone[0]));
	r->nr_zones = (unsigned)n;
	r->flags = BLK_ZONE_REP_CAPACITY;
	return 0;
}

int
ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	(void)fd;
	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	switch (request) {
	case BLKROGET:
		*(int *)arg = disk.read_only;
		return 0;
	case BLKPBSZGET:
		*(unsigned *)arg = disk.block;
		return 0;
	case BLKGETSIZE64:
		*(uint64_t *)arg = (uint64_t)ZONES * MIB;
		return 0;
	case BLKREPORTZONE:
		return report(arg);
	case BLKRESETZONE:
		disk.reset_at[disk.resets++] =
		    ((struct blk_zone_range *)arg)->sector;
		return 0;
	}
	errno = ENOTTY;
	return -1;
}

/* Not every folder for temporary files knows O_DIRECT. */
int
open(const char *path, int flags, ...)
{
	return openat(AT_FDCWD, path, flags & ~O_DIRECT);
}

/* The same, as it is called where it is checked for a mode that is missing. */
int __open64_2(const char *, int);	/* NOLINT(bugprone-reserved-*,cert-*) */
int
__open64_2(const char *path, int flags)	/* NOLINT(bugprone-reserved-*,cert-*) */
{
	return open(path, flags);
}

/* ------------------------------------------------------------- what is done */

static int
set_up(void **state)
{
	unsigned i;

	(void)state;
	memset(&disk, 0, sizeof(disk));
	disk.block = 4096;
	for (i = 0; i < ZONES; i++)
		disk.zone[i] = (struct blk_zone){
			.start = (uint64_t)i * SECTORS, .len = SECTORS,
			.wp = (uint64_t)i * SECTORS,
			.type = i == 0 ? BLK_ZONE_TYPE_CONVENTIONAL :
			    BLK_ZONE_TYPE_SEQWRITE_REQ,
			.cond = i == 0 ? BLK_ZONE_COND_NOT_WP :
			    BLK_ZONE_COND_EMPTY,
			.capacity = i == 0 ? SECTORS : ROOM / SECTOR };
	strcpy(name, "/tmp/pardd-zoned.XXXXXX");
	end = (struct endpoint){ .be = &zoned_backend, .name = name,
		.fd = mkstemp(name), .dir = -1, .layer = -1,
		.spec.role = TARGET };
	source = (struct endpoint){ .kind = END_FILE, .name = "source" };
	return end.fd < 0 || ftruncate(end.fd, (off_t)ZONES * MIB) != 0;
}

static int
tear_down(void **state)
{
	(void)state;
	close(end.fd);
	return unlink(name);
}

static void
opened(void)
{
	assert_int_equal(end.be->open(&end, false, &f), 0);
}

static void
written_in(unsigned zone, uint64_t bytes)
{
	disk.zone[zone].wp += bytes / SECTOR;
	disk.zone[zone].cond = BLK_ZONE_COND_CLOSED;
}

static int
range(uint64_t from, uint64_t to)
{
	f.status = 0;
	return end.be->check_range(&end, from, to, &source, 0, &f);
}

static void
is_a_disk(void **state)
{
	(void)state;
	opened();
	assert_true(end.is.zoned);
	assert_true(end.is.durable);
	assert_true(end.is.past_cache);
	assert_int_equal(end.geo.block, 4096);
	assert_int_equal(end.geo.size, ZONES * MIB);
	assert_int_equal(endpoint_close(&end), 0);
}

static void
refused(int status)
{
	assert_int_equal(end.be->open(&end, false, &f), -1);
	assert_int_equal(f.status, status);
}

static void
is_refused(void **state)
{
	(void)state;
	disk.read_only = 1;
	refused(STATUS_ERRNO + EROFS);
	disk.read_only = 0;
	disk.block = 256;
	refused(STATUS_FILE);
	disk.block = 4096;
	disk.zone[2].start++;			/* a gap */
	refused(STATUS_FILE);
	disk.zone[2].start--;
	disk.zone[2].cond = BLK_ZONE_COND_CLOSED;
	disk.zone[2].wp = disk.zone[2].start - 1;
	refused(STATUS_FILE);
}

static void
keeps_what_is_written(void **state)
{
	(void)state;
	written_in(0, 4096);			/* says nothing there */
	written_in(2, 4096);
	opened();
	assert_int_equal(range(0, 2 * MIB), 0);
	assert_int_equal(range(0, 3 * MIB), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	end.spec.flags = FLAG_RESET;
	assert_int_equal(range(0, 3 * MIB), 0);
	assert_int_equal(end.be->prepare(&end, -1, &f), 0);
	assert_int_equal(disk.resets, 1);
	assert_int_equal(disk.reset_at[0], 2 * SECTORS);
	end.spec.flags = 0;
	end.spec.rescue = true;
	assert_int_equal(range(0, MIB), -1);
	end.spec.rescue = false;
	end.spec.flags = FLAG_SPARING;
	assert_int_equal(range(0, MIB), -1);
	assert_int_equal(endpoint_close(&end), 0);
}

static void
writes(uint64_t off, size_t len)
{
	io = (struct io){ .op = OP_WRITE, .buf = buf, .off = off, .len = len };
	end.be->transfer(&lane, &io);
}

/* What is no block is left out if it is zeros. */
static void
leaves_out_zeros_behind_the_room(void **state)
{
	unsigned char back[2];

	(void)state;
	opened();
	assert_int_equal(range(0, 3 * MIB), 0);
	assert_int_equal(end.be->prepare(&end, -1, &f), 0);
	lane = (struct lane){ .ep = &end, .halt = -1 };
	memset(buf, 0, sizeof(buf));
	memset(buf, 1, ROOM);
	buf[MIB] = 2;
	writes(MIB, 2 * MIB);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 2 * MIB);
	assert_int_equal(pread(end.fd, back, 1, MIB + ROOM - 1), 1);
	assert_int_equal(back[0], 1);
	assert_int_equal(pread(end.fd, back, 1, 2 * MIB), 1);
	assert_int_equal(back[0], 2);
	buf[ROOM] = 1;
	writes(MIB, MIB);
	assert_int_equal(io.err, ENOSPC);
	assert_int_equal(io.done, ROOM);
	assert_non_null(strstr(io.why, "not zeros"));
	writes(0, MIB);				/* all of the first is room */
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, MIB);
	io.op = OP_ZERO;
	io.done = 0;
	end.be->transfer(&lane, &io);
	assert_int_equal(io.err, EOPNOTSUPP);
	assert_int_equal(endpoint_close(&end), 0);
}

#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT(is_a_disk),
		UNIT(is_refused),
		UNIT(keeps_what_is_written),
		UNIT(leaves_out_zeros_behind_the_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
