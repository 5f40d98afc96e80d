/*
 * SCSI disks by their nodes: the queries when they are opened, what their lanes
 * need, how commands end, zeros, holes, and commands in flight at the same time.
 * The mock disk has 64 KiB; its node is a file, which is the reserved buffer, too.
 */
#undef _FORTIFY_SOURCE		/* calls of the kernel are the test's own */
#include "test.h"

#include <linux/fs.h>
#include <linux/major.h>
#include <scsi/sg.h>

#include "../../src/scsi/sg.h"
#include "disk/disk.h"
#include "scsi/scsi.h"
#include "opened.h"
#include "../tools/big_endian.h"
#define POOR_OF_ALL
#include "poor.h"

#define BLOCK	((size_t)512)
#define MOST	((size_t)16)
#define SDA	makedev(8, 0)
#define SG0	makedev(SCSI_GENERIC_MAJOR, 0)

enum { BLOCKS = 128, BYTES = 128 * 512, RESERVED = 8192 };

static struct {
	unsigned char bytes[BYTES];
	uint64_t node_bytes;		/* that a block node says it has */
	int	 host_most;		/* bytes; 0: it does not say */
	unsigned char type, provisioning;
	bool	 read_only;
	bool	 limits;		/* VPD B0h */
	uint32_t sense;			/* of data commands, 0xKAABB, or 0 */
	unsigned char host;		/* or this */
	unsigned times;			/* so often */
	int	 err;			/* of sending them, or 0; with "takes", */
	size_t	 takes;			/* of more bytes than these */
	uint32_t short_of;		/* blocks that are not moved, once */
	uint32_t mapped;		/* blocks that are, it says */
	bool	 no_same;		/* it does not know WRITE SAME */
	struct sg_io_hdr *sent[SCSI_FLIGHTS];	/* not read yet */
	unsigned n;
	unsigned late;			/* answers that are not there yet */
	unsigned commands;
	unsigned char fua;		/* of the last */
	unsigned char ata[512], regs[14];	/* what it tells of itself */
	bool	 no_regs;
} disk;

static unsigned char buf[BYTES] __attribute__((aligned(4096)));
static struct endpoint back;
static struct io io, ios[SCSI_FLIGHTS + 1];

/* ------------------------------------------------------------ the disk */

static void
page(unsigned char *a, unsigned which)
{
	if (which == 0xb0 && disk.limits) {
		a[1] = 0xb0;
		put_big(a + 2, 60, 2);
		put_big(a + 8, MOST, 4);
		put_big(a + 36, 32, 8);
	} else if (which == 0xb2) {
		a[1] = 0xb2;
		put_big(a + 2, 4, 2);
		a[5] = disk.provisioning;
	}
}

static void
inquire(struct sg_io_hdr *h)
{
	unsigned char *a = h->dxferp;

	if ((h->cmdp[1] & 1) != 0) {
		page(a, h->cmdp[2]);
		return;
	}
	a[0] = disk.type;
	memcpy(a + 8, "ATA     ", 8);
}

/* CHECK CONDITION, for 0xKAABB */
static void
check(struct sg_io_hdr *h, uint32_t sense)
{
	h->status = 0x02;
	h->sbp[0] = 0x70;
	h->sbp[2] = (unsigned char)(sense >> 16);
	h->sbp[7] = 10;
	put_big(h->sbp + 12, sense, 2);
	h->sb_len_wr = 18;
}

static void
move(struct sg_io_hdr *h, uint64_t lba, uint64_t n, bool write)
{
	unsigned char map[RESERVED], *to = h->dxferp;
	int fd = -1;

	assert_true(lba + n <= BLOCKS);
	h->resid = (int)(disk.short_of * BLOCK);
	n -= disk.short_of;
	disk.short_of = 0;
	assert_int_equal(h->dxfer_direction, write ? SG_DXFER_TO_DEV :
	    SG_DXFER_FROM_DEV);
	disk.commands++;
	disk.fua = h->cmdp[1] & 0x08;
	if (disk.times > 0) {
		h->host_status = disk.host;
		if (disk.sense != 0)
			check(h, disk.sense);
		disk.times--;
		return;
	}
	if ((h->flags & 4) != 0) {		/* SG_FLAG_MMAP_IO */
		assert_true(n * BLOCK <= sizeof(map));
		fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR);
		to = map;
		assert_true(pread(fd, map, n * BLOCK, 0) ==
		    (long)(n * BLOCK));
	}
	if (write)
		memcpy(disk.bytes + lba * BLOCK, to, n * BLOCK);
	else
		memcpy(to, disk.bytes + lba * BLOCK, n * BLOCK);
	if (fd >= 0) {
		assert_true(pwrite(fd, map, n * BLOCK, 0) ==
		    (long)(n * BLOCK));
		syscall(SYS_close, fd);
	}
}

