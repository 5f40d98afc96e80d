/*
 * Headers of LUKS and BitLocker: where what is encrypted may begin.
 */
#include "test.h"
#include "fsimage.h"

enum { SIZE = 64 << 10 };

static unsigned char disk[SIZE];

/* A number, the highest byte first. */
static void
set(size_t at, int bytes, uint64_t v)
{
	while (bytes-- > 0) {
		disk[at + (size_t)bytes] = (unsigned char)v;
		v >>= 8;
	}
}

static int
set_up(void **state)
{
	memset(disk, 0, sizeof(disk));
	image_begin("crypto_LUKS", disk, sizeof(disk));
	memcpy(disk, "LUKS\xba\xbe", 6);
	set(6, 2, 2);
	set(8, 8, 16 << 10);
	memcpy(disk + 24, "home", 4);
	return 0;
}

EACH(set_up, image_end)

CASE(knows_its_name)
{
	uint32_t stamp;

	assert_int_equal(image_read(FS_META), FS_UNKNOWN);
	assert_string_equal(map.type, "crypto_LUKS");
	assert_string_equal(map.label, "home");
	assert_int_equal(map.payload, 32 << 10);
	assert_int_equal(map.free.n, 0);
	assert_int_equal(map.meta.n, 1);
	assert_int_equal(map.meta.at->len, 32 << 10);
	stamp = map.stamp;
	disk[4095] = 1;
	assert_int_equal(image_read(0), FS_UNKNOWN);
	assert_int_not_equal(map.stamp, stamp);
	set(6, 2, 1);
	set(104, 4, 16);
	assert_int_equal(image_read(0), FS_UNKNOWN);
	assert_string_equal(map.label, "");
	assert_int_equal(map.payload, 16 * 512);
	set(104, 4, 0);				/* its header is not left out */
	assert_int_equal(image_read(0), FS_UNKNOWN);
	assert_int_equal(map.payload, 4096);
}

CASE(knows_no_other)
{
	static const struct { size_t at; int bytes; uint64_t v; } wrong[] = {
		{ 6, 2, 0 }, { 6, 2, 3 }, { 8, 8, SIZE }, { 8, 8, UINT64_MAX },
	};

	EACH_OF(i, wrong) {
		set_up(NULL);
		set(wrong[i].at, wrong[i].bytes, wrong[i].v);
		assert_int_equal(image_read(0), FS_UNKNOWN);
		assert_int_equal(map.payload, 0);
	}
	set_up(NULL);
	disk[5] = 0;
	assert_int_equal(image_read(0), FS_DAMAGED);
	set_up(NULL);
	src.length = 4095;
	assert_int_not_equal(image_read(0), FS_CLEAN);
	assert_int_equal(map.payload, 0);
}

/* Its keys lie in three places, wherever its header says. */
CASE(knows_bitlocker)
{
	memcpy(disk, "\xeb\x58\x90-FVE-FS-", 11);
	disk[176 + 2] = 1;				/* 64 KiB: behind it */
	disk[184 + 1] = 0x80;
	memset(disk + 192, 0xff, 8);
	image_begin("BitLocker", disk, sizeof(disk));
	assert_int_equal(image_read(FS_META), FS_UNKNOWN);
	assert_string_equal(map.type, "BitLocker");
	assert_int_equal(map.payload, 512);
	assert_int_equal(map.meta.n, 2);
	assert_int_equal(map.meta.at[0].len, 4096);
	assert_int_equal(map.meta.at[1].off, 32 << 10);
	assert_int_equal(map.meta.at[1].len, 32 << 10);
}
