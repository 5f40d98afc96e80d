/*
 * Files and block devices as ends: the system calls made to open, prepare, read
 * and flush them, and what happens if these fail.  The device is a file that
 * claims to be one.
 */
#undef _FORTIFY_SOURCE		/* calls of the kernel are the test's own */
#include "test.h"

#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <scsi/sg.h>

#include "../../src/file/file.h"
#include "base/clock.h"
#include "disk/disk.h"
#include "opened.h"
#include "poor.h"

#ifndef BLKGETDISKSEQ
#define BLKGETDISKSEQ	_IOR(0x12, 128, uint64_t)
#endif
#define SDA	makedev(8, 0)
#define SDB	makedev(8, 16)
#define ALL	((size_t)64 << 10)

#define MIB	((size_t)1 << 20)

enum { BLOCK = 512 };

static struct {
	int	 block, read_only;
	uint64_t bytes, medium;
	unsigned optimal;		/* bytes of a request, 0: it does not
					 * say */
	int	 zeroout;		/* how BLKZEROOUT ends, */
	int	 sg;			/* ... and SG_IO; negative: with this
					 * sense, -0xKAABB */
} disk;

static unsigned char buf[8 * MIB] __attribute__((aligned(4096)));
static struct endpoint back;
static struct io io;

static int
command(struct sg_io_hdr *h)
{
	unsigned sense = (unsigned)-disk.sg;

	h->status = 0;
	h->host_status = h->driver_status = 0;
	h->resid = 0;
	h->sb_len_wr = 0;
	if (disk.sg >= 0)
		return disk.sg;
	memset(h->sbp, 0, h->mx_sb_len);
	h->sbp[0] = 0x70;
	h->sbp[2] = (unsigned char)(sense >> 16);
	h->sbp[7] = 10;
	h->sbp[12] = (unsigned char)(sense >> 8);
	h->sbp[13] = (unsigned char)sense;
	h->sb_len_wr = 18;
	h->status = 0x02;			/* CHECK CONDITION */
	return 0;
}

static int
answer(int fd, unsigned long request, void *arg)
{
	switch (request) {
	case BLKSSZGET:
		*(int *)arg = disk.block;
		return 0;
	case BLKROGET:
		*(int *)arg = disk.read_only;
		return 0;
	case BLKGETSIZE64:
		*(uint64_t *)arg = disk.bytes;
		return 0;
	case BLKIOOPT:
		*(unsigned *)arg = disk.optimal;
		return disk.optimal == 0 ? ENOTTY : 0;
	case BLKGETDISKSEQ:
		*(uint64_t *)arg = disk.medium;
		return disk.medium == 0 ? ENOTTY : 0;
	case BLKZEROOUT:
		return disk.zeroout;
	case SG_IO:
		return command(arg);
	}
	return ENOTTY;
}

static int
set_up(void **state)
{
	memset(buf, 'x', ALL);
	if (named_begin(buf, ALL) != 0)
		return -1;
	o.sync = 1;
	disk.block = BLOCK;
	disk.bytes = ALL;
	disk.medium = 7;
	disk.optimal = 0;
	disk.read_only = disk.zeroout = disk.sg = 0;
	kernel.answer = answer;
	return 0;
}

EACH(set_up, named_end)

static void
be_device(void)
{
	make_node(name, S_IFBLK, SDA);
}

static void
transfer(enum op op, uint64_t off, size_t len)
{
	io = (struct io){ .op = op, .buf = buf, .off = off, .len = len };
	lane_transfer(&lane, &io);
}

/* ------------------------------------------------------------- being opened */

struct refusal {
	bool	 device, look;
	enum role role;
	unsigned flags;
	const char *call;		/* this fails */
	unsigned long what;
	int	 err;
	const char *says;
};

static void
refuses(const struct refusal *r)
{
	unsigned were = count_open();
	int failed;

	deny_nothing();
	kernel.type = 0;
	if (r->device)
		be_device();
	o.iflag = o.oflag = r->flags;
	deny(r->call, r->what, 0, r->err);
	kernel.denial[0].times = EVER;
	f = (struct fault){ 0 };
	failed = endpoint_open(&end, r->role, &o, r->look, &f);
	if (failed == 0 || f.status != STATUS_ERRNO + r->err ||
	    strstr(f.text, r->says) == NULL)
		fail_msg("%s %lx: %d, %s", r->call, r->what, f.status, f.text);
	assert_int_equal(count_open(), were);
}