/* ATA PASS-THROUGH (16) */
static void
pass_through(struct sg_io_hdr *h)
{
	if (h->dxferp != NULL) {
		memcpy(h->dxferp, disk.ata, sizeof(disk.ata));
		return;
	}
	h->status = 0x02;
	if (disk.no_regs)
		return;
	h->sbp[0] = 0x72;
	memcpy(h->sbp + 8, disk.regs, sizeof(disk.regs));
	h->sb_len_wr = 22;
}

static void
run(struct sg_io_hdr *h)
{
	const unsigned char *c = h->cmdp;
	unsigned char *a = h->dxferp;
	uint64_t i;

	h->status = h->sb_len_wr = 0;
	h->host_status = h->driver_status = 0;
	h->resid = 0;
	h->info = 0;
	switch (c[0]) {
	case 0x12:
		inquire(h);
		break;
	case 0x25:
		put_big(a, BLOCKS - 1, 4);
		put_big(a + 4, BLOCK, 4);
		break;
	case 0x08:
		move(h, get_big(c + 1, 3), c[4], false);
		break;
	case 0x28:
	case 0x2a:
		move(h, get_big(c + 2, 4), get_big(c + 7, 2), c[0] == 0x2a);
		break;
	case 0x9e:				/* GET LBA STATUS */
		put_big(a, 20, 4);
		put_big(a + 8, get_big(c + 2, 8), 8);
		put_big(a + 16, disk.mapped, 4);
		h->resid = (int)h->dxfer_len - 24;
		break;
	case 0x93:				/* WRITE SAME */
		disk.commands++;
		if (disk.no_same)
			check(h, 0x52000);
		else
			for (i = 0; i < get_big(c + 10, 4); i++)
				memcpy(disk.bytes + (get_big(c + 2, 8) + i) *
				    BLOCK, a, BLOCK);
		break;
	case 0x85:
		pass_through(h);
		break;
	}
}

static int
answer(int fd, unsigned long request, void *arg)
{
	struct sg_io_hdr *h = arg;

	switch (request) {
	case SG_IO:
		if (disk.err != 0 && (h->cmdp[0] & 0x0d) == 0x08 &&
		    h->dxfer_len > disk.takes)
			return disk.err;
		run(h);
		return 0;
	case BLKGETSIZE64:
		*(uint64_t *)arg = disk.node_bytes;
		return 0;
	case BLKSECTGET:
		*(int *)arg = disk.host_most;
		return disk.host_most == 0 ? ENOTTY : 0;
	case SG_SET_RESERVED_SIZE:
	case SG_SET_FORCE_PACK_ID:
		return 0;
	case SG_GET_RESERVED_SIZE:
		*(int *)arg = RESERVED + 100;
		return 0;
	}
	return ENOTTY;
}

static ssize_t
takes(const void *sent, size_t n)
{
	struct sg_io_hdr *h;

	h = (struct sg_io_hdr *)(uintptr_t)sent;	/* it is no const one */
	if (disk.n == SCSI_FLIGHTS)
		return -EDOM;
	disk.sent[disk.n++] = h;
	return (ssize_t)n;
}

static ssize_t
gives(void *wanted, size_t n)
{
	struct sg_io_hdr *h = wanted;
	unsigned i = 0;

	if (disk.late > 0) {
		disk.late--;
		return -EAGAIN;
	}
	while (i < disk.n && disk.sent[i] != h)
		i++;
	assert_true(i < disk.n);
	disk.sent[i] = disk.sent[--disk.n];
	run(h);
	return (ssize_t)n;
}

/* ------------------------------------------------------------------ cases */

