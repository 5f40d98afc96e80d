/*
 * NVMe disks: which node is opened, the limits of their commands, and what is
 * waited for.  The mock disk has 32 KiB; its node is a file.
 */
#undef _FORTIFY_SOURCE		/* calls of the kernel are the test's own */
#include "test.h"

#include <linux/nvme_ioctl.h>

#include "../../src/nvme/nvme.h"
#define OPENED_BY	open_nvme
#include "opened.h"
#define POOR_OF_ALL
#include "poor.h"

#define BLOCK	((size_t)512)
#define NVME	makedev(259, 0)
#define NG	makedev(244, 0)

enum {
	BLOCKS = 64, BYTES = 64 * 512,
	NOT_READY = 0x082, INTERNAL = 0x006, NO_WAY = 0x303, UNREADABLE = 0x281,
	FORCE = 1 << 30,
};

static struct {
	unsigned char bytes[BYTES];
	unsigned char mdts, oncs, nsattr;
	int	 result;		/* of commands that move data, */
	unsigned times;			/* ... so often */
	int	 admin;			/* of all others */
	int	 id;			/* errno of asking for its number */
	unsigned commands;
	bool	 fua;			/* of the last */
} disk;

static unsigned char buf[BYTES] __attribute__((aligned(4096)));
static struct endpoint back;
static struct io io;

/* Positive results are statuses of NVMe. */
static int
ends(int result)
{
	return -result;
}

static int
admin(const struct nvme_admin_cmd *c)
{
	unsigned char *page = (unsigned char *)(uintptr_t)c->addr;

	if (disk.admin != 0)
		return ends(disk.admin);
	memset(page, 0, c->data_len);
	if (c->opcode == 0x06 && c->cdw10 == 0) {
		page[0] = BLOCKS;
		page[99] = disk.nsattr;
		page[130] = 9;			/* 2^9 bytes */
	} else if (c->opcode == 0x06) {
		page[77] = disk.mdts;
		page[520] = disk.oncs;
	}
	return 0;
}

static int
carry_out(const struct nvme_passthru_cmd64 *c)
{
	size_t n = (c->cdw12 & 0xffff) + 1;
	unsigned char *at = disk.bytes + (size_t)c->cdw10 * BLOCK;

	disk.commands++;
	disk.fua = (c->cdw12 & FORCE) != 0;
	if (disk.times > 0) {
		disk.times--;
		return ends(disk.result);
	}
	if (c->opcode == 0x02)
		memcpy((void *)(uintptr_t)c->addr, at, n * BLOCK);
	return 0;
}

static int
answer(int fd, unsigned long request, void *arg)
{
	switch (request) {
	case NVME_IOCTL_ID:
		return disk.id != 0 ? disk.id : ends(1);
	case NVME_IOCTL_ADMIN_CMD:
		return admin(arg);
	case NVME_IOCTL_IO64_CMD:
		return carry_out(arg);
	}
	return ENOTTY;
}

static int
set_up(void **state)
{
	size_t i;

	if (named_begin("", 0) != 0)
		return -1;
	memset(&disk, 0, sizeof(disk));
	for (i = 0; i < BYTES; i++)
		disk.bytes[i] = (unsigned char)(i * 7 + i / BLOCK);
	disk.oncs = 0x08;
	kernel.answer = answer;
	kernel.link = "../../devices/x/nvme0n1";
	make_node(name, S_IFBLK, NVME);
	begin_sysfs();
	sysfs_has("259:0/dev", "259:0\n");
	sysfs_has("259:0/size", "64\n");
	sysfs_has("259:0/queue/logical_block_size", "512\n");
	sysfs_has("259:0/queue/max_hw_sectors_kb", "128\n");
	sysfs_has("259:0/queue/max_segments", "127\n");
	sysfs_has("259:0/queue/write_zeroes_max_bytes", "16384\n");
	return 0;
}

EACH(set_up, named_end)

/* It has an ng node, too. */
static void
has_generic(void)
{
	char path[64];

	sysfs_has("ng0n1/dev", "244:0\n");
	sysfs_has("dev.ng0n1", "");
	snprintf(path, sizeof(path), "%s/dev.ng0n1", kernel.sysfs);
	assert_int_equal(fstatat(AT_FDCWD, path, &kernel.generic, 0), 0);
	kernel.generic_rdev = NG;
}

