/*
 * An NVMe disk as an end: how requests become commands, and how these end.
 */
#undef _FORTIFY_SOURCE		/* poll() is one of the test's own */
#include "test.h"
#include "nvme_disk.h"

static struct io io;
static unsigned char buf[BLOCKS * BLOCK + BLOCK]
    __attribute__((aligned(4096)));

static void
transfer(enum op op, uint64_t off, size_t len)
{
	io = (struct io){ .op = op, .buf = buf, .off = off, .len = len };
	lane_transfer(&lane, &io);
}

/* Whether buf has what the disk has from "off" on. */
static bool
right(uint64_t off, size_t len)
{
	return memcmp(buf, disk.bytes + off, len) == 0;
}

EACH(set_up, tear_down)

CASE(moves_whole_blocks)
{
	transfer(OP_READ, 3 * BLOCK, 40 * BLOCK);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 40 * BLOCK);
	assert_true(right(3 * BLOCK, 40 * BLOCK));
	assert_int_equal(disk.commands, 3);	/* of 16, 16, and 8 */
	memset(buf, 0xee, sizeof(buf));
	transfer(OP_WRITE, 5 * BLOCK, 2 * BLOCK);
	assert_int_equal(io.done, 2 * BLOCK);
	assert_int_equal(disk.bytes[5 * BLOCK - 1], 5);
	assert_int_equal(disk.bytes[5 * BLOCK], 0xee);
	assert_int_equal(disk.bytes[7 * BLOCK - 1], 0xee);
	assert_int_equal(disk.bytes[7 * BLOCK], 8);
}

/* The host takes no command of more than 10 blocks. */
CASE(sends_smaller_ones)
{
	char text[200];

	end.spec.loud = true;
	disk.rule[0] = (struct rule){ READ, LONG, .least = 11,
		.result = -EINVAL };
	transfer(OP_READ, 0, 32 * BLOCK);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 32 * BLOCK);
	assert_true(right(0, 32 * BLOCK));
	assert_int_equal(end.cmd.most, 8 * BLOCK);
	assert_int_equal(end.cmd.shrunk, 1);
	assert_int_equal(disk.commands, 5);
	nvme_backend.note(&end, text, sizeof(text));
	assert_string_equal(text, "the host takes 8 blocks a command");
	nvme.again = 3;
	nvme_backend.note(&end, text, sizeof(text));
	assert_string_equal(text, "3 commands retried; the host takes 8 "
	    "blocks a command");
	end.spec.loud = false;
	nvme_backend.note(&end, text, sizeof(text));
	assert_string_equal(text, "");
}

CASE(sends_no_smaller_ones_for_zeros)
{
	disk.rule[0] = (struct rule){ ZEROES, LONG, .result = -EINVAL };
	transfer(OP_ZERO, 0, 16 * BLOCK);
	assert_int_equal(io.err, EINVAL);
	assert_int_equal(disk.commands, 1);
	assert_int_equal(end.cmd.most, 16 * BLOCK);
}

CASE(tries_again_what_passes)
{
	char text[200];

	disk.rule[0] = (struct rule){ WRITE, 3, .result = NOT_READY };
	transfer(OP_WRITE, 0, BLOCK);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, BLOCK);
	assert_int_equal(disk.commands, 4);
	assert_int_equal(disk.pauses, 3);
	end.spec.loud = true;
	nvme_backend.note(&end, text, sizeof(text));
	assert_string_equal(text, "3 commands retried");
}

CASE(does_not_try_for_ever)
{
	disk.rule[0] = (struct rule){ WRITE, LONG, .result = NOT_READY };
	transfer(OP_WRITE, 0, BLOCK);
	assert_int_equal(io.err, EPROTO);
	assert_int_equal(io.status, 2);
	assert_non_null(strstr(io.why, "not ready"));
	assert_int_equal(disk.commands, 11);
	disk.rule[0].result = -EINTR;
	transfer(OP_WRITE, 0, BLOCK);
	assert_int_equal(io.err, ETIMEDOUT);
	assert_int_equal(io.status, STATUS_TIMEOUT);
}

CASE(knows_a_disk_that_has_gone)
{
	disk.gone = true;
	disk.rule[0] = (struct rule){ READ, LONG, .result = NOT_READY };
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(io.err, ENODEV);
	assert_int_equal(io.status, 0);
	assert_string_equal(io.why, "the device has gone");
	assert_int_equal(disk.commands, 1);
	disk.rule[0] = (struct rule){ READ, LONG, .result = UNREADABLE };
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(io.err, EIO);
	assert_int_equal(io.status, STATUS_MEDIUM);
}