static int
set_up(void **state)
{
	size_t i;

	memset(&disk, 0, sizeof(disk));
	for (i = 0; i < BYTES; i++)
		disk.bytes[i] = (unsigned char)(i * 7 + i / BLOCK);
	disk.node_bytes = BYTES;
	disk.limits = true;
	disk.mapped = 8;
	if (named_begin(disk.bytes, RESERVED) != 0)
		return -1;
	o.cdbsz = 10;
	kernel.answer = answer;
	kernel.takes = takes;
	kernel.gives = gives;
	make_node(name, S_IFCHR, SG0);
	return 0;
}

EACH(set_up, named_end)

CASE(says_why_it_is_not_opened)
{
	deny("open", 0, 1, EACCES);
	is_refused(SOURCE, 0, STATUS_ERRNO + EACCES, "denied");
	deny("flock", 0, 0, EAGAIN);
	is_refused(SOURCE, FLAG_FLOCK, STATUS_ERRNO + EAGAIN, "flock");
	is_refused(SOURCE, FLAG_MMAP | FLAG_EXCL, STATUS_USAGE, "does not go "
	    "with excl");
	disk.type = 0x14;
	is_refused(TARGET, 0, STATUS_REFUSED, "is a zoned disk");
	disk.type = 0x01;
	is_refused(SOURCE, 0, STATUS_FILE, "is not a disk");
	disk.type = 0;
	kernel.answer = NULL;
	is_refused(SOURCE, 0, STATUS_FILE, "takes no SCSI commands");
	kernel.answer = answer;
	make_node(name, S_IFBLK, SDA);
	is_refused(SOURCE, FLAG_MMAP | FLAG_SGIO, STATUS_USAGE, "mmap is for "
	    "sg nodes");
	deny("ioctl", BLKGETSIZE64, 0, EIO);
	is_refused(SOURCE, FLAG_SGIO, STATUS_ERRNO + EIO, "size");
	disk.node_bytes = BYTES - BLOCK;	/* a partition */
	is_refused(SOURCE, FLAG_SGIO, STATUS_REFUSED, "that has 65536");
	disk.node_bytes = 0;			/* blocks that it does not know */
	opened(SOURCE, FLAG_SGIO);
	closed();
	disk.node_bytes = BYTES;
	begin_sysfs();
	sysfs_has("ro", "1\n");
	is_refused(TARGET, FLAG_SGIO, STATUS_ERRNO + EROFS, "write-protected");
	opened(SOURCE, FLAG_SGIO);
	closed();
	sysfs_has("ro", "0\n");
	opened(TARGET, FLAG_SGIO | FLAG_EXCL | FLAG_FLOCK);
	deny("open", 0, 0, EBUSY);
	assert_int_equal(endpoint_prepare(&end, 0600, -1, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EBUSY);
	assert_int_equal(endpoint_prepare(&end, 0600, -1, &f), 0);
	closed();
}

CASE(needs_memory)
{
	unsigned n, were = count_open(), lanes = 0;

	o.engine = ENGINE_ASYNC;
	opened(SOURCE, 0);
	for (n = 0; ; n++) {
		poor_after(n);
		if (lane_attach(&lane, &end, 0, -1) == 0)
			break;
		assert_true(poor_was());
		lanes++;
	}
	assert_false(poor_was());
	lane_closed();
	poor_after(0);
	if (open_end(SOURCE, 0) == 0)
		closed();
	else
		assert_int_equal(f.status, STATUS_ERRNO + ENOMEM);
	poor_was();
	assert_int_equal(count_open(), were);
#ifdef POOR
	assert_int_equal(lanes, 2);
#else
	assert_int_equal(lanes, 0);
#endif
}

static void
has_no_lane(int err)
{
	unsigned were = count_open();

	assert_int_equal(lane_attach(&lane, &end, 0, -1), err);
	assert_int_equal(count_open(), were);
	deny_nothing();
}

CASE(says_what_a_lane_lacks)
{
	opened(SOURCE, FLAG_MMAP);
	deny("open", 0, 0, ENXIO);
	has_no_lane(ENXIO);
	deny("ioctl", SG_GET_RESERVED_SIZE, 0, EIO);
	has_no_lane(EIO);
	deny("mmap", 0, 0, ENOMEM);
	has_no_lane(ENOMEM);
	attached();				/* whole blocks of it */
	assert_int_equal(((struct sg_lane *)lane.priv)->map_len, RESERVED);
	assert_int_equal(lane_detach(&lane), 0);
	deny("ioctl", SG_SET_RESERVED_SIZE, 0, EBUSY);	/* it keeps its own */
	attached();
	assert_null(((struct sg_lane *)lane.priv)->map);
	lane_closed();
	o.engine = ENGINE_ASYNC;
	opened(SOURCE, 0);
	deny("open", 0, 1, EBUSY);		/* the second one */
	has_no_lane(EBUSY);
	deny("ioctl", SG_SET_FORCE_PACK_ID, 0, ENOTTY);
	has_no_lane(ENOTTY);
	closed();
}

static void
transfer(enum op op, uint64_t off, size_t len)
{
	io = (struct io){ .op = op, .buf = buf, .off = off, .len = len };
	lane_transfer(&lane, &io);
}

static void
reads_all(unsigned flags)
{
	lane_opened(SOURCE, flags);
	memset(buf, 0, BYTES);
	transfer(OP_READ, 0, BYTES);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, BYTES);
	assert_memory_equal(buf, disk.bytes, BYTES);
	assert_int_equal(lane_detach(&lane), 0);
}

