/*
 * Members of RAIDs of md: where the array of a RAID1 lies, and what is not
 * believed.
 */
#include "test.h"
#include "fsimage.h"

enum { SIZE = 512 << 10, SECTOR = 512, SUPER = 4096,
	AT_END = SIZE - 2 * SUPER, AT_OLD = SIZE - (64 << 10),
	DATA = 32 << 10, LENGTH = 256 << 10 };

static unsigned char disk[SIZE];
static unsigned char *super;

static void
seal(void)
{
	uint64_t sum = 0;
	size_t i;

	put(super + 216, 4, 0);
	for (i = 0; i < 256 + 2 * 2; i += 4)
		sum += super[i] + ((uint64_t)super[i + 1] << 8) +
		    ((uint64_t)super[i + 2] << 16) +
		    ((uint64_t)super[i + 3] << 24);
	put(super + 216, 4, (sum & UINT32_MAX) + (sum >> 32));
}

/* Version 1, at a place. */
static void
make(uint64_t at, uint64_t data)
{
	memset(disk, 0, sizeof(disk));
	image_begin("linux_raid_member", disk, sizeof(disk));
	super = disk + at;
	put(super, 4, 0xa92b4efc);
	put(super + 4, 4, 1);
	memcpy(super + 32, "host:0", 6);
	put(super + 72, 4, 1);			/* level */
	put(super + 80, 8, LENGTH / SECTOR);
	put(super + 92, 4, 2);			/* disks */
	put(super + 128, 8, data / SECTOR);
	put(super + 136, 8, LENGTH / SECTOR);
	put(super + 144, 8, at / SECTOR);
	put(super + 160, 4, 1);			/* this is the second one */
	put(super + 208, 8, UINT64_MAX);	/* clean */
	put(super + 220, 4, 2);
	put(super + 256, 2, 0xfffe);
	put(super + 258, 2, 1);
	seal();
}

static bool big;

static void
word(size_t i, uint32_t v)
{
	if (big)
		v = __builtin_bswap32(v);
	put(super + 4 * i, 4, v);
}

static void
seal_old(void)
{
	uint64_t sum = 0;
	size_t i;
	uint32_t v;

	word(38, 0);
	for (i = 0; i < SUPER; i += 4) {
		v = super[i] | (uint32_t)super[i + 1] << 8 |
		    (uint32_t)super[i + 2] << 16 | (uint32_t)super[i + 3] << 24;
		sum += big ? __builtin_bswap32(v) : v;
	}
	word(38, (uint32_t)((sum & UINT32_MAX) + (sum >> 32)));
}

static void
make_old(bool swapped)
{
	big = swapped;
	memset(disk, 0, sizeof(disk));
	image_begin("linux_raid_member", disk, sizeof(disk));
	super = disk + AT_OLD;
	word(0, 0xa92b4efc);
	word(2, 90);
	word(7, 1);
	word(8, AT_OLD / 1024);
	word(10, 2);
	word(33, 1);
	word(992 + 3, 1);
	word(992 + 4, 6);
	seal_old();
}

static int
set_up(void **state)
{
	make(SUPER, DATA);
	return 0;
}

EACH(set_up, image_end)

static bool
is_at(uint64_t off, uint64_t len)
{
	return image_read(0) == FS_CLEAN && map.volumes == 1 &&
	    map.volume->n == 1 && map.volume->length == len &&
	    map.volume->piece->off == off && map.volume->piece->len == len &&
	    map.volume->piece->at == 0 && map.free.n == 0;
}

CASE(finds_the_array)
{
	assert_true(is_at(DATA, LENGTH));
	assert_string_equal(map.volume->name, "md/host:0");
	put(super + 8, 4, 1);			/* a bitmap */
	seal();
	assert_true(is_at(DATA, LENGTH));
	make(0, DATA);
	assert_true(is_at(DATA, LENGTH));
	make(AT_END, 0);
	assert_true(is_at(0, LENGTH));
	make_old(false);
	assert_true(is_at(0, AT_OLD));
	assert_string_equal(map.volume->name, "md");
	make_old(true);
	assert_true(is_at(0, AT_OLD));
}

CASE(believes_no_other)
{
	static const struct { unsigned at; int bytes; uint64_t v; } wrong[] = {
		{ 8, 4, 2 }, { 8, 4, 4 }, { 8, 4, 8 }, { 8, 4, 1 << 20 },
		{ 72, 4, 0 }, { 72, 4, 5 }, { 72, 4, UINT32_MAX },
		{ 80, 8, 0 }, { 80, 8, LENGTH / SECTOR + 1 },
		{ 80, 8, UINT64_MAX }, { 92, 4, 1 }, { 128, 8, 8 },
		{ 128, 8, UINT64_MAX }, { 128, 8, (SIZE - LENGTH) / SECTOR + 1 },
		{ 144, 8, 0 }, { 160, 4, 0 }, { 160, 4, 2 },
		{ 160, 4, UINT32_MAX }, { 208, 8, 0 }, { 220, 4, UINT32_MAX },
		{ 258, 2, 0xffff }, { 258, 2, 0xfffd },
	};
	static const struct { unsigned at; uint32_t v; } old[] = {
		{ 2, 91 }, { 7, 0 }, { 8, 0 }, { 8, AT_OLD / 1024 + 1 },
		{ 8, UINT32_MAX }, { 10, 1 }, { 33, 0 }, { 992 + 3, 2 },
		{ 992 + 4, 0 }, { 992 + 4, 7 },
	};

	EACH_OF(i, wrong) {
		set_up(NULL);
		put(super + wrong[i].at, wrong[i].bytes, wrong[i].v);
		seal();
		assert_int_not_equal(image_read(0), FS_CLEAN);
		assert_int_equal(map.volumes, 0);
	}
	EACH_OF(i, old) {
		make_old(i % 2 == 1);
		word(old[i].at, old[i].v);
		seal_old();
		assert_int_not_equal(image_read(0), FS_CLEAN);
		assert_int_equal(map.volumes, 0);
	}
	set_up(NULL);				/* checksums */
	super[40] ^= 1;
	assert_int_equal(image_read(0), FS_DAMAGED);
	make_old(false);
	super[700] ^= 1;
	assert_int_equal(image_read(0), FS_DAMAGED);
	set_up(NULL);				/* an older one as well */
	memcpy(disk + AT_END, super, SUPER);
	assert_int_equal(image_read(0), FS_UNKNOWN);
	assert_int_equal(map.volumes, 0);
}

CASE(fails_safely)
{
	image_fails(0, SIZE);
	image_lacks_memory(0);
	assert_int_equal(map.volumes, 1);
	src.length = SUPER;
	assert_int_not_equal(image_read(0), FS_CLEAN);
}
