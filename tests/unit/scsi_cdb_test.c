/*
 * The CDBs of SCSI commands: the smallest that can express the blocks, but at
 * least the size wanted.
 */
#include "test.h"

#include "scsi/scsi.h"

static unsigned char cdb[16];

static void
is(const struct scsi_command *c, const char *bytes, unsigned len)
{
	memset(cdb, 0xee, sizeof(cdb));
	assert_int_equal(scsi_cdb(cdb, c), len);
	assert_memory_equal(cdb, bytes, len);
}

static unsigned
size(unsigned wanted, uint64_t lba, uint32_t blocks)
{
	const struct scsi_command c = { .cdb_size = wanted, .lba = lba,
		.blocks = blocks, .block = 512 };

	return scsi_cdb(cdb, &c);
}

CASE(is_as_large_as_needed)
{
	assert_int_equal(size(6, 0, 256), 6);
	assert_int_equal(size(6, 0, 257), 10);
	assert_int_equal(size(6, 0x1fffff, 1), 6);
	assert_int_equal(size(6, 0x1fffff, 2), 10);
	assert_int_equal(size(10, 0, 0xffff), 10);
	assert_int_equal(size(10, 0, 0x10000), 12);
	assert_int_equal(size(6, 0, 0x10000), 12);
	assert_int_equal(size(10, 0xffffffff, 1), 10);
	assert_int_equal(size(10, 0xffffffff, 2), 16);
	assert_int_equal(size(12, 0x100000000, 1), 16);
	assert_int_equal(size(12, 0, 1), 12);
	assert_int_equal(size(16, 0, 1), 16);
}

CASE(reads_and_writes)
{
	struct scsi_command c = { .cdb_size = 6, .lba = 0x123456,
		.blocks = 0x100, .block = 512 };

	is(&c, "\x08\x12\x34\x56\0\0", 6);
	c.write = true;
	c.blocks = 7;
	is(&c, "\x0a\x12\x34\x56\x07\0", 6);
	c.cdb_size = 10;
	c.lba = 0x12345678;
	c.blocks = 0x1234;
	is(&c, "\x2a\0\x12\x34\x56\x78\0\x12\x34\0", 10);
	c.write = false;
	c.fua = true;
	is(&c, "\x28\x08\x12\x34\x56\x78\0\x12\x34\0", 10);
	c.dpo = true;
	c.blocks = 0x123456;
	is(&c, "\xa8\x18\x12\x34\x56\x78\0\x12\x34\x56\0\0", 12);
	c.fua = c.dpo = false;
	c.write = true;
	is(&c, "\xaa\0\x12\x34\x56\x78\0\x12\x34\x56\0\0", 12);
	c.lba = 0x1234567890;
	is(&c, "\x8a\0\0\0\0\x12\x34\x56\x78\x90\0\x12\x34\x56\0\0", 16);
	c.write = false;
	is(&c, "\x88\0\0\0\0\x12\x34\x56\x78\x90\0\x12\x34\x56\0\0", 16);
	assert_int_equal(scsi_data_length(&c), 0x123456 * 512);
}

CASE(writes_the_same)
{
	struct scsi_command c = { .write = true, .same = true, .lba = 0x1234,
		.blocks = 0x56, .block = 512 };

	is(&c, "\x93\0\0\0\0\0\0\0\x12\x34\0\0\0\x56\0\0", 16);
	c.unmap = true;
	is(&c, "\x93\x08\0\0\0\0\0\0\x12\x34\0\0\0\x56\0\0", 16);
	assert_int_equal(scsi_data_length(&c), 512);
}