CASE(moves_by_the_reserved_buffer)
{
	reads_all(FLAG_MMAP);
	closed();
	disk.limits = false;		/* then the buffer is the limit */
	reads_all(FLAG_MMAP | FLAG_DIO);
	assert_int_equal(((struct sg *)end.priv)->indirect, 0);
	closed();
	lane_opened(TARGET, FLAG_MMAP);
	memset(buf, 7, BYTES);
	transfer(OP_WRITE, 0, BYTES);
	assert_int_equal(io.err, 0);
	assert_memory_equal(buf, disk.bytes, BYTES);
	lane_closed();
}

static void
notes(const char *text)
{
	char said[300];

	sg_note(&end, said, sizeof(said));
	assert_string_equal(said, text);
}

CASE(notes_that_it_was_not_direct)
{
	reads_all(FLAG_DIO);
	notes("8 commands were not direct "
	    "(/sys/module/sg/parameters/allow_dio)");
	closed();
	make_node(name, S_IFBLK, SDA);		/* where it means nothing */
	reads_all(FLAG_DIO | FLAG_SGIO);
	notes("");
	closed();
}

CASE(tells_of_holes_where_they_read_as_zeros)
{
	static const struct { unsigned char pages; unsigned flags; bool tells; }
	all[] = {
		{ 0x84, FLAG_SPARSE, true }, { 0x80, FLAG_SPARSE, false },
		{ 0x04, FLAG_SPARSE, false }, { 0x84, 0, false },
	};

	EACH_OF(i, all) {
		disk.provisioning = all[i].pages;
		opened(SOURCE, all[i].flags);
		assert_int_equal(end.is.sparse, all[i].tells);
		closed();
		opened(TARGET, all[i].flags);
		assert_false(end.is.sparse);
		closed();
	}
	disk.provisioning = 0x84;
	deny("ioctl", SG_IO, 7, EIO);		/* it does not tell */
	opened(SOURCE, FLAG_SPARSE);
	assert_false(end.is.sparse);
	closed();
}

static void
maps(uint32_t mapped, uint64_t off, uint64_t len)
{
	struct extent x;

	disk.mapped = mapped;
	assert_int_equal(sg_extent(&end, off, false, &x), 0);
	assert_int_equal(x.off, off);
	assert_int_equal(x.len, len);
	assert_false(x.hole);
}

CASE(tells_no_more_than_it_has)
{
	struct extent x;

	opened(SOURCE, FLAG_SPARSE);
	maps(100, 0, 100 * BLOCK);
	maps(100, 10 * BLOCK + 1, 100 * BLOCK - 1);
	maps(BLOCKS + 5, 0, BYTES);
	maps(BLOCKS + 5, 10 * BLOCK, (BLOCKS - 10) * BLOCK);
	disk.mapped = 0;
	assert_int_equal(sg_extent(&end, 0, false, &x), EIO);
	closed();
}