static int
open_nvme(enum role role, unsigned flags)
{
	int path = (int)syscall(SYS_openat, AT_FDCWD, name, O_PATH), failed;

	f = (struct fault){ 0 };
	end = (struct endpoint){ .be = &nvme_backend, .name = name,
		.kind = END_NVME, .fd = path, .dir = -1, .layer = -1,
		.is.device = true,
		.id = { .known = true, .dev = NVME, .node = kernel.rdev },
		.lim.end = UINT64_MAX,
		.spec = { .role = role, .flags = flags, .timeout = 1 } };
	failed = end.be->open(&end, false, &f);
	syscall(SYS_close, path);
	end.fd = -1;
	return failed;
}

CASE(says_why_it_is_not_opened)
{
	deny("open", 0, 0, EACCES);
	is_refused(SOURCE, 0, STATUS_ERRNO + EACCES, "denied");
	is_refused(SOURCE, FLAG_EXCL, STATUS_USAGE, "NVMe nodes do not support");
	deny("flock", 0, 0, EAGAIN);
	is_refused(SOURCE, FLAG_FLOCK, STATUS_ERRNO + EAGAIN, "flock");
	disk.id = ENOTTY;
	is_refused(SOURCE, 0, STATUS_FILE, "takes no NVMe commands");
	disk.id = EINVAL;
	is_refused(SOURCE, 0, STATUS_FILE, "takes no NVMe commands");
	disk.id = ENOSYS;
	is_refused(SOURCE, 0, STATUS_FILE, "takes no NVMe commands");
	disk.id = EACCES;
	is_refused(SOURCE, 0, STATUS_ERRNO + EACCES, "Identify failed");
	disk.id = 0;
	disk.admin = INTERNAL;
	is_refused(SOURCE, 0, STATUS_MEDIUM, "Identify failed: ");
	disk.admin = 0;
	disk.nsattr = 1;
	is_refused(TARGET, 0, STATUS_ERRNO + EROFS, "write-protected");
	disk.nsattr = 0;
	sysfs_has("259:0/ro", "1\n");
	is_refused(TARGET, 0, STATUS_ERRNO + EROFS, "write-protected");
	sysfs_has("259:0/queue/zoned", "host-managed\n");
	is_refused(TARGET, 0, STATUS_REFUSED, "is a zoned disk");
	opened(SOURCE, 0);
	closed();
	sysfs_has("259:0/queue/zoned", "host-aware\n");
	sysfs_has("259:0/ro", "0\n");
	opened(TARGET, 0);
	deny("close", 0, 0, EIO);
	assert_int_equal(endpoint_close(&end), EIO);
	sysfs_has("259:0/partition", "1\n");
	sysfs_has("259:0/start", "8\n");
	sysfs_has("dev", "259:1\n");		/* of the whole disk */
	sysfs_has("queue/logical_block_size", "512\n");
	is_refused(SOURCE, 0, STATUS_REFUSED, "is a partition");
	sysfs_has("259:0/partition", "0\n");
	sysfs_has("259:0/dev", "");
	is_refused(SOURCE, 0, STATUS_FILE, "finding its NVMe disk");
	kernel.sysfs[0] = 'x';			/* there is none */
	is_refused(SOURCE, 0, STATUS_ERRNO + ENOENT, "finding its NVMe disk");
	kernel.sysfs[0] = '/';
}

static bool
by_ring(enum role role)
{
	const struct nvme *nv = opened(role, 0);

	return nv->by_ring;
}

CASE(takes_the_generic_node_if_it_is_of_the_same_disk)
{
	assert_false(by_ring(SOURCE));
	assert_non_null(end.sync_why);
	assert_false(end.is.wide);
	closed();
	has_generic();
	assert_true(by_ring(SOURCE));
	assert_null(end.sync_why);
	assert_true(end.is.wide);
	closed();
	kernel.generic_rdev = NVME;		/* another has that name */
	assert_false(by_ring(SOURCE));
	closed();
	kernel.generic_rdev = 0;		/* or it is none */
	assert_false(by_ring(SOURCE));
	closed();
	kernel.generic_rdev = NG;
	deny("node", 0, 0, EACCES);
	assert_false(by_ring(SOURCE));
	closed();
	make_node(name, S_IFCHR, NG);		/* it is named itself */
	assert_true(by_ring(TARGET));
	closed();
}