CASE(says_what_the_kernel_refuses)
{
	static const struct refusal all[] = {
		{ false, false, SOURCE, 0, "open", 0, EACCES, "denied" },
		{ false, false, SOURCE, 0, "fstat", 0, EIO, "end." },
		{ false, false, SOURCE, 0, "fstatfs", 0, EIO, "end." },
		{ false, false, SOURCE, FLAG_FLOCK, "flock", 0, EAGAIN,
		    "flock" },
		{ false, false, TARGET, FLAG_FLOCK, "flock", 0, EAGAIN,
		    "flock" },
		{ true, false, SOURCE, FLAG_FLOCK, "flock", 0, EAGAIN,
		    "flock" },
		{ false, false, SOURCE, FLAG_DIRECT, "open", O_DIRECT, EIO,
		    "O_DIRECT" },
		{ true, false, SOURCE, 0, "ioctl", BLKSSZGET, EIO, "size" },
		{ true, false, SOURCE, 0, "ioctl", BLKGETSIZE64, EIO,
		    "size" },
		{ false, true, TARGET, 0, "faccessat", 0, EROFS, "end." },
	};

	EACH_OF(i, all)
		refuses(&all[i]);
}

/*
 * Whatever call fails when it is opened: it says so, and nothing stays open; or
 * the end is good for a copy.
 */
static void
copes(bool device, enum role role, unsigned flags, bool look, const char *call,
    int err)
{
	unsigned were = count_open(), n;
	bool was;

	for (n = 0; ; n++) {
		deny_nothing();
		kernel.type = 0;
		if (device)
			be_device();
		o.iflag = o.oflag = flags;
		f = (struct fault){ 0 };
		deny(call, 0, n, err);
		if (endpoint_open(&end, role, &o, look, &f) == 0) {
			was = kernel.denial[0].times == 0;
			deny_nothing();
			assert_int_equal(end.geo.size, ALL);
			if (role == SOURCE) {
				attached();
				transfer(OP_READ, 0, ALL);
				assert_int_equal(io.done, ALL);
				assert_int_equal(lane_detach(&lane), 0);
			}
			closed();
		} else {
			was = true;
			assert_int_not_equal(f.status, 0);
			assert_non_null(strstr(f.text, role == SOURCE &&
			    o.input == NULL ? "standard" : name));
		}
		assert_int_equal(count_open(), were);
		if (!was)
			return;
	}
}

CASE(copes_with_every_refusal)
{
	static const struct { const char *call; int err; } all[] = {
		{ "open", EACCES }, { "open", EINVAL }, { "fstat", EIO },
		{ "fstatfs", ENOSYS }, { "fcntl", EINVAL },
		{ "ioctl", ENOTTY }, { "statx", ENOSYS }, { "lseek", EIO },
		{ "faccessat", EACCES },
	};
	int kept = (int)syscall(SYS_fcntl, 0, F_DUPFD_CLOEXEC, 10), in, bits;

	EACH_OF(i, all)
		for (bits = 0; bits < 8; bits++)
			copes((bits & 1) != 0, (bits & 2) != 0 ? TARGET :
			    SOURCE, (bits & 4) != 0 ? FLAG_DIRECT : 0,
			    bits == 6, all[i].call, all[i].err);
	/* standard input */
	o.input = NULL;
	kernel.type = 0;
	in = open(name, O_RDONLY);
	assert_int_equal(dup2(in, 0), 0);
	EACH_OF(i, all) {
		lseek(0, 0, SEEK_SET);
		copes(false, SOURCE, 0, false, all[i].call, all[i].err);
		copes(true, SOURCE, 0, false, all[i].call, all[i].err);
	}
	close(in);
	if (kept >= 0) {
		dup2(kept, 0);
		close(kept);
	}
}

static void
looks_right(uint64_t bytes, int block, const char *says)
{
	disk.bytes = bytes;
	disk.block = block;
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_open(&end, SOURCE, &o, false, &f), -1);
	assert_int_equal(f.status, STATUS_FILE);
	assert_non_null(strstr(f.text, says));
}