CASE(makes_zeros)
{
	lane_opened(TARGET, 0);
	disk.bytes[BLOCK - 1] = disk.bytes[61 * BLOCK] = 1;
	transfer(OP_ZERO, BLOCK, 60 * BLOCK);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 60 * BLOCK);
	assert_int_equal(disk.commands, 2);	/* 32 blocks, and 28 */
	memset(buf, 0, 60 * BLOCK);
	assert_memory_equal(disk.bytes + BLOCK, buf, 60 * BLOCK);
	assert_int_equal(disk.bytes[BLOCK - 1], 1);
	assert_int_equal(disk.bytes[61 * BLOCK], 1);
	disk.no_same = true;
	transfer(OP_ZERO, 0, BLOCK);
	assert_int_equal(io.err, EOPNOTSUPP);
	lane_closed();
}

CASE(goes_on_after_a_short_command)
{
	lane_opened(SOURCE, 0);
	disk.short_of = 3;
	memset(buf, 0xee, BYTES);
	transfer(OP_READ, BLOCK, 20 * BLOCK);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 20 * BLOCK);
	assert_memory_equal(buf, disk.bytes + BLOCK, 20 * BLOCK);
	assert_int_equal(buf[20 * BLOCK], 0xee);
	assert_int_equal(disk.commands, 2);	/* 13 blocks, and 7 */
	lane_closed();
}

CASE(halves_no_further_than_a_page)
{
	disk.limits = false;
	lane_opened(SOURCE, 0);
	disk.err = EINVAL;
	disk.takes = 20 * BLOCK;
	end.cmd.most = 64 * BLOCK;
	transfer(OP_READ, 0, 64 * BLOCK);
	assert_int_equal(io.done, 64 * BLOCK);
	assert_int_equal(end.cmd.most, 16 * BLOCK);
	assert_int_equal(end.cmd.shrunk, 2);
	assert_int_equal(disk.commands, 4);
	notes("");
	end.spec.loud = true;
	((struct sg *)end.priv)->again = 3;
	((struct sg *)end.priv)->recovered = 2;
	notes("2 recovered errors; 3 commands retried; the host takes "
	    "16 blocks a command");
	end.spec.loud = false;
	notes("2 recovered errors");
	disk.err = ENOMEM;			/* whatever their size */
	disk.takes = 0;
	transfer(OP_READ, 0, BYTES);
	assert_int_equal(io.err, ENOMEM);
	assert_int_equal(end.cmd.most, 8 * BLOCK);
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(io.err, ENOMEM);
	disk.err = EPERM;
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(io.err, EPERM);
	lane_closed();
}

/* Where the disk says nothing, as many blocks as the command has bits for. */
CASE(moves_what_a_command_can_say)
{
	disk.limits = false;
	o.cdbsz = 6;
	opened(SOURCE, 0);
	assert_int_equal(end.cmd.most, 256 * BLOCK);
	closed();
	o.cdbsz = 10;
	opened(SOURCE, 0);
	assert_int_equal(end.cmd.most, 0xffff * BLOCK);
	closed();
}

static void
fails(uint32_t sense, unsigned char host, unsigned times, int err)
{
	disk.sense = sense;
	disk.host = host;
	disk.times = times;
	transfer(OP_READ, 10 * BLOCK, BLOCK);
	assert_int_equal(io.err, err);
	disk.times = 0;
}

