/*
 * A zoned disk as a target: what may be written to it, and what is.  The disk
 * is a mock: four zones of 1 MiB, the first of which takes any order; the
 * others have blocks for 768 KiB.
 */
#undef _FORTIFY_SOURCE		/* calls of the kernel are the test's own */
#include "test.h"

#include <linux/blkzoned.h>
#include <linux/fs.h>

#include "end/backend.h"
#include "cli/opts.h"
#include "kernel.h"
#define POOR_OF_ALL
#include "poor.h"

#define MIB	((size_t)1 << 20)

enum {
	ZONES = 4, SECTOR = 512,
	SECTORS = MIB / SECTOR,		/* of a zone */
	ROOM = 3 * MIB / 4,
};

static struct {
	struct blk_zone zone[ZONES], like[ZONES];	/* of the source */
	int	 read_only;
	uint64_t bytes;
	unsigned most;			/* zones that it says it reports */
	unsigned block;
	unsigned resets;
	uint64_t reset_at[ZONES];	/* sectors */
} disk;

static char name[32];
static struct endpoint end, source;
static struct lane lane;
static struct io io;
static struct fault f;
static int like_fd;
static bool source_is_there;
static unsigned char buf[2 * MIB] __attribute__((aligned(4096)));

/* -------------------------------------------- in the place of the kernel */

static int
report(struct blk_zone_report *r, const struct blk_zone *zone)
{
	uint64_t first = r->sector / SECTORS, n = ZONES - first;

	n = first > ZONES ? 0 : n < r->nr_zones ? n : r->nr_zones;
	memcpy(r->zones, zone + first, n * sizeof(zone[0]));
	r->nr_zones = disk.most > 0 ? disk.most : (unsigned)n;
	r->flags = BLK_ZONE_REP_CAPACITY;
	return 0;
}

static int
answer(int fd, unsigned long request, void *arg)
{
	switch (request) {
	case BLKROGET:
		*(int *)arg = disk.read_only;
		return 0;
	case BLKPBSZGET:
		*(unsigned *)arg = disk.block;
		return 0;
	case BLKGETSIZE64:
		*(uint64_t *)arg = disk.bytes;
		return 0;
	case BLKREPORTZONE:
		return report(arg, fd == like_fd ? disk.like : disk.zone);
	case BLKRESETZONE:
		disk.reset_at[disk.resets++] =
		    ((struct blk_zone_range *)arg)->sector;
		return 0;
	}
	return ENOTTY;
}

/* The source has a descriptor for this, or none. */
static int
view(const struct endpoint *ep, bool *cached)
{
	*cached = false;
	errno = EMFILE;
	return like_fd = source_is_there ? dup(end.fd) : -1;
}

static const struct backend like_backend = { .view = view };

/* ------------------------------------------------------------- what is done */

static int
set_up(void **state)
{
	unsigned i;

	memset(&kernel, 0, sizeof(kernel));
	memset(&disk, 0, sizeof(disk));
	kernel.answer = answer;
	disk.block = 4096;
	disk.bytes = (uint64_t)ZONES * MIB;
	like_fd = -1;
	source_is_there = true;
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
		.spec = { .role = TARGET, .timeout = 30 } };
	source = (struct endpoint){ .kind = END_FILE, .name = "source",
		.be = &like_backend };
	return end.fd < 0 || ftruncate(end.fd, (off_t)ZONES * MIB) != 0;
}

static int
tear_down(void **state)
{
	close(end.fd);
	end_sysfs();
	return unlink(name);
}

EACH(set_up, tear_down)

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

CASE(is_a_disk)
{
	opened();
	assert_true(end.is.zoned);
	assert_true(end.is.durable);
	assert_true(end.is.past_cache);
	assert_int_equal(end.geo.block, 4096);
	assert_int_equal(end.geo.size, ZONES * MIB);
	assert_int_equal(endpoint_close(&end), 0);
}

static void
cannot_be(int status)
{
	unsigned were = count_open();

	f = (struct fault){ 0 };
	assert_int_equal(end.be->open(&end, false, &f), -1);
	if (f.status != status)
		fail_msg("%d: %s", f.status, f.text);
	assert_int_equal(count_open(), were);
}