static void
limits(unsigned kb, unsigned segments, unsigned char mdts, unsigned most)
{
	char text[16];

	snprintf(text, sizeof(text), "%u\n", kb);
	sysfs_has("259:0/queue/max_hw_sectors_kb", text);
	snprintf(text, sizeof(text), "%u\n", segments);
	sysfs_has("259:0/queue/max_segments", text);
	disk.mdts = mdts;
	opened(SOURCE, 0);
	assert_int_equal(end.cmd.most, most * BLOCK);
	assert_int_equal(end.geo.io_max, (uint64_t)most * BLOCK);
	closed();
}

CASE(sends_no_more_than_disk_and_host_take)
{
	limits(128, 127, 0, 256);
	limits(128, 127, 3, 64);		/* 2^3 pages */
	limits(128, 127, 6, 256);
	limits(1024, 17, 0, 128);		/* 16 pages and one */
	limits(0, 127, 0, 128);			/* who does not say */
	limits(128, 1, 0, 128);
	limits(1 << 20, 65535, 0, NVME_BLOCKS);
	kernel.rdev = NG;
	make_node(name, S_IFCHR, NG);
	opened(SOURCE, 0);
	assert_int_equal(end.cmd.zero_most, 32 * BLOCK);
	closed();
}

static void
zeros(const char *most, unsigned char oncs, unsigned flags, uint32_t blocks,
    bool makes)
{
	sysfs_has("259:0/queue/write_zeroes_max_bytes", most);
	disk.oncs = oncs;
	opened(TARGET, flags);
	assert_int_equal(end.cmd.zero_most, blocks * BLOCK);
	assert_int_equal(end.is.zeroes, makes);
	closed();
}

CASE(makes_zeros_if_disk_and_host_can)
{
	zeros("16384\n", 8, 0, 32, true);
	zeros("16384\n", 0, 0, 0, false);
	zeros("0\n", 8, 0, 0, false);
	zeros("16384\n", 8, FLAG_FUA, 32, false);
	zeros("99999999999\n", 8, 0, NVME_BLOCKS, true);
	opened(SOURCE, 0);
	assert_false(end.is.zeroes);
	closed();
}

/* An ng node of a disk that has no block node. */
CASE(takes_usual_limits_without_a_block_node)
{
	int path = open(name, O_PATH);

	make_node(name, S_IFCHR, NG);
	end = (struct endpoint){ .be = &nvme_backend, .name = name,
		.fd = path, .dir = -1, .layer = -1, .is.device = true,
		.id = { .known = true, .dev = NG, .ino = 1, .node = NG },
		.spec = { .role = SOURCE, .timeout = 1 } };
	assert_int_equal(end.be->open(&end, false, &f), 0);
	assert_int_equal(end.cmd.most, 64 << 10);
	assert_int_equal(end.cmd.zero_most, 0);
	closed();
	close(path);
}

CASE(needs_memory)
{
	unsigned n, were = count_open(), times = 0;

	make_node(name, S_IFCHR, NG);
	for (n = 0; ; n++) {
		poor_after(n);
		if (open_end(SOURCE, 0) == 0)
			break;
		assert_true(poor_was());
		times++;
		assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
		assert_int_equal(count_open(), were);
	}
	poor_was();
	attached();
	assert_int_equal(lane_detach(&lane), 0);
#ifdef POOR
	assert_true(times >= 2);
	poor_after(0);
	assert_int_equal(end.be->prepare(&end, -1, &f), 0);	/* the log */
	assert_false(((struct nvme *)end.priv)->powered);
	poor_after(0);
	assert_int_equal(endpoint_check_kept(&end, 0, BYTES, 0, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
	poor_after(0);
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
	poor_after(1);
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
	assert_true(poor_was());
#endif
	closed();
}

CASE(reads_back_past_the_cache)
{
	unsigned were;

	opened(TARGET, 0);
	were = count_open();
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), 0);
	assert_true(disk.fua);
	assert_int_equal(back.geo.io_align, BLOCK);
	assert_int_equal(endpoint_close(&back), 0);
	disk.result = UNREADABLE;		/* a block of it: that is met later */
	disk.times = EVER;
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), 0);
	assert_int_equal(endpoint_close(&back), 0);
	disk.result = 0x4002;			/* an invalid field */
	disk.times = EVER;
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "refuses Read with FUA"));
	deny("fcntl", F_DUPFD_CLOEXEC, 0, EMFILE);
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EMFILE);
	assert_int_equal(count_open(), were);
	closed();
}

/* ----------------------------------------------------------------- waiting */

static void
transfer(enum op op, int result, unsigned times, int err)
{
	disk.result = result;
	disk.times = times;
	disk.commands = 0;
	io = (struct io){ .op = op, .buf = buf, .len = BLOCK };
	lane_transfer(&lane, &io);
	assert_int_equal(io.err, err);
	disk.times = 0;
}