CASE(says_which_failed_reads_are_doubtful)
{
	struct sg *sg;

	lane_opened(SOURCE, 0);
	sg = end.priv;
	fails(0xb4b00, 0, 3, 0);		/* aborted, and again */
	assert_int_equal(sg->again, 3);
	assert_false(io.doubtful);
	fails(0xb4b00, 0, SCSI_TRIES + 1, EPROTO);
	assert_true(sg->aborts && io.doubtful);
	fails(0xb4b00, 0, FEW_TRIES + 1, EPROTO);	/* enough then */
	assert_true(io.doubtful);
	fails(0x31100, 0, 1, EIO);		/* this is not */
	assert_false(io.doubtful);
	fails(0, SCSI_TIMED_OUT, 1, EPROTO);	/* this one did not answer */
	assert_true(io.doubtful);
	fails(0x52100, 0, 1, EPROTO);		/* out of range */
	assert_true(io.doubtful);
	fails(0x52000, 0, 1, EPROTO);		/* it does not know it */
	assert_false(io.doubtful);
	fails(0, 1, 1, ENODEV);			/* no connection */
	assert_false(io.doubtful);
	disk.sense = 0xb4b00;
	disk.times = SCSI_TRIES + 1;
	transfer(OP_WRITE, 0, BLOCK);
	assert_false(io.doubtful);
	disk.times = 0;
	fails(0x62800, 0, 1, EPROTO);		/* the medium is changed */
	assert_true(sg->changed);
	assert_int_equal(io.status, UNIT_ATTENTION);
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(io.err, EPROTO);
	assert_int_equal(disk.times, 0);
	assert_non_null(strstr(io.why, "medium was changed"));
	lane_closed();
}

CASE(says_why_a_part_of_a_block_is_not_read)
{
	lane_opened(SOURCE, 0);
	disk.sense = 0x31100;
	disk.times = 1;
	transfer(OP_READ, 1, 10);
	assert_int_equal(io.err, EIO);
	assert_int_equal(io.done, 0);
	lane_closed();
}

CASE(repeats_an_aborted_write_as_often_as_ever)
{
	struct sg *sg;

	lane_opened(TARGET, 0);
	sg = end.priv;
	sg->aborts = true;			/* reads, as it seems */
	disk.sense = 0xb4b00;
	disk.times = SCSI_TRIES;
	transfer(OP_WRITE, 0, BLOCK);
	assert_int_equal(io.err, 0);
	disk.times = SCSI_TRIES + 1;
	transfer(OP_WRITE, 0, BLOCK);
	assert_int_equal(io.err, EPROTO);
	disk.sense = 0x62900;			/* what it had written is lost */
	disk.times = 1;
	transfer(OP_WRITE, 0, BLOCK);
	assert_int_equal(io.err, EPROTO);
	lane_closed();
}

/* ------------------------------------------------------------- reading back */

CASE(reads_back_past_the_cache)
{
	unsigned were;

	o.cdbsz = 6;
	opened(TARGET, 0);
	were = count_open();
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), 0);
	assert_int_equal(((struct sg *)back.priv)->how.cdb_size, 10);
	assert_int_equal(disk.fua, 8);
	assert_int_equal(endpoint_close(&back), 0);
	disk.sense = 0x52400;
	disk.times = 1;
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	assert_non_null(strstr(f.text, "refuses READ with FUA"));
	deny("open", 0, 0, EACCES);
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EACCES);
	assert_int_equal(count_open(), were);
	closed();
	opened(TARGET, FLAG_EXCL);		/* by the same descriptor */
	deny("fcntl", F_DUPFD_CLOEXEC, 0, EMFILE);
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), -1);
	assert_int_equal(f.status, STATUS_ERRNO + EMFILE);
	assert_int_equal(endpoint_readback(&back, &end, 4096, &f), 0);
	assert_int_equal(lane_attach(&lane, &back, 0, -1), 0);
	transfer(OP_READ, 0, BYTES);
	assert_int_equal(io.done, BYTES);
	assert_int_equal(lane_detach(&lane), 0);
	assert_int_equal(endpoint_close(&back), 0);
	closed();
}

/* ------------------------------------------------------------- in flight */

static void
offers(const char *why, uint64_t most)
{
	if (why == NULL) {
		assert_null(end.sync_why);
		assert_int_equal(end.geo.depth, SCSI_FLIGHTS);
		assert_int_equal(end.geo.io_max, most);
	} else {
		assert_non_null(strstr(end.sync_why, why));
	}
	closed();
}

CASE(has_many_in_flight_only_by_sg_nodes)
{
	static const struct { int host; uint64_t most; } all[] = {
		{ 0, MOST * BLOCK }, { -1, MOST * BLOCK },
		{ 100, MOST * BLOCK }, { 4096, 4096 },
		{ 1 << 20, MOST * BLOCK },
	};

	opened(SOURCE, 0);
	offers("waited for", 0);
	o.engine = ENGINE_ASYNC;
	EACH_OF(i, all) {
		disk.host_most = all[i].host;
		opened(SOURCE, 0);
		offers(NULL, all[i].most);
	}
	opened(SOURCE, FLAG_MMAP);
	offers("one buffer", 0);
	opened(SOURCE, FLAG_EXCL);
	offers("one descriptor", 0);
	make_node(name, S_IFBLK, SDA);
	opened(SOURCE, FLAG_SGIO);
	offers("SG_IO", 0);
}