CASE(is_refused)
{
	disk.read_only = 1;
	cannot_be(STATUS_ERRNO + EROFS);
	disk.read_only = 0;
	disk.block = 256;
	cannot_be(STATUS_FILE);
	disk.block = 4096;
	disk.zone[2].start++;			/* a gap */
	cannot_be(STATUS_FILE);
	disk.zone[2].start--;
	disk.zone[2].cond = BLK_ZONE_COND_CLOSED;
	disk.zone[2].wp = disk.zone[2].start - 1;
	cannot_be(STATUS_FILE);
	disk.zone[2].wp = disk.zone[2].start;
	disk.most = BLK_ZONE_REP_CAPACITY << 10;	/* more than it was asked for */
	cannot_be(STATUS_ERRNO + ENOTTY);
	disk.most = 0;
	disk.zone[0].start = INT64_MAX;
	cannot_be(STATUS_FILE);
	disk.zone[0].start = 0;
	disk.zone[0].len = INT64_MAX;
	cannot_be(STATUS_FILE);
	disk.zone[0].len = 0;
	cannot_be(STATUS_FILE);
	disk.zone[0].len = SECTORS;
	disk.block = 128 << 10;
	cannot_be(STATUS_FILE);
	disk.block = 4096;
	disk.bytes = (uint64_t)INT64_MAX + 1;
	cannot_be(STATUS_FILE);
	disk.bytes = (uint64_t)ZONES * MIB;
	deny("ioctl", BLKROGET, 0, ENOTTY);
	opened();
	assert_int_equal(endpoint_close(&end), 0);
}