CASE(is_no_disk_with_impossible_numbers)
{
	be_device();
	looks_right(ALL, 256, "in blocks of 256");
	looks_right((uint64_t)INT64_MAX + 1, BLOCK,
	    "9223372036854775808 bytes");
	disk.bytes = ALL;
	disk.read_only = 1;
	opened(SOURCE, 0);
	closed();
	assert_int_equal(endpoint_open(&end, TARGET, &o, false, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EROFS);
	assert_non_null(strstr(f.text, "write-protected"));
}

/* A size that suits it: an array of disks has one. */
CASE(tells_which_requests_suit_it)
{
	be_device();
	for (disk.optimal = 0; disk.optimal <= MIB; disk.optimal += MIB) {
		opened(SOURCE, 0);
		assert_int_equal(end.geo.io_opt, disk.optimal);
		closed();
	}
}

static void
grow(off_t size)
{
	assert_int_equal(truncate(name, size), 0);
}

/* Whether large writes to what the file has go past the page cache. */
static bool
overwrites(long fs, unsigned flags, off_t size)
{
	const struct file *file;
	bool does;

	grow(size);
	kernel.fs = fs;
	kernel.fs_block = 4096;
	kernel.blocks = 8 * MIB / BLOCK;
	opened(TARGET, flags);
	file = end.priv;
	does = file->overwrites;
	assert_true(does == (file->direct >= 0) ||
	    (flags & FLAG_DIRECT) != 0);
	closed();
	return does;
}

CASE(overwrites_directly_where_that_is_known_to_pay)
{
	assert_true(overwrites(EXT4_SUPER_MAGIC, 0, 8 * MIB));
	assert_true(overwrites(XFS_SUPER_MAGIC, 0, 8 * MIB));
	assert_false(overwrites(BTRFS_SUPER_MAGIC, 0, 8 * MIB));
	assert_false(overwrites(RAMFS_MAGIC, 0, 8 * MIB));
	assert_false(overwrites(EXT4_SUPER_MAGIC, FLAG_NOCACHE, 8 * MIB));
	assert_false(overwrites(EXT4_SUPER_MAGIC, 0, 8 * MIB - 1));
	assert_false(overwrites(EXT4_SUPER_MAGIC, 0, 9 * MIB));	/* holes */
	deny("open", O_DIRECT, 0, EINVAL);
	deny("open", O_DIRECT, 0, EINVAL);	/* by /proc, too */
	assert_false(overwrites(EXT4_SUPER_MAGIC, 0, 8 * MIB));
}

CASE(takes_no_unit_of_sharing_that_cannot_be)
{
	static const struct { long says; uint32_t takes; } all[] = {
#if LONG_MAX > INT32_MAX
		{ INT32_MAX + 1L, 0 },
#endif
		{ 0, 0 }, { -1, 0 }, { 4096, 4096 },
	};

	kernel.fs = EXT4_SUPER_MAGIC;
	EACH_OF(i, all) {
		kernel.fs_block = all[i].says;
		opened(SOURCE, 0);
		assert_int_equal(end.geo.fs_block, all[i].takes);
		closed();
	}
}

static void
aligns(unsigned says, uint32_t reads, uint32_t writes)
{
	const struct file *file;

	kernel.direct_align = says;
	opened(SOURCE, FLAG_DIRECT);
	file = end.priv;
	assert_true(file->direct >= 0);
	assert_int_equal(file->read_align, reads);
	assert_int_equal(file->align, writes);
	closed();
}

CASE(aligns_direct_requests_as_the_file_system_says)
{
	aligns(0, 512, 4096);
#ifdef STATX_DIOALIGN
	aligns(4, 512, 4096);
	aligns(1024, 1024, 4096);
	aligns(65536, 65536, 65536);
	deny("statx", 0, 0, ENOSYS);
	aligns(65536, 512, 4096);
#endif
}

/* ------------------------------------------------------------ before writing */

static int
prepared(int64_t length)
{
	f = (struct fault){ 0 };
	return endpoint_prepare(&end, 0600, length, &f);
}

CASE(is_the_disk_that_was_looked_at)
{
	be_device();
	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	closed();
	opened(TARGET, 0);
	disk.medium = 8;
	assert_int_equal(prepared(-1), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "medium was changed"));
	closed();
	opened(TARGET, 0);
	disk.bytes = ALL / 2;
	assert_int_equal(prepared(-1), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	closed();
	opened(TARGET, 0);
	disk.bytes = ALL;
	end.lim.part = 1;		/* size is that of the partition */
	end.lim.disk_size = ALL;
	end.geo.size = 4096;
	assert_int_equal(prepared(-1), 0);
	assert_int_equal(end.geo.size, 4096);
	closed();
	opened(TARGET, 0);
	deny("open", 0, 0, EBUSY);
	assert_int_equal(prepared(-1), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EBUSY);
	closed();
}

CASE(says_why_it_is_not_truncated)
{
	opened(TARGET, 0);
	deny("ftruncate", 0, 0, EPERM);
	assert_int_equal(prepared(0), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EPERM);
	assert_non_null(strstr(f.text, "truncating"));
	deny("fstat", 0, 0, EIO);
	assert_int_equal(prepared(0), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EIO);
	assert_int_equal(prepared((int64_t)ALL + 1), 0);
	assert_int_equal(((struct file *)end.priv)->length, ALL);
	closed();
}

static int
locked(uint64_t from, uint64_t to)
{
	f = (struct fault){ 0 };
	return endpoint_check_range(&end, from, to, &end, 0, &f);
}

CASE(locks_what_it_writes)
{
	static const int fine[] = { ENOLCK, EINVAL, ENOSYS };

	opened(SOURCE, 0);
	deny("fcntl", F_OFD_SETLK, 0, EAGAIN);
	assert_int_equal(locked(0, ALL), 0);	/* nothing, of a source */
	closed();
	deny_nothing();
	opened(TARGET, 0);
	deny("fcntl", F_OFD_SETLK, 0, EAGAIN);
	assert_int_equal(locked(0, ALL), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "another copy"));
	deny("fcntl", F_OFD_SETLK, 0, EACCES);
	assert_int_equal(locked(0, ALL), -1);
	deny_nothing();
	EACH_OF(i, fine) {
		deny("fcntl", F_OFD_SETLK, 0, fine[i]);
		assert_int_equal(locked(0, ALL), 0);
	}
	deny_nothing();
	deny("fcntl", F_OFD_SETLK, 0, EBADF);	/* read-only: it asks */
	assert_int_equal(locked(0, ALL), 0);
	deny("fcntl", F_OFD_SETLK, 0, EBADF);
	deny("fcntl", F_OFD_GETLK, 0, EINVAL);
	assert_int_equal(locked(0, ALL), 0);
	deny_nothing();
	deny("fcntl", F_OFD_SETLK, 0, EAGAIN);
	assert_int_equal(locked(ALL, ALL), 0);	/* nothing is written */
	assert_int_equal(locked(UINT64_MAX - 1, UINT64_MAX), 0);
	end.spec.held = true;
	assert_int_equal(locked(0, ALL), 0);
	closed();
}