static bool
starts(unsigned i, enum op op, uint64_t off, size_t len)
{
	ios[i] = (struct io){ .op = op, .buf = buf + off, .off = off,
		.len = len };
	return lane_start(&lane, &ios[i], NULL);
}

/* Serve until a request is over. */
static struct io *
over(void)
{
	struct io *done;
	short events;
	unsigned n;

	for (n = 0; n < 10; n++) {
		if ((done = lane_ended(&lane)) != NULL)
			return done;
		(void)lane_pollfd(&lane, &events);
		assert_int_equal(events, POLLIN);
		lane_service(&lane);
	}
	fail();
	return NULL;
}

CASE(starts_what_it_can)
{
	struct sg *sg;
	unsigned i;
	short events;

	o.engine = ENGINE_ASYNC;
	lane_opened(SOURCE, 0);
	sg = end.priv;
	assert_int_equal(lane_pollfd(&lane, &events), -1);
	assert_false(starts(0, OP_ZERO, 0, BLOCK));
	assert_false(starts(0, OP_READ, 1, BLOCK));
	assert_false(starts(0, OP_READ, 0, BLOCK + 1));
	assert_false(starts(0, OP_READ, BYTES, BLOCK));
	assert_false(starts(0, OP_READ, BYTES - BLOCK, 2 * BLOCK));
	sg->changed = true;
	assert_false(starts(0, OP_READ, 0, BLOCK));
	sg->changed = false;
	deny("write", 0, 0, EDOM);
	assert_false(starts(0, OP_READ, 0, BLOCK));
	memset(buf, 0, BYTES);
	for (i = 0; i < SCSI_FLIGHTS; i++)
		assert_true(starts(i, OP_READ, (size_t)i * 4 * BLOCK, 4 * BLOCK));
	assert_false(starts(i, OP_READ, 0, BLOCK));	/* no more */
	assert_true(lane_pollfd(&lane, &events) >= 0);
	disk.late = 100;			/* nothing has been answered */
	lane_service(&lane);
	assert_null(lane_ended(&lane));
	disk.late = 0;
	for (i = 0; i < SCSI_FLIGHTS; i++) {
		struct io *done = over();

		assert_int_equal(done->err, 0);
		assert_int_equal(done->done, 4 * BLOCK);
	}
	assert_memory_equal(buf, disk.bytes, (size_t)SCSI_FLIGHTS * 4 * BLOCK);
	assert_null(lane_ended(&lane));
	lane_closed();
}

/* One of more commands than one, of which each may fail. */
CASE(sends_one_command_after_the_other)
{
	unsigned n;

	o.engine = ENGINE_ASYNC;
	lane_opened(SOURCE, 0);
	for (n = 0; n < 4; n++) {
		memset(buf, 0, BYTES);
		assert_true(starts(0, OP_READ, 0, 4 * MOST * BLOCK));
		if (n > 0)
			deny("write", 0, n - 1, ENOMEM);
		assert_ptr_equal(over(), &ios[0]);
		assert_int_equal(ios[0].err, 0);
		assert_int_equal(ios[0].done, 4 * MOST * BLOCK);
		assert_memory_equal(buf, disk.bytes, 4 * MOST * BLOCK);
		deny_nothing();
	}
	/* what cannot be read is asked for again by the one who waits */
	disk.sense = 0x31100;
	disk.times = 1;
	assert_true(starts(0, OP_READ, 0, BLOCK));
	assert_ptr_equal(over(), &ios[0]);
	assert_int_equal(ios[0].err, EIO);
	disk.sense = 0xb4b00;
	disk.times = 1;
	assert_true(starts(0, OP_READ, 0, BLOCK));
	assert_int_equal(over()->err, 0);
	assert_true(starts(0, OP_READ, 0, BLOCK));
	deny("read", 0, 0, ENODEV);		/* there is no answer */
	assert_int_equal(over()->err, ENODEV);
	lane_closed();
}