/* What is no error of the medium may be one of these blocks. */
CASE(says_which_failed_reads_are_doubtful)
{
	disk.rule[0] = (struct rule){ READ, LONG, 8, 4,
		.result = SANITIZING };
	transfer(OP_READ, 8 * BLOCK, 2 * BLOCK);
	assert_int_equal(io.err, EPROTO);
	assert_true(io.doubtful);
	transfer(OP_READ, 0, 4 * BLOCK);
	assert_false(io.doubtful);
	disk.rule[0].result = UNKNOWN;
	transfer(OP_READ, 8 * BLOCK, BLOCK);
	assert_int_equal(io.err, EPROTO);
	assert_false(io.doubtful);
	disk.rule[0].result = -EPERM;	/* the kernel says why */
	transfer(OP_READ, 8 * BLOCK, BLOCK);
	assert_int_equal(io.err, EPERM);
	assert_false(io.doubtful);
	disk.rule[0] = (struct rule){ WRITE, LONG, 8, 4, .result = SANITIZING };
	transfer(OP_WRITE, 8 * BLOCK, 2 * BLOCK);
	assert_int_equal(io.err, EPROTO);
	assert_false(io.doubtful);
}

CASE(sends_nothing_to_another_format)
{
	struct io_uring_sqe sqe[2];
	unsigned before;

	end.spec.coe = true;
	disk.rule[0] = (struct rule){ READ, 1, .result = FORMATTED };
	disk.other = true;		/* as it says itself, too */
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(io.err, EPROTO);
	assert_non_null(strstr(io.why, "reformatted"));
	before = disk.commands;
	transfer(OP_WRITE, 0, BLOCK);
	assert_int_equal(io.err, EPROTO);
	assert_int_equal(disk.commands, before);
	io = (struct io){ .op = OP_READ, .buf = buf, .len = BLOCK };
	assert_false(lane_start(&lane, &io, sqe));
}

/* A disk that was asked to tell what is deallocated. */
CASE(reads_what_is_deallocated)
{
	memset(buf, 0xee, sizeof(buf));
	disk.rule[0] = (struct rule){ READ, LONG, 3, 2, .result = FREED };
	nvme.disk.zeros = true;
	transfer(OP_READ, 0, 8 * BLOCK);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 8 * BLOCK);
	assert_true(right(0, 3 * BLOCK));
	assert_int_equal(buf[3 * BLOCK - 1], 3);
	assert_int_equal(buf[3 * BLOCK], 0);
	assert_int_equal(buf[5 * BLOCK - 1], 0);
	assert_int_equal(buf[5 * BLOCK], 6);
	assert_int_equal(buf[8 * BLOCK], 0xee);
	nvme.disk.zeros = false;
	transfer(OP_READ, 0, 8 * BLOCK);
	assert_int_equal(io.err, EIO);
}

CASE(makes_zeros)
{
	transfer(OP_ZERO, 2 * BLOCK, 20 * BLOCK);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 20 * BLOCK);
	assert_int_equal(disk.bytes[2 * BLOCK - 1], 2);
	assert_int_equal(disk.bytes[2 * BLOCK], 0);
	assert_int_equal(disk.bytes[22 * BLOCK - 1], 0);
	assert_int_equal(disk.bytes[22 * BLOCK], 23);
	assert_int_equal(disk.commands, 2);
	assert_int_equal(disk.last.cdw12 & DEALLOCATE, 0);
	assert_int_not_equal(disk.last.cdw10, 0);
	assert_int_equal(disk.last.cdw14, 0);	/* no protection */
	nvme.disk.frees_zeros = true;
	transfer(OP_ZERO, 0, BLOCK);
	assert_int_equal(disk.last.cdw12 & DEALLOCATE, 0);
	end.spec.flags = FLAG_TRIM;
	transfer(OP_ZERO, 0, BLOCK);
	assert_int_equal(disk.last.cdw12 & DEALLOCATE, DEALLOCATE);
	transfer(OP_WRITE, 0, BLOCK);
	assert_int_equal(disk.last.cdw12 & DEALLOCATE, 0);
}