/* ---------------------------------------------------------------- requests */

CASE(goes_on_after_an_interruption)
{
	uint64_t began;
	int i;

	lane_opened(SOURCE, FLAG_CACHED);
	memset(buf, 0, ALL);
	deny("preadv2", 0, 0, EINTR);
	for (i = 0; i < 3; i++)
		deny("preadv2", 0, 0, EAGAIN);
	began = clock_ns();
	transfer(OP_READ, 0, ALL);
	assert_true(clock_ns() - began >= 20000000);	/* it has waited */
	deny_nothing();
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, ALL);
	assert_int_equal(buf[ALL - 1], 'x');
	deny("preadv2", 0, 0, EIO);
	transfer(OP_READ, 0, ALL);
	assert_int_equal(io.err, EIO);
	assert_true(io.spent);
	lane_closed();
}

CASE(reads_through_the_page_cache_where_the_kernel_must)
{
	static const int unknown[] = { EOPNOTSUPP, ENOSYS };
	size_t i;

	for (i = 0; i < 2; i++) {
		lane_opened(SOURCE, 0);
		deny("preadv2", 0x80, 0, unknown[i]);	/* RWF_DONTCACHE */
		transfer(OP_READ, 0, ALL);
		assert_int_equal(io.err, 0);
		assert_int_equal(io.done, ALL);
		assert_true(((struct file *)end.priv)->no_dontcache ||
		    kernel.denial[i].times > 0);
		lane_closed();
	}
	/* what it refuses past the page cache */
	deny_nothing();
	lane_opened(SOURCE, FLAG_DIRECT);
	deny("preadv2", 0, 0, EINVAL);
	transfer(OP_READ, 0, ALL);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, ALL);
	deny("preadv2", 0, 0, EINVAL);
	deny("preadv2", 0, 0, EINVAL);		/* nor through it */
	transfer(OP_READ, 0, ALL);
	assert_int_equal(io.err, EINVAL);
	lane_closed();
}

static void
writes(int err, int ends)
{
	deny_nothing();
	deny("pwritev2", 0, 0, err);
	transfer(OP_WRITE, 0, ALL);
	assert_int_equal(io.err, ends);
	assert_int_equal(io.done, ends == 0 ? ALL : 0);
}

