/*
 * The queries of a SCSI disk before a copy: kind, capacity, limits, and which
 * of its blocks are mapped.  The disk is a mock.
 */
#include "test.h"

#include <scsi/sg_lib.h>

#include "scsi/scsi.h"
#include "../tools/big_endian.h"

enum { LIMITS = 0xb0, PROVISIONING = 0xb2, NO_LUN = 0x60, MOST = 8 };

static struct {
	int	 type;		/* byte 0 of its INQUIRY data */
	uint64_t last;		/* the last block */
	uint32_t block;
	unsigned char limits[64], provisioning[8];
	size_t	 limits_len, provisioning_len;
	unsigned char status[8 + 16 * MOST];	/* of blocks */
	unsigned n;				/* descriptors in it */
	int	 err;		/* of all commands */
} disk;

static size_t
answer(const unsigned char *cdb, unsigned char *a)
{
	switch (cdb[0]) {
	case 0x12:
		if (cdb[1] == 0) {
			a[0] = (unsigned char)disk.type;
			return 36;
		}
		a[1] = cdb[2];
		if (cdb[2] == LIMITS) {
			memcpy(a, disk.limits, sizeof(disk.limits));
			return disk.limits_len;
		}
		if (cdb[2] == PROVISIONING) {
			memcpy(a, disk.provisioning,
			    sizeof(disk.provisioning));
			return disk.provisioning_len;
		}
		return 0;
	case 0x25:
		put_big(a, disk.last < UINT32_MAX ? disk.last : UINT32_MAX, 4);
		put_big(a + 4, disk.block, 4);
		return 8;
	case 0x9e:
		if (cdb[1] == 0x10) {
			put_big(a, disk.last, 8);
			put_big(a + 8, disk.block, 4);
			return 32;
		}
		memcpy(a, disk.status, sizeof(disk.status));
		put_big(a, 4 + 16 * disk.n, 4);
		return 8 + 16 * (size_t)disk.n;
	}
	return 0;
}

static int
carry(void *to, const struct scsi_command *c, struct scsi_answer *a)
{
	size_t room = c->blocks * (size_t)c->block, n;
	unsigned char all[256] = { 0 };

	*a = (struct scsi_answer){ .device = 0 };
	if (disk.err != 0)
		return disk.err;
	n = answer(c->cdb, all);
	n = n < room ? n : room;
	if (n > 0)
		memcpy(c->buf, all, n);
	a->residual = (int64_t)(room - n);
	return 0;
}

static const struct scsi_path path = { .timeout = 1000, .fd = -1,
	.node = SCSI_CARRIED, .carry = carry };
static struct scsi_disk d;
static struct fault f;

static int
set_up(void **state)
{
	memset(&disk, 0, sizeof(disk));
	disk.last = 999;
	disk.block = 512;
	disk.limits[1] = LIMITS;
	disk.limits_len = 64;
	put_big(disk.limits + 2, 60, 2);
	put_big(disk.limits + 8, 128, 4);
	put_big(disk.limits + 36, 4096, 8);
	disk.provisioning[1] = PROVISIONING;
	put_big(disk.provisioning + 2, 4, 2);
	disk.provisioning[5] = 0x40 | 0x04;
	disk.provisioning_len = 8;
	f.status = 0;
	return 0;
}

EACH(set_up, NULL)

static void
asked(void)
{
	assert_int_equal(scsi_ask(&path, "disk", &d, &f), 0);
	assert_int_equal(d.type, disk.type);
	assert_int_equal(d.blocks, disk.last + 1);
	assert_int_equal(d.block, disk.block);
}

CASE(knows_a_disk)
{
	asked();
	assert_int_equal(d.most, 128);
	assert_int_equal(d.same_most, 4096);
	assert_true(d.zeros);
	assert_true(d.frees_zeros);
}

CASE(asks_disks_alone_for_their_limits)
{
	disk.type = PDT_ZBC;
	asked();
	assert_int_equal(d.most, 128);
	assert_int_equal(d.same_most, 4096);
	assert_true(d.zeros);
	disk.type = PDT_OPTICAL;
	asked();
	assert_int_equal(d.most, 0);
	assert_int_equal(d.same_most, 0);
	assert_false(d.zeros);
}

