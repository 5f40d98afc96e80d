/*
 * A SCSI disk as an end: commands that fall short, zeros, holes, and what is
 * recorded.  The mock disk has 64 KiB.
 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/scsi/sg.h"
#include "base/status.h"
#include "cli/opts.h"
#include "../tools/big_endian.h"

#define BLOCK	((size_t)512)

enum { BLOCKS = 128, MOST = 8, BYTES = BLOCKS * BLOCK };

static struct {
	unsigned char bytes[BYTES];
	unsigned commands;
	uint32_t largest;	/* blocks of one */
	uint32_t short_of;	/* blocks that are not moved, once */
	uint32_t host;		/* blocks that the host takes; 0: any */
	unsigned mapped;	/* blocks that are, by its answer */
	bool no_same;		/* it does not know WRITE SAME */
} disk;

static struct sg sg;
static struct sg_lane of_lane;
static struct endpoint end;
static struct lane lane;
static struct io io;
static unsigned char buf[2 * BYTES] __attribute__((aligned(4096)));

static const unsigned char unknown[18] = { 0x70, 0, 0x05, [7] = 10,
	[12] = 0x20 };

static void
check(struct scsi_answer *a, const unsigned char *sense)
{
	a->device = 0x02;			/* CHECK CONDITION */
	memcpy(a->sense, sense, 18);
	a->sense_len = 18;
}

static int
carry(void *to, const struct scsi_command *c, struct scsi_answer *a)
{
	unsigned char *at = disk.bytes + c->lba * BLOCK, *out = c->buf;
	uint32_t n = c->blocks, i;

	(void)to;
	*a = (struct scsi_answer){ .device = 0 };
	if (c->cdb != NULL) {		/* GET LBA STATUS */
		assert_int_equal(c->cdb[0], 0x9e);
		memset(out, 0, n * (size_t)c->block);
		put_big(out, 4 + 16, 4);
		put_big(out + 8 + 8, disk.mapped, 4);
		a->residual = (int64_t)(n * (size_t)c->block - 24);
		return 0;
	}
	disk.commands++;
	if (disk.host > 0 && n > disk.host)
		return EINVAL;
	assert_true(c->lba + n <= BLOCKS);
	disk.largest = n > disk.largest ? n : disk.largest;
	if (c->same && disk.no_same) {
		check(a, unknown);
		return 0;
	}
	if (c->same) {
		for (i = 0; i < n; i++)
			memcpy(at + (size_t)i * BLOCK, out, BLOCK);
		return 0;
	}
	n -= disk.short_of;
	a->residual = (int64_t)(disk.short_of * BLOCK);
	disk.short_of = 0;
	if (c->write)
		memcpy(at, out, n * (size_t)BLOCK);
	else
		memcpy(out, at, n * (size_t)BLOCK);
	return 0;
}

static int
set_up(void **state)
{
	size_t i;

	memset(&disk, 0, sizeof(disk));
	for (i = 0; i < BYTES; i++)
		disk.bytes[i] = (unsigned char)(i * 7 + i / BLOCK);
	sg = (struct sg){ .path = { .fd = -1, .node = SCSI_CARRIED,
		.carry = carry },
		.disk = { .blocks = BLOCKS, .block = BLOCK, .same_most = 60 },
		.how = { .cdb_size = 10, .block = BLOCK } };
	of_lane = (struct sg_lane){ .path = sg.path };
	end = (struct endpoint){ .be = &sg_backend, .name = "disk",
		.priv = &sg, .fd = -1, .dir = -1, .layer = -1,
		.cmd = { .unit = BLOCK, .most = MOST * BLOCK,
		.zero_most = 60 * BLOCK, .end = BYTES } };
	free(lane.bounce);
	lane = (struct lane){ .ep = &end, .halt = -1, .priv = &of_lane };
	return 0;
}

EACH(set_up, NULL)

static void
request(enum op op, uint64_t off, size_t len)
{
	io = (struct io){ .op = op, .buf = buf, .off = off, .len = len,
		.bad_off = NOWHERE };
	request_carry_out(&lane, &io);
}

static void
reads(uint64_t off, size_t len)
{
	memset(buf, 0xee, sizeof(buf));
	request(OP_READ, off, len);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, len);
	assert_memory_equal(buf, disk.bytes + off, len);
	assert_int_equal(buf[len], 0xee);
}

CASE(goes_on_after_a_short_command)
{
	disk.short_of = 3;
	reads(BLOCK, 20 * BLOCK);
	assert_int_equal(disk.commands, 3);	/* 5, 8, and the last 7 */
}

CASE(halves_what_the_host_refuses)
{
	end.cmd.most = 64 * BLOCK;
	disk.host = 20;
	reads(0, 64 * BLOCK);
	assert_int_equal(end.cmd.most, 16 * BLOCK);
	assert_int_equal(disk.largest, 16);
	assert_int_equal(end.cmd.shrunk, 2);
}

CASE(makes_zeros)
{
	size_t i;

	request(OP_ZERO, BLOCK, 60 * BLOCK);
	assert_int_equal(io.err, 0);
	assert_int_equal(io.done, 60 * BLOCK);
	assert_int_equal(disk.commands, 1);
	for (i = 0; i < 60 * BLOCK; i++)
		assert_int_equal(disk.bytes[BLOCK + i], 0);
	assert_int_not_equal(disk.bytes[BLOCK - 1], 0);
	assert_int_not_equal(disk.bytes[61 * BLOCK], 0);
	disk.no_same = true;
	request(OP_ZERO, 0, BLOCK);
	assert_int_equal(io.err, EOPNOTSUPP);
}

CASE(tells_of_holes)
{
	struct extent x;

	disk.mapped = 100;
	assert_int_equal(sg_extent(&end, 0, false, &x), 0);
	assert_int_equal(x.len, 100 * BLOCK);
	assert_int_equal(x.off, 0);
	assert_false(x.hole);
	assert_int_equal(sg_extent(&end, 10 * BLOCK + 1, false, &x), 0);
	assert_int_equal(x.off, 10 * BLOCK + 1);
	assert_int_equal(x.len, 90 * BLOCK - 1);
	disk.mapped = BLOCKS + 5;		/* more than it has */
	assert_int_equal(sg_extent(&end, 0, false, &x), 0);
	assert_int_equal(x.len, BYTES);
	assert_int_equal(sg_extent(&end, 10 * BLOCK, false, &x), 0);
	assert_int_equal(x.len, (BLOCKS - 10) * BLOCK);
	disk.mapped = 0;
	assert_int_equal(sg_extent(&end, 0, false, &x), EIO);
}

static void
notes(const char *text)
{
	char said[300];

	sg_note(&end, said, sizeof(said));
	assert_string_equal(said, text);
}

CASE(notes_what_happened)
{
	notes("");
	sg.recovered = 2;
	notes("2 recovered errors");
	sg.again = 3;
	end.cmd.shrunk = 1;
	notes("2 recovered errors");
	end.spec.loud = true;
	notes("2 recovered errors; 3 commands retried; the host takes 8 "
	    "blocks a command");
	sg.again = end.cmd.shrunk = 0;
	sg.indirect = 4;
	notes("2 recovered errors; 4 commands were not direct "
	    "(/sys/module/sg/parameters/allow_dio)");
}