CASE(does_not_try_for_ever_what_writes_nothing)
{
	unsigned were;

	opened(TARGET, FLAG_CACHED);
	assert_int_equal(prepared(-1), 0);
	attached();
	writes(0, EIO);
	writes(EINTR, 0);
	writes(EAGAIN, 0);
	writes(ENOSPC, ENOSPC);
	assert_false(io.spent);
	lane_closed();
	/* a disk that is gone says EIO, ENOSPC, or nothing at all */
	be_device();
	opened(TARGET, FLAG_CACHED);
	assert_int_equal(prepared(-1), 0);
	attached();
	writes(EIO, EIO);
	disk.bytes = 0;
	writes(EIO, ENODEV);
	writes(ENOSPC, ENODEV);
	writes(EPERM, EPERM);
	disk.bytes = ALL;
	writes(EIO, EIO);
	begin_sysfs();
	disk.medium = 9;			/* another, in its drive */
	writes(EIO, ENODEV);
	disk.medium = 7;
	writes(EIO, EIO);
	sysfs_has("removable", "1\n");
	were = count_open();
	writes(EIO, EIO);
	assert_int_equal(count_open(), were);
	sysfs_has("device/state", "offline\n");
	writes(EIO, ENODEV);
	lane_closed();
}

/* What the kernel says by io_uring, and whether it is the end of it. */
static void
finishes(int result, bool ends, int err)
{
	f = (struct fault){ 0 };
	io = (struct io){ .op = OP_WRITE, .buf = buf, .len = ALL };
	file_backend.finish(&lane, &io, result);
	assert_int_equal(io.err, err);
	assert_int_equal(io.done, ends && err == 0 ? ALL : 0);
}

CASE(leaves_to_transfer_what_passes)
{
	struct io_uring_sqe { unsigned char room[64]; } sqe;

	opened(TARGET, FLAG_CACHED);
	assert_int_equal(prepared(-1), 0);
	attached();
	finishes((int)ALL, true, 0);
	finishes((int)ALL - 1, false, 0);
	finishes(0, false, 0);
	finishes(-EINTR, false, 0);
	finishes(-EAGAIN, false, 0);
	finishes(-ENOMEM, false, 0);
	finishes(-EIO, true, EIO);
	finishes(-ENOSPC, true, ENOSPC);
	/* one that is cut off is not written on */
	assert_int_equal(truncate(name, 1000), 0);
	io = (struct io){ .op = OP_WRITE, .buf = buf, .off = ALL, .len = MIB };
	assert_false(file_backend.start(&lane, &io, (void *)&sqe));
	transfer(OP_WRITE, ALL, BLOCK);
	assert_int_equal(io.err, EIO);
	assert_int_equal(io.status, STATUS_FILE);
	assert_non_null(strstr(io.why, "at byte 1000"));
	assert_int_equal(file_flush(&end, &f), -1);
	assert_non_null(strstr(f.text, "at byte 1000"));
	assert_int_equal(file_check_kept(&end, 0, ALL, 0, &f), -1);
	lane_closed();
}

static void
zeros(int err, int ends)
{
	deny_nothing();
	end.cmd.no_zero = false;
	deny("fallocate", 0, 0, err);
	transfer(OP_ZERO, 0, 4096);
	assert_int_equal(io.err, ends);
	assert_int_equal(io.done, ends == 0 ? 4096 : 0);
}

CASE(does_without_zeros_where_they_are_not_known)
{
	static const int unknown[] = { EOPNOTSUPP, ENOSYS, ENOTTY, EINVAL };
	static const int busy = EBUSY;

	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	attached();
	zeros(EINTR, 0);
	assert_int_equal(buf[0], 'x');
	EACH_OF(i, unknown) {
		zeros(unknown[i], EOPNOTSUPP);
		transfer(OP_ZERO, 0, 4096);	/* and does not ask again */
		assert_int_equal(io.err, EOPNOTSUPP);
	}
	zeros(busy, EOPNOTSUPP);
	transfer(OP_ZERO, 0, 4096);		/* but then it does */
	assert_int_equal(io.err, 0);
	zeros(EIO, EIO);
	lane_closed();
	be_device();
	opened(TARGET, FLAG_TRIM);
	assert_int_equal(prepared(-1), 0);
	attached();
	zeros(EINTR, 0);
	zeros(EOPNOTSUPP, 0);			/* by BLKZEROOUT */
	assert_true(((struct file *)end.priv)->no_trim);
	disk.zeroout = EIO;
	transfer(OP_ZERO, 0, 4096);
	assert_int_equal(io.err, EIO);
	disk.bytes = 0;
	transfer(OP_ZERO, 0, 4096);
	assert_int_equal(io.err, ENODEV);
	disk.zeroout = ENOTTY;
	transfer(OP_ZERO, 0, 4096);
	assert_int_equal(io.err, EOPNOTSUPP);
	lane_closed();
}