CASE(says_what_the_kernel_refuses)
{
	static const struct { const char *call; unsigned long what; } all[] = {
		{ "open", 0 }, { "ioctl", BLKPBSZGET },
		{ "ioctl", BLKGETSIZE64 }, { "ioctl", BLKREPORTZONE },
	};

	EACH_OF(i, all) {
		deny_nothing();
		deny(all[i].call, all[i].what, 0, EACCES);
		kernel.denial[0].times = EVER;
		cannot_be(STATUS_ERRNO + EACCES);
	}
	deny_nothing();
	written_in(1, 4096);
	opened();
	end.spec.flags = FLAG_RESET;
	assert_int_equal(range(0, 3 * MIB), 0);
	deny("open", O_DIRECT, 0, EBUSY);
	deny("open", O_DIRECT, 0, EBUSY);
	assert_int_equal(end.be->prepare(&end, -1, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EBUSY);
	deny("ioctl", BLKRESETZONE, 0, EACCES);
	assert_int_equal(end.be->prepare(&end, -1, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EACCES);
	assert_non_null(strstr(f.text, "resetting its zones"));
	assert_int_equal(disk.resets, 0);
	deny_nothing();
	deny("fdatasync", 0, 0, EIO);
	assert_int_equal(end.be->flush(&end, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EIO);
	assert_int_equal(end.be->flush(&end, &f), 0);
	deny("close", 0, 0, EIO);
	assert_int_equal(endpoint_close(&end), EIO);
}

CASE(needs_memory)
{
	unsigned n = 0, were = count_open();
	int failed;

	do {
		poor_after(n++);
		f = (struct fault){ 0 };
		failed = end.be->open(&end, false, &f);
		if (failed != 0) {
			assert_true(poor_was());
			assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
			assert_int_equal(count_open(), were);
		}
	} while (failed != 0);
	assert_false(poor_was());
#ifdef POOR
	assert_true(n > 3);
#endif
	assert_int_equal(endpoint_close(&end), 0);
}

CASE(keeps_what_is_written)
{
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
CASE(leaves_out_zeros_behind_the_room)
{
	unsigned char back[2];

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
	memset(back, 0, sizeof(back));
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

static void
limited(const char *attribute, unsigned n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u\n", n);
	sysfs_has(attribute, text);
}

/* Of a disk with these limits: how many zones are written at a time. */
static unsigned
writers(unsigned open, unsigned active)
{
	unsigned n;

	limited("queue/max_open_zones", open);
	limited("queue/max_active_zones", active);
	opened();
	assert_int_equal(end.geo.zone, MIB);
	n = end.be->writers(&end, 0, ZONES * MIB, &source, 0);
	assert_int_equal(range(0, ZONES * MIB), n == 0 ? -1 : 0);
	assert_int_equal(f.status, n == 0 ? STATUS_REFUSED : 0);
	assert_int_equal(endpoint_close(&end), 0);
	return n;
}

CASE(is_written_in_several_zones_at_a_time)
{
	opened();				/* nothing is known of it */
	assert_int_equal(end.be->writers(&end, 0, ZONES * MIB, &source, 0), 1);
	assert_int_equal(endpoint_close(&end), 0);
	begin_sysfs();
	end.spec.flags = FLAG_RESET;
	assert_int_equal(writers(3, 0), 3);
	assert_int_equal(writers(0, 2), 2);
	sysfs_has("queue/rotational", "1\n");
	assert_int_equal(writers(3, 0), 1);
	sysfs_has("queue/rotational", "0\n");
	/* what is reset does not count */
	written_in(2, 4096);
	assert_int_equal(writers(3, 3), 3);
	/* what a command has opened does */
	disk.zone[3].cond = BLK_ZONE_COND_EXP_OPEN;
	assert_int_equal(writers(3, 0), 2);
	assert_int_equal(writers(0, 3), 2);
	assert_int_equal(writers(1, 0), 0);
	disk.zone[3].cond = BLK_ZONE_COND_IMP_OPEN;
	assert_int_equal(writers(1, 0), 1);
	assert_int_equal(writers(0, 1), 0);
	disk.zone[3].cond = BLK_ZONE_COND_FULL;
	assert_int_equal(writers(0, 1), 1);
}

/* Who looks at it reads through the page cache, and must leave nothing there. */
CASE(is_looked_at_by_another_descriptor)
{
	bool cached = true;
	int fd;

	opened();
	fd = end.be->view(&end, &cached);
	assert_true(fd >= 0 && fd != end.fd);
	assert_false(cached);
	close(fd);
	assert_int_equal(endpoint_close(&end), 0);
}

CASE(writes_on_after_an_interruption)
{
	make_node(name, S_IFBLK, makedev(8, 0));
	opened();
	assert_int_equal(range(0, 3 * MIB), 0);
	assert_int_equal(end.be->prepare(&end, -1, &f), 0);
	lane = (struct lane){ .ep = &end, .halt = -1 };
	deny("pwrite", 0, 0, EINTR);
	writes(0, MIB);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, MIB);
	deny("pwrite", 0, 0, 0);
	writes(0, MIB);
	assert_int_equal(io.err, EIO);
	deny("pwrite", 0, 0, ENOSPC);
	writes((uint64_t)ZONES * MIB, MIB);	/* behind the last zone */
	assert_int_equal(io.err, ENOSPC);
	deny_nothing();
	disk.bytes = 0;				/* it has gone */
	deny("pwrite", 0, 0, EIO);
	writes(0, MIB);
	assert_int_equal(io.err, ENODEV);
	io = (struct io){ .op = OP_READ, .buf = buf, .len = MIB };
	end.be->transfer(&lane, &io);
	assert_int_equal(io.err, EOPNOTSUPP);
	assert_int_equal(endpoint_close(&end), 0);
}

static void
zoned_source(void)
{
	begin_sysfs();
	sysfs_has("queue/zoned", "host-managed\n");
	memcpy(disk.like, disk.zone, sizeof(disk.like));
	source.kind = END_BLOCK;
}

static int
kept(void)
{
	f = (struct fault){ 0 };
	return end.be->check_kept(&end, 0, 3 * MIB, 0, &f);
}

/* The source has two blocks in its second zone. */
CASE(writes_up_to_the_write_pointers_of_the_source)
{
	zoned_source();
	disk.like[1].wp += 8192 / SECTOR;
	disk.like[1].cond = BLK_ZONE_COND_CLOSED;
	opened();
	assert_int_equal(range(0, 3 * MIB), 0);
	assert_int_equal(end.be->prepare(&end, -1, &f), 0);
	lane = (struct lane){ .ep = &end, .halt = -1 };
	memset(buf, 0, sizeof(buf));
	memset(buf, 1, 8192);
	writes(MIB, MIB);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, MIB);
	buf[8192] = 1;
	writes(MIB, MIB);
	assert_int_equal(io.err, ENOSPC);
	assert_int_equal(io.done, 8192);
	assert_int_equal(kept(), -1);		/* as it says */
	assert_int_equal(f.status, STATUS_MISMATCH);
	written_in(1, 8192);
	assert_int_equal(kept(), 0);
	deny("ioctl", BLKREPORTZONE, 0, EIO);
	assert_int_equal(kept(), -1);
	assert_int_equal(f.status, status_errno(EIO));
	deny("ioctl", BLKREPORTZONE, 2, EIO);	/* of the source */
	assert_int_equal(kept(), -1);
	assert_int_equal(f.status, status_errno(EIO));
	assert_int_equal(endpoint_close(&end), 0);
	/* in a zone of any order all may be written */
	disk.zone[1].type = disk.like[2].type = BLK_ZONE_TYPE_CONVENTIONAL;
	disk.like[1].type = BLK_ZONE_TYPE_CONVENTIONAL;
	disk.zone[2].type = BLK_ZONE_TYPE_CONVENTIONAL;
	opened();
	assert_int_equal(range(0, 3 * MIB), 0);
	assert_int_equal(end.be->prepare(&end, -1, &f), 0);
	writes(MIB, MIB);
	assert_int_equal(io.err, 0);
	assert_int_equal(endpoint_close(&end), 0);
}

CASE(sees_that_a_zone_was_reset)
{
	opened();
	assert_int_equal(range(0, 3 * MIB), 0);
	assert_int_equal(end.be->prepare(&end, -1, &f), 0);
	written_in(1, ROOM);
	written_in(2, ROOM);
	assert_int_equal(kept(), 0);
	disk.zone[1].wp = disk.zone[1].start;
	disk.zone[1].cond = BLK_ZONE_COND_EMPTY;
	assert_int_equal(kept(), -1);
	assert_int_equal(f.status, STATUS_FILE);
	assert_non_null(strstr(f.text, "the zone at byte 1048576 was reset"));
	deny("ioctl", BLKREPORTZONE, 0, EIO);
	assert_int_equal(kept(), -1);
	assert_int_equal(endpoint_close(&end), 0);
}

CASE(keeps_free_what_the_source_leaves_in_part)
{
	zoned_source();
	disk.like[1].wp += 8192 / SECTOR;
	disk.like[1].cond = BLK_ZONE_COND_CLOSED;
	assert_int_equal(writers(0, 3), 3);	/* that is the last */
	disk.like[2].cond = BLK_ZONE_COND_FULL;
	assert_int_equal(writers(0, 3), 2);
	assert_int_equal(writers(0, 1), 0);
	disk.like[3].len = SECTORS / 2;		/* it is refused for this */
	sysfs_has("queue/max_active_zones", "3\n");
	opened();
	assert_int_equal(end.be->writers(&end, 0, ZONES * MIB, &source, 0), 1);
	assert_int_equal(range(0, ZONES * MIB), -1);
	assert_int_equal(endpoint_close(&end), 0);
}

static void
has_another_source(int status)
{
	unsigned were = count_open();

	opened();
	assert_int_equal(range(0, 3 * MIB), status == 0 ? 0 : -1);
	assert_int_equal(f.status, status);
	assert_int_equal(endpoint_close(&end), 0);
	assert_int_equal(count_open(), were);
	deny_nothing();
}

CASE(has_its_zones_as_a_zoned_source)
{
	zoned_source();
	has_another_source(0);
	source_is_there = false;		/* it cannot be asked */
	has_another_source(status_errno(EMFILE));
	source_is_there = true;
	deny("ioctl", BLKREPORTZONE, 2, EIO);
	has_another_source(status_errno(EIO));
	disk.like[2].len -= 8;
	disk.like[3].start -= 8;
	disk.like[3].len += 8;
	has_another_source(STATUS_REFUSED);
	sysfs_has("queue/zoned", "none\n");
	has_another_source(0);
	source.kind = END_FILE;
	has_another_source(0);
}