CASE(waits_for_a_way_to_it)
{
	struct nvme *nv;

	nv = lane_opened(SOURCE, 0);
	deny("poll", 0, 0, 0);
	kernel.denial[0].times = EVER;
	transfer(OP_READ, NO_WAY, 3, 0);
	assert_int_equal(disk.commands, 4);
	deny_nothing();
	deny("poll", 0, 0, EINTR);
	transfer(OP_READ, NO_WAY, 1, 0);
	lane.halt = open(name, O_RDONLY);	/* it is to stop */
	transfer(OP_READ, NO_WAY, 1, ECANCELED);
	assert_true(nv->away);
	transfer(OP_READ, NO_WAY, 1, ETIMEDOUT);
	assert_int_equal(io.status, STATUS_TIMEOUT);
	assert_int_equal(disk.commands, 1);	/* it waits no more */
	transfer(OP_READ, 0, 0, 0);
	assert_false(nv->away);
	transfer(OP_WRITE, NO_WAY, 1, ETIMEDOUT);
	close(lane.halt);
	lane_closed();
}

CASE(waits_for_a_reset)
{
	static const struct { const char *state; unsigned polls; } all[] = {
		{ "resetting\n", 10 }, { "connecting\n", 10 }, { "live\n", 0 },
	};

	make_node(name, S_IFCHR, NG);
	lane_opened(SOURCE, 0);
	EACH_OF(i, all) {
		sysfs_has("device/state", all[i].state);
		deny_nothing();
		deny("poll", 0, 0, 0);
		kernel.denial[0].times = EVER;
		transfer(OP_READ, -EINTR, 1, 0);
		assert_int_equal(EVER - kernel.denial[0].times, all[i].polls);
		assert_int_equal(disk.commands, 2);
	}
	sysfs_has("device/state", "resetting\n");
	deny_nothing();
	deny("fstat", 0, 1, EIO);		/* its state is not known */
	transfer(OP_READ, -EINTR, 1, 0);
	deny_nothing();
	lane.halt = open(name, O_RDONLY);	/* it is to stop */
	transfer(OP_READ, -EINTR, 1, 0);
	close(lane.halt);
	lane_closed();
}

CASE(repeats_little_what_took_all_its_time)
{
	opened(SOURCE, 0);
	((struct nvme *)end.priv)->how.timeout = 0;	/* it is over at once */
	attached();
	transfer(OP_READ, NOT_READY, EVER, EPROTO);
	assert_int_equal(disk.commands, 2);
	end.spec.coe = true;
	transfer(OP_READ, NOT_READY, EVER, EPROTO);
	transfer(OP_WRITE, NOT_READY, EVER, EPROTO);
	assert_int_equal(disk.commands, 2);
	end.is.back = true;
	transfer(OP_READ, NOT_READY, 1, 0);
	assert_int_equal(disk.commands, 2);
	end.is.back = false;
	end.spec.coe = false;
	end.spec.rescue = true;
	transfer(OP_READ, NOT_READY, 1, EPROTO);
	assert_true(io.doubtful);
	lane_closed();
}

static void
flushes(int result, unsigned times, int failed)
{
	struct nvme *nv = end.priv;

	disk.result = result;
	disk.times = times;
	disk.commands = 0;
	nv->unflushed = false;
	f = (struct fault){ 0 };
	assert_int_equal(endpoint_flush(&end, &f), failed);
	assert_int_equal(f.status, failed == 0 ? 0 : STATUS_NOT_FLUSHED);
	disk.times = 0;
}

CASE(repeats_a_flush_only_if_it_was_not_executed)
{
	struct nvme *nv;

	nv = opened(TARGET, 0);
	flushes(NO_WAY, 3, 0);
	assert_int_equal(disk.commands, 4);
	flushes(INTERNAL, 1, -1);
	assert_int_equal(disk.commands, 1);
	nv->away = true;			/* it was waited for before */
	flushes(NO_WAY, EVER, -1);
	assert_int_equal(disk.commands, 11);
	nv->away = false;
	nv->how.timeout = 0;
	flushes(NO_WAY, EVER, -1);
	assert_int_equal(disk.commands, 1);
	nv->how.timeout = 1000;
	sysfs_has("259:0/device/state", "dead\n");
	flushes(NO_WAY, EVER, -1);
	assert_int_equal(disk.commands, 1);
	closed();
}