static void
notes_shift(enum op op)
{
	const int fd = memfd_create("offset", MFD_CLOEXEC);
	struct file *file;

	be_device();
	opened(op == OP_READ ? SOURCE : TARGET, 0);
	assert_int_equal(op == OP_READ ? 0 : prepared(-1), 0);
	attached();
	file = end.priv;
	file->place.loops = 1;
	file->place.offset[0] = fd;
	file->place.offsets = number_sum(NUMBER_SUM, "0\n", 2);
	assert_int_equal(pwrite(fd, "0\n", 2, 0), 2);
	transfer(op, 0, 4096);
	assert_int_equal(io.err, 0);
	assert_false(file->shifted);
	assert_int_equal(pwrite(fd, "5", 1, 0), 1);
	transfer(op, 0, 4096);
	assert_true(file->shifted);
	file->shifted = false;
	io.done = 0;
	end.be->finish(&lane, &io, 4096);	/* of the other engine */
	assert_true(file->shifted);
	assert_int_equal(pwrite(fd, "0", 1, 0), 1);
	assert_int_equal(file_stayed(&end, STATUS_REFUSED, &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_int_equal(lane_detach(&lane), 0);
	closed();
}

CASE(notes_that_a_device_begins_elsewhere_during_a_transfer)
{
	notes_shift(OP_READ);
	notes_shift(OP_WRITE);
	notes_shift(OP_ZERO);
}

static void
settles(int err, int ends)
{
	deny_nothing();
	attached();
	transfer(OP_WRITE, 0, 2 * MIB);
	transfer(OP_WRITE, 2 * MIB, MIB);
	deny("sync_file_range", 0, 0, err);
	assert_int_equal(lane_detach(&lane), ends);
}

CASE(tells_what_writing_back_met)
{
	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	((struct file *)end.priv)->no_dontcache = true;
	settles(EIO, EIO);
	settles(ENOSPC, ENOSPC);
	settles(ESPIPE, 0);
	settles(EINVAL, 0);
	settles(ENOSYS, 0);
	closed();
}

/* ------------------------------------------------------------ extents, length */

CASE(tells_of_holes)
{
	struct extent x;

	opened(SOURCE, 0);
	assert_int_equal(endpoint_extent(&end, 0, &x), 0);
	assert_false(x.hole);
	assert_int_equal(x.len, ALL);
	deny("lseek", SEEK_DATA, 0, EIO);
	assert_int_equal(endpoint_extent(&end, 0, &x), EIO);
	deny("lseek", SEEK_HOLE, 0, EIO);
	assert_int_equal(endpoint_extent(&end, 0, &x), EIO);
	deny("lseek", SEEK_DATA, 0, ENXIO);
	deny("fstat", 0, 0, EIO);
	assert_int_equal(endpoint_extent(&end, 0, &x), EIO);
	deny_nothing();
	deny("lseek", SEEK_DATA, 0, ENXIO);
	assert_int_equal(endpoint_extent(&end, 0, &x), 0);
	assert_true(x.hole);
	assert_int_equal(x.len, ALL);
	deny("lseek", SEEK_DATA, 0, ENXIO);
	assert_int_equal(endpoint_extent(&end, ALL, &x), ENXIO);
	closed();
}

CASE(is_made_as_long_as_it_has_to_be)
{
	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	deny("fstat", 0, 0, EIO);
	assert_int_equal(endpoint_extend(&end, 2 * ALL), EIO);
	deny("ftruncate", 0, 0, EFBIG);
	assert_int_equal(endpoint_extend(&end, 2 * ALL), EFBIG);
	assert_int_equal(endpoint_extend(&end, 1), 0);
	endpoint_go_on(&end);
	assert_int_equal(end.geo.size, ALL);
	assert_int_equal(endpoint_extend(&end, 2 * ALL), 0);
	deny("fstat", 0, 0, EIO);
	endpoint_go_on(&end);
	assert_int_equal(end.geo.size, ALL);	/* as far as it is known */
	endpoint_go_on(&end);
	assert_int_equal(end.geo.size, 2 * ALL);
	closed();
	be_device();
	opened(TARGET, 0);
	assert_int_equal(endpoint_extend(&end, 2 * ALL), 0);
	endpoint_go_on(&end);
	assert_int_equal(end.geo.size, ALL);
	closed();
}

/* --------------------------------------------------------- after the copy */

static void
kept(int status, const char *says)
{
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_check_kept(&end, 0, ALL, 0, &f),
	    status == 0 ? 0 : -1);
	assert_int_equal(f.status, status);
	if (status != 0)
		assert_non_null(strstr(f.text, says));
}

CASE(sees_that_it_is_not_the_same_any_more)
{
	struct timespec t;

	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	kept(0, "");
	deny("fstat", 0, 0, EIO);
	kept(STATUS_ERRNO + EIO, "at the end");
	assert_int_equal(truncate(name, 1000), 0);
	kept(STATUS_FILE, "truncated at byte 1000");
	((struct file *)end.priv)->cut = 1000;	/* as a write found */
	grow(ALL);
	kept(STATUS_FILE, "truncated at byte 1000");
	end.fs.f_type = EXT4_SUPER_MAGIC;
	deny("fstat", 0, 0, EIO);
	assert_int_equal(endpoint_written(&end, &t), EIO);
	assert_int_equal(endpoint_written(&end, &t), 0);
	end.fs.f_type = NFS_SUPER_MAGIC;
	assert_int_equal(endpoint_written(&end, &t), EOPNOTSUPP);
	closed();
	be_device();
	opened(SOURCE, 0);
	kept(0, "");
	end.fs.f_type = EXT4_SUPER_MAGIC;
	assert_int_equal(endpoint_written(&end, &t), EOPNOTSUPP);
	endpoint_look_below(&end, 0, ALL);
	disk.block = 4096;
	kept(STATUS_ERRNO + ENODEV, "its blocks have 4096 bytes now");
	deny("ioctl", BLKSSZGET, 0, EIO);	/* it does not say */
	kept(0, "");
	disk.medium = 8;
	kept(STATUS_ERRNO + ENODEV, "medium was changed");
	closed();
}

static void
flushes(int err, int status)
{
	f = (struct fault){ 0 };
	deny("fdatasync", 0, 0, err);
	assert_int_equal(endpoint_flush(&end, &f), status == 0 ? 0 : -1);
	assert_int_equal(f.status, status);
	deny_nothing();
}

CASE(says_what_was_not_flushed)
{
	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	flushes(EINTR, 0);
	flushes(EIO, STATUS_ERRNO + EIO);
	end.dir = open("/tmp", O_RDONLY);
	deny("fsync", 0, 0, EINTR);
	deny("fsync", 0, 0, EINVAL);	/* no flush is needed there */
	assert_int_equal(endpoint_flush(&end, &f), 0);
	deny("fsync", 0, 0, EIO);
	assert_int_equal(endpoint_flush(&end, &f), -1);
	assert_non_null(strstr(f.text, "flushing its directory"));
	closed();
}

static void
asks_scsi(int sg, int status, const char *says)
{
	disk.sg = sg;
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_flush(&end, &f), status == 0 ? 0 : -1);
	if (f.status != status || (status != 0 && strstr(f.text, says) == NULL))
		fail_msg("%d: %s", f.status, f.text);
}