CASE(makes_no_zeros_where_refused)
{
	disk.rule[0] = (struct rule){ ZEROES, LONG, .result = UNKNOWN };
	transfer(OP_ZERO, 0, BLOCK);
	assert_int_equal(io.err, EOPNOTSUPP);
	assert_int_equal(disk.commands, 1);
	assert_int_equal(disk.bytes[0], 1);
}

/* The first pass of a rescue only. */
CASE(is_hasty_at_first)
{
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(disk.last.cdw12 & LIMITED, 0);
	end.spec.rescue = true;
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(disk.last.cdw12 & LIMITED, LIMITED);
	io = (struct io){ .op = OP_READ, .buf = buf, .len = BLOCK,
		.careful = true };
	lane_transfer(&lane, &io);
	assert_int_equal(disk.last.cdw12 & LIMITED, 0);
	end.is.back = true;
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(disk.last.cdw12 & LIMITED, 0);
}

/* -------------------------------------------------------- without waiting */

static bool
submits(enum op op, uint64_t off, size_t len)
{
	struct io_uring_sqe sqe[2] = { { .opcode = 0 } };

	io = (struct io){ .op = op, .buf = buf, .off = off, .len = len };
	return lane_start(&lane, &io, sqe);
}

CASE(submits_what_is_one_command)
{
	assert_true(submits(OP_READ, 0, 16 * BLOCK));
	assert_false(submits(OP_READ, 0, 17 * BLOCK));
	assert_int_equal(disk.commands, 0);
}

/* What comes back from the ring, for 2 blocks from block 6 on. */
static void
finish(enum op op, int result)
{
	assert_true(submits(op, 6 * BLOCK, 2 * BLOCK));
	lane_finish(&lane, &io, result);
}

CASE(finishes_by_what_the_disk_says)
{
	finish(OP_READ, 0);
	assert_int_equal(io.done, 2 * BLOCK);
	finish(OP_READ, UNREADABLE);
	assert_int_equal(io.err, EIO);
	assert_int_equal(io.done, 0);
	finish(OP_WRITE, SANITIZING);
	assert_int_equal(io.err, EPROTO);
	assert_int_equal(disk.commands, 0);
	/* and by transfer, what may go otherwise */
	finish(OP_READ, NOT_READY);
	assert_int_equal(io.done, 2 * BLOCK);
	assert_int_equal(disk.commands, 1);
	assert_true(right(6 * BLOCK, 2 * BLOCK));
	finish(OP_READ, -EINVAL);
	assert_int_equal(disk.commands, 2);
	finish(OP_READ, FREED);
	assert_int_equal(disk.commands, 3);
	assert_int_equal(io.err, 0);
	finish(OP_WRITE, 0);
}

CASE(asks_whether_its_format_is_another)
{
	finish(OP_READ, FORMATTED);		/* it is not: once more */
	assert_int_equal(io.err, 0);
	assert_int_equal(disk.commands, 1);
	disk.other = true;
	finish(OP_READ, FORMATTED);
	assert_int_equal(io.err, EPROTO);
	assert_true(nvme.changed);
	assert_non_null(strstr(io.why, "reformatted"));
	assert_false(submits(OP_READ, 0, BLOCK));
	lane_finish(&lane, &io, FORMATTED);
	assert_int_equal(io.err, EPROTO);
	assert_int_equal(disk.commands, 1);	/* none was sent */
	/* it may say so of a range that it does not have any more */
	nvme.changed = false;
	disk.rule[0] = (struct rule){ READ, 1, .result = 0x80 };
	transfer(OP_READ, 0, BLOCK);
	assert_int_equal(io.err, EPROTO);
	assert_true(nvme.changed);
}

CASE(cuts_the_longest_commands)
{
	nvme.disk.blocks = (uint64_t)1 << 20;
	end.cmd.end = nvme.disk.blocks * BLOCK;
	end.cmd.most = NVME_BLOCKS * BLOCK;
	disk.rule[0] = (struct rule){ READ, 1, .result = UNREADABLE };
	transfer(OP_READ, 0, (NVME_BLOCKS + 1) * BLOCK);
	assert_int_equal(io.err, EIO);
	assert_int_equal(disk.last.cdw12 & 0xffff, NVME_BLOCKS - 1);
	disk.rule[0] = (struct rule){ READ, 1, .result = -EINVAL };
	disk.rule[1] = (struct rule){ READ, 1, .result = UNREADABLE };
	nvme.disk.block = end.cmd.unit = 65536;	/* one of them is not halved */
	transfer(OP_READ, 0, 65536);
	assert_int_equal(io.err, EINVAL);
}