CASE(takes_pages_as_far_as_they_go)
{
	disk.limits_len = 44;
	disk.provisioning_len = 6;
	asked();
	assert_int_equal(d.same_most, 4096);
	assert_true(d.zeros);
	disk.limits_len = 43;
	disk.provisioning_len = 5;
	asked();
	assert_int_equal(d.most, 128);
	assert_int_equal(d.same_most, 0);
	assert_false(d.zeros);
	disk.limits_len = 12;
	asked();
	assert_int_equal(d.most, 128);
	disk.limits_len = 11;
	asked();
	assert_int_equal(d.most, 0);
	disk.limits_len = 64;
	put_big(disk.limits + 36, UINT64_MAX, 8);
	asked();
	assert_int_equal(d.same_most, UINT32_MAX);
	disk.limits[1] = 0;		/* another page than was asked for */
	asked();
	assert_int_equal(d.most, 0);
}

CASE(frees_only_what_reads_as_zeros)
{
	disk.provisioning_len = 8;
	disk.provisioning[5] = 0x80 | 0x04;	/* not by WRITE SAME */
	asked();
	assert_true(d.zeros);
	assert_false(d.frees_zeros);
	disk.provisioning[5] = 0x40;		/* not as zeros */
	asked();
	assert_false(d.zeros);
	assert_false(d.frees_zeros);
	disk.provisioning[5] = 0x04;		/* it frees nothing */
	asked();
	assert_false(d.zeros);
}

static void
refused(int status)
{
	assert_int_equal(scsi_ask(&path, "disk", &d, &f), -1);
	assert_int_equal(f.status, status);
}

CASE(counts_with_64_bits)
{
	disk.last = UINT32_MAX - 1;
	asked();
	disk.last = UINT32_MAX;
	asked();
	disk.block = 4096;
	disk.last = INT64_MAX / 4096 - 1;
	asked();
	disk.last++;
	refused(STATUS_FILE);
}

CASE(refuses_what_is_no_disk)
{
	disk.type = NO_LUN;
	refused(STATUS_FILE);
	disk.type = 0x20;		/* there is none at the moment */
	refused(STATUS_FILE);
	disk.type = PDT_PROCESSOR;
	refused(STATUS_FILE);
	disk.type = PDT_DISK;
	disk.block = 511;
	refused(STATUS_FILE);
	disk.block = 65537;
	refused(STATUS_FILE);
	disk.block = 65536;
	asked();
	disk.block = 512;
	disk.err = ENOTTY;
	refused(STATUS_FILE);
	disk.err = EIO;
	refused(STATUS_ERRNO + EIO);
}

/* ------------------------------------------------------------------- mapped */

static void
state_of(uint64_t lba, uint32_t n, unsigned char status)
{
	unsigned char *to = disk.status + 8 + 16 * (size_t)disk.n++;

	put_big(to, lba, 8);
	put_big(to + 8, n, 4);
	to[12] = status;
}

static void
spans(uint64_t lba, uint64_t least, uint64_t blocks, bool mapped)
{
	struct scsi_span s;

	assert_int_equal(scsi_mapped(&path, lba, least, &s), SCSI_MOVED);
	assert_int_equal(s.blocks, blocks);
	assert_int_equal(s.mapped, mapped);
}

CASE(joins_what_is_in_the_same_state)
{
	state_of(0, 100, 0);
	state_of(100, 100, 0);
	state_of(200, 100, 1);
	state_of(300, 100, 2);
	state_of(400, 100, 0);
	spans(0, 1, 200, true);
	spans(50, 1, 150, true);
	disk.n = 0;
	state_of(200, 100, 1);
	state_of(300, 100, 2);
	state_of(400, 100, 0);
	spans(200, 1, 200, false);
	spans(250, 1, 150, false);
}

CASE(takes_short_holes_for_data)
{
	state_of(0, 100, 1);
	state_of(100, 100, 0);
	spans(0, 100, 100, false);
	spans(0, 101, 200, true);
	spans(1, 100, 199, true);
	disk.n = 0;
	state_of(0, 100, 0);
	state_of(100, 10, 1);
	state_of(110, 100, 0);
	state_of(210, 20, 1);
	spans(0, 20, 210, true);
}

CASE(believes_no_answer_that_does_not_adjoin)
{
	struct scsi_span s;

	state_of(0, 100, 1);
	state_of(101, 100, 1);
	spans(0, 1, 100, false);
	assert_int_equal(scsi_mapped(&path, 100, 1, &s), SCSI_FATAL);
	disk.n = 0;
	assert_int_equal(scsi_mapped(&path, 0, 1, &s), SCSI_FATAL);
	state_of(0, 0, 1);
	assert_int_equal(scsi_mapped(&path, 0, 1, &s), SCSI_FATAL);
}