/* The kernel sends no flush to a disk of which it believes that it has no cache. */
CASE(asks_the_disk_itself_to_write_its_cache)
{
	be_device();
	begin_sysfs();
	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	asks_scsi(EIO, 0, "");			/* nobody says that it has none */
	sysfs_has("queue/write_cache", "write through\n");
	asks_scsi(EIO, 0, "");			/* not by SCSI */
	sysfs_has("device/scsi_disk/0", "");
	asks_scsi(0, 0, "");
	asks_scsi(ENOTTY, 0, "");
	asks_scsi(EPERM, 0, "");
	asks_scsi(-0x52000, 0, "");		/* it does not know that */
	asks_scsi(-0x52400, 0, "");
	asks_scsi(EIO, STATUS_NOT_FLUSHED, "failed: Input/output error");
	asks_scsi(-0x40300, STATUS_NOT_FLUSHED, "failed: Hardware Error");
	deny("sysfs", 0, 0, EMFILE);
	asks_scsi(0, STATUS_NOT_FLUSHED, "cannot be looked up: Too many open");
	deny("fstat", 0, 0, EIO);
	asks_scsi(EIO, 0, "");
	sysfs_has("queue/write_cache", "write back\n");
	asks_scsi(EIO, 0, "");
	closed();
}

CASE(asks_the_disks_that_it_lies_on)
{
	be_device();
	kernel.member = SDB;
	kernel.link = "../../block/sdb";
	begin_sysfs();
	sysfs_has("8:0/slaves/sdb/dev", "8:16\n");
	sysfs_has("8:0/dev", "8:0\n");
	sysfs_has("8:0/size", "2048\n");
	sysfs_has("8:16/dev", "8:16\n");
	sysfs_has("8:16/size", "2048\n");
	sysfs_has("8:16/queue/write_cache", "write through\n");
	sysfs_has("8:16/device/scsi_disk/0", "");
	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	asks_scsi(0, STATUS_NOT_FLUSHED, "sdb, which it lies on, cannot be "
	    "asked to flush its cache: No such file");
	deny("sysfs", 0, 2, EMFILE);		/* what is below is not listed */
	asks_scsi(0, STATUS_NOT_FLUSHED, "cannot be looked up: Too many open");
	deny_nothing();
	deny("node", 0, 0, EACCES);
	asks_scsi(0, 0, "");
	deny("node", 0, 0, EPERM);
	asks_scsi(0, 0, "");
	kernel.member = SDA;			/* another has that name */
	asks_scsi(0, STATUS_NOT_FLUSHED, "No such file");
	sysfs_has("8:16/device/state", "offline\n");
	asks_scsi(0, 0, "");
	sysfs_has("8:16/device/state", "running\n");
	kernel.member = SDB;
	sysfs_has("dev.sdb", "");
	asks_scsi(0, 0, "");
	asks_scsi(EIO, STATUS_NOT_FLUSHED, "failed: Input/output error");
	closed();
}