/* ------------------------------------------------------ hidden areas (ATA) */

static void
registers(uint64_t last)
{
	static const int at[] = { 7, 9, 11, 6, 8, 10 };
	size_t i;

	disk.regs[0] = 0x09;
	disk.regs[1] = 12;
	disk.regs[13] = 0x50;
	for (i = 0; i < 6; i++)
		disk.regs[at[i]] = (unsigned char)(last >> (i < 3 ? i * 8 :
		    24 + (i - 3) * 8));
}

static void
configuration(uint64_t last)
{
	unsigned char sum = 0;
	size_t i;

	memset(disk.ata, 0, sizeof(disk.ata));
	for (i = 0; i < 8; i++)
		disk.ata[6 + i] = (unsigned char)(last >> 8 * i);
	disk.ata[510] = 0xa5;
	for (i = 0; i < 511; i++)
		sum = (unsigned char)(sum + disk.ata[i]);
	disk.ata[511] = (unsigned char)-sum;
}

static void
hides(uint64_t area, uint64_t overlay)
{
	struct ata_hidden h;

	assert_true(ata_hidden(&end, &h));
	assert_int_equal(h.area, area * BLOCK);
	assert_int_equal(h.overlay, overlay * BLOCK);
}

static void
asks_nobody(void)
{
	struct ata_hidden h;

	assert_false(ata_hidden(&end, &h));
	assert_int_equal(h.area, 0);
	assert_int_equal(h.overlay, 0);
}

/* A disk of ATA at a node, as sysfs has it. */
static void
ata_disk(void)
{
	make_node(name, S_IFBLK, SDA);
	begin_sysfs();
	sysfs_has("device/vendor", "ATA     \n");
	sysfs_has("size", "128\n");
	opened(SOURCE, FLAG_SGIO);
}

CASE(tells_what_an_ata_disk_hides)
{
	ata_disk();
	registers(BLOCKS + 9);
	configuration(BLOCKS + 29);
	hides(10, 20);
	end.lim.part = 1;			/* of the whole disk */
	end.lim.disk_size = BYTES - (int64_t)BLOCK;
	hides(11, 20);
	end.lim.part = 0;
	configuration(BLOCKS - 1);
	hides(10, 0);
	registers(BLOCKS - 1);
	hides(0, 0);
	configuration((uint64_t)1 << 48);	/* more than there can be */
	hides(0, 0);
	closed();
}

CASE(believes_no_answer_of_an_ata_disk_that_is_not_right)
{
	static const struct { int at; unsigned char is; } bad[] = {
		{ 0, 0x0a }, { 1, 11 }, { 13, 0x51 },
	};

	ata_disk();
	configuration(BLOCKS + 29);
	EACH_OF(i, bad) {
		registers(BLOCKS + 9);
		disk.regs[bad[i].at] = bad[i].is;
		hides(0, 30);
	}
	registers(BLOCKS + 9);
	disk.no_regs = true;
	hides(0, 30);
	disk.ata[511]++;
	hides(0, 0);
	configuration(BLOCKS + 29);
	disk.ata[510]++;
	disk.ata[511]--;
	hides(0, 0);
	deny("ioctl", SG_IO, 0, EIO);
	deny("ioctl", SG_IO, 0, EIO);
	deny("ioctl", SG_IO, 0, EIO);
	hides(0, 0);
	closed();
}

CASE(asks_no_other_disk)
{
	ata_disk();
	end.geo.block = 0;
	asks_nobody();
	end.geo.block = 8192;
	asks_nobody();
	end.geo.block = BLOCK;
	deny("open", 0, 0, EACCES);
	asks_nobody();
	end.id.node = SG0;			/* its name is another's now */
	asks_nobody();
	end.id.node = SDA;
	end.is.inherited = true;
	asks_nobody();
	end.is.inherited = false;
	sysfs_has("partition", "1\n");
	asks_nobody();
	sysfs_has("device/vendor", "WD\n");
	sysfs_has("partition", "0\n");
	asks_nobody();
	end.kind = END_FILE;
	asks_nobody();
	closed();
}
