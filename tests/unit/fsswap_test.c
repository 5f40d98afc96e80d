/*
 * Swap space, and mock images that look like two kinds of file system.
 */
#include "test.h"
#include "fsimage.h"

enum { PAGE = 4096, LARGE = 65536, PAGES = 64, VERSION = 1024, LAST = 1028 };

static unsigned char disk[PAGES * PAGE];

static void
make(unsigned page, const char *magic)
{
	memset(disk, 0, sizeof(disk));
	image_begin("swap", disk, sizeof(disk));
	memcpy(disk + page - 10, magic, 10);
	put(disk + VERSION, 4, 1);
	put(disk + LAST, 4, sizeof(disk) / page - 1);
	memcpy(disk + 1052, "made up", 7);
}

static int
set_up(void **state)
{
	make(PAGE, "SWAPSPACE2");
	return 0;
}

EACH(set_up, image_end)

/* All behind its first page is free. */
static bool
leaves(unsigned page)
{
	const struct fs_extent want = { page, sizeof(disk) - page };

	return image_free(&want, 1);
}

CASE(reads_it)
{
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(PAGE));
	assert_string_equal(map.type, "swap");
	assert_string_equal(map.label, "made up");
	make(LARGE, "SWAPSPACE2");
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(LARGE));
	/* of a machine with the other order of bytes */
	set_up(NULL);
	put(disk + VERSION, 4, 0x01000000);
	put(disk + LAST, 4, (PAGES - 1) << 24);
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(PAGE));
	put(disk + LAST, 4, 9 << 24);		/* it need not have all */
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_int_equal(map.free_bytes, 9 * PAGE);
	assert_false(hits(PAGE, 1, "", false) || names.known);
}

CASE(doubts_it)
{
	static const char *const asleep[] = { "S1SUSPEND\0", "S2SUSPEND\0",
		"ULSUSPEND\0", "LINHIB0001", "\xed\xc3\x02\xe9\x98\x56\xe5\x0c\0" };
	static const struct { unsigned at; uint64_t v; } wrong[] = {
		{ VERSION, 2 }, { VERSION, 0 }, { LAST, 0 }, { LAST, PAGES },
		{ LAST, UINT32_MAX },
	};

	EACH_OF(i, asleep) {
		make(PAGE, asleep[i]);
		assert_int_equal(image_read(0), FS_DIRTY);
		assert_int_equal(map.free.n, 0);
	}
	make(PAGE, "SWAP-SPACE");
	assert_int_equal(image_read(0), FS_UNKNOWN);
	assert_int_equal(map.free.n, 0);
	EACH_OF(i, wrong) {
		set_up(NULL);
		put(disk + wrong[i].at, 4, wrong[i].v);
		assert_int_equal(image_read(0), FS_DAMAGED);
		assert_int_equal(map.free.n, 0);
	}
	set_up(NULL);
	image.lost = 100;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_int_equal(map.free.n, 0);
	assert_string_equal(map.type, "");
	image.lost = PAGE - 5;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	make(PAGE, "no swap at");
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
}

/* Where nobody says what it is, it must be one kind. */
CASE(is_one_kind)
{
	image.type = NULL;
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_string_equal(map.type, "swap");
	/* the boot sector of a FAT, beside it */
	put(disk + 11, 2, 512);
	disk[13] = disk[14] = disk[16] = 1;
	put(disk + 17, 2, 16);
	put(disk + 19, 2, sizeof(disk) / 512);
	disk[21] = 0xf8;
	put(disk + 22, 2, 2);
	put(disk + 510, 2, 0xaa55);
	assert_int_equal(image_read(0), FS_UNKNOWN);
	assert_string_equal(map.type, "");
	assert_string_equal(map.label, "");
	assert_int_equal(map.free.n, 0);
	assert_string_equal(map.reason, "it looks like two kinds of file "
	    "system");
	image_read(FS_ORDER);			/* a guess takes the first */
	assert_string_equal(map.type, "vfat");
	memset(disk, 0, sizeof(disk));
	assert_int_equal(image_read(0), FS_UNKNOWN);
	assert_int_equal(map.free.n, 0);
}