/* ------------------------------------------------------------ reading back */

static void
cannot_be_read_back(int status, const char *says)
{
	unsigned were = count_open();

	f = (struct fault){ 0 };
	assert_int_equal(endpoint_readback(&back, &end, 1 << 16, &f), -1);
	if (f.status != status || strstr(f.text, says) == NULL)
		fail_msg("%d: %s", f.status, f.text);
	assert_int_equal(count_open(), were);
}

CASE(says_why_it_cannot_be_read_back)
{
	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	deny("open", 0, 0, EACCES);
	deny("open", 0, 0, EACCES);
	cannot_be_read_back(STATUS_ERRNO + EACCES, "to read it back");
	deny_nothing();
	deny("open", O_DIRECT, 0, EIO);
	deny("open", O_DIRECT, 0, EIO);
	cannot_be_read_back(STATUS_ERRNO + EIO, "to read it back");
#ifdef STATX_DIOALIGN
	deny_nothing();
	kernel.direct_align = 1 << 17;
	cannot_be_read_back(STATUS_REFUSED, "in units of 131072 bytes");
#endif
	closed();
	be_device();
	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	deny("open", O_DIRECT, 0, EINVAL);
	cannot_be_read_back(STATUS_REFUSED, "past the page cache");
	disk.block = 256;			/* what it said before is right */
	assert_int_equal(endpoint_readback(&back, &end, 1 << 16, &f), 0);
	assert_int_equal(back.geo.io_align, 4096);
	disk.block = 4096;
	assert_int_equal(endpoint_close(&back), 0);
	closed();
}

CASE(reads_back_what_is_there)
{
	be_device();
	opened(TARGET, 0);
	assert_int_equal(prepared(-1), 0);
	assert_int_equal(endpoint_readback(&back, &end, 1 << 16, &f), 0);
	assert_int_equal(lane_attach(&lane, &back, 0, -1), 0);
	memset(buf, 0, ALL);
	deny("pread", 0, 0, EINTR);
	deny("pread", 0, 0, EAGAIN);
	transfer(OP_READ, 0, ALL);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, ALL);
	assert_int_equal(buf[0], 'x');
	deny("pread", 0, 0, EINVAL);		/* a device has no other way */
	transfer(OP_READ, 0, ALL);
	assert_int_equal(io.err, EINVAL);
	deny("pread", 0, 0, EIO);
	transfer(OP_READ, 0, ALL);
	assert_int_equal(io.err, EIO);
	deny_nothing();
	disk.bytes = 0;
	deny("pread", 0, 0, EIO);
	transfer(OP_READ, 0, ALL);
	assert_int_equal(io.err, ENODEV);
	deny("pread", 0, 0, 0);			/* the end, all at once */
	transfer(OP_READ, 0, ALL);
	assert_int_equal(io.err, ENODEV);
	assert_int_equal(endpoint_close(&back), 0);
	closed();
}

CASE(needs_memory)
{
	unsigned n, were = count_open();

	for (n = 0; n < 20; n++) {
		poor_after(n);
		f = (struct fault){ 0 };
		o.iflag = 0;
		if (endpoint_open(&end, SOURCE, &o, false, &f) == 0) {
			poor_was();
			closed();
			return;
		}
		assert_true(poor_was());
		assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
		assert_int_equal(count_open(), were);
	}
	fail();
}
