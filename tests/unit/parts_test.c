/*
 * Partition tables of mock disks: values that no disk can have, and read
 * errors.
 */
#undef _FORTIFY_SOURCE		/* pwrite() is one of the test's own */
#include "test.h"

#include <sys/syscall.h>

#include "part/parts.h"
#include "poor.h"
#include "tabled.h"

static struct tabled disk, target;
static struct parts t;
static struct map map;
static struct sign *sign;
static struct fault f;

/* -------------------------------------------- in the place of the C library */

static unsigned writes = UINT_MAX;	/* no more can be done */
static unsigned forgotten;		/* how often the page cache was told to */

int
posix_fadvise(int fd, off_t off, off_t len, int advice)
{
	forgotten += off == 0 && len == 0 && advice == POSIX_FADV_DONTNEED;
	return 0;
}

ssize_t
pwrite(int fd, const void *buf, size_t n, off_t off)
{
	REAL_OF(real, pwrite, LARGE("pwrite"));
	return writes-- == 0 ? 0 : real(fd, buf, n, off);
}

/* -------------------------------------------------------------- the cases */

static int
set_up(void **state)
{
	writes = UINT_MAX;
	f = (struct fault){ 0 };
	begin_disk(&disk, "disk", &viewed, SECTOR, DISK_SECTORS);
	begin_disk(&target, "target", &viewed, SECTOR, DISK_SECTORS);
	return map_init(&map, DISK_SECTORS * SECTOR, 65536, 0);
}

static int
tear_down(void **state)
{
	parts_free(&t);
	free(sign);
	sign = NULL;
	map_free(&map);
	end_disk(&disk);
	end_disk(&target);
	return 0;
}

EACH(set_up, tear_down)

static size_t
partitions(void)
{
	parts_free(&t);
	assert_int_equal(parts_read(&disk.ep, &t, &f), 0);
	return t.n;
}

CASE(are_found_in_any_kind_of_extended_one)
{
	static const unsigned types[] = { 0x05, 0x0f, 0x85 };
	size_t i;

	for (i = 0; i < 3; i++) {
		add_logical(&disk, 1, types[i], 1000, 3);
		assert_int_equal(partitions(), 4);
		assert_true(t.part[0].container);
		assert_int_equal(t.part[1].number, 5);
		assert_int_equal(t.part[3].start, (1000 + 8 + 2) * SECTOR);
		assert_int_equal(t.part[3].length, 2 * SECTOR);
		assert_string_equal(t.wrong, "");
	}
	add_row(&disk, 0, 1, 0x85, 1000, 0);		/* none */
	add_row(&disk, 0, 0, 0x83, 64, 64);
	assert_int_equal(partitions(), 1);
}

/* Where a link cannot be read the partitions before it are there. */
CASE(are_found_up_to_a_link_that_is_lost)
{
	disk.ep.be = &probed;
	disk.ep.is.probed = true;
	add_row(&disk, 0, 0, 0x83, 64, 64);
	add_row(&disk, 0, 1, 0x05, 2000, 8);
	disk.lost = 2000 * SECTOR;
	assert_int_equal(partitions(), 2);
	assert_string_equal(t.wrong, "");
	disk.lost = UINT64_MAX;
	add_row(&disk, 0, 1, 0x05, DISK_SECTORS + 8, 8);
	assert_true(partitions() >= 1);
	assert_int_equal(t.part[0].number, 1);
}

/* For an MBR libblkid counts 512 bytes in 32 bits. */
CASE(of_large_sectors_are_mended)
{
	end_disk(&disk);
	begin_disk(&disk, "disk", &viewed, 4096, UINT64_C(1) << 30);
	add_row(&disk, 0, 0, 0x83, 64, 0x20000008);
	add_logical(&disk, 1, 0x05, 1000, 2);
	assert_int_equal(partitions(), 4);
	assert_int_equal(t.part[0].start, 64 * 4096);
	assert_int_equal(t.part[0].length, 4096 * (uint64_t)0x20000008);
	assert_int_equal(t.part[2].number, 5);
	assert_string_equal(t.wrong, "");
	add_row(&disk, 0, 2, 0x05, 0x20000008, 64);
	assert_int_equal(partitions(), 3);
	assert_int_equal(t.part[2].number, 3);
	assert_int_equal(t.part[2].start, 4096 * (uint64_t)0x20000008);
	assert_string_equal(t.wrong, "its logical partitions lie farther out "
	    "than can be followed");
}

CASE(are_not_looked_for_where_none_can_be)
{
	static const char *const none = "ipart=1: disk has no partitions; a "
	    "disk or the image of one is needed";

	add_row(&disk, 0, 0, 0x83, 64, 64);
	disk.ep.geo.size = SECTOR;		/* too short */
	assert_int_equal(partitions(), 0);
	disk.ep.geo.size = 0;
	assert_int_equal(partitions(), 0);
	assert_int_equal(parts_limit(&disk.ep, 1, &f), -1);
	assert_string_equal(f.text, none);
	disk.ep.geo.size = DISK_SECTORS * SECTOR;
	disk.ep.is.absent = true;
	assert_int_equal(parts_limit(&disk.ep, 1, &f), -1);
	assert_string_equal(f.text, none);
	disk.ep.is.absent = false;
	disk.ep.be = &blind;
	assert_int_equal(partitions(), 0);
	assert_int_equal(parts_rescued(&disk.ep, &disk.ep, &map, &t, &f), 0);
	assert_int_equal(t.n, 0);
	assert_int_equal(parts_signs(&disk.ep, 0, UINT64_MAX, &sign), 0);
	assert_null(sign);
}

CASE(are_unknown_where_the_disk_cannot_be_read)
{
	disk.view_err = EACCES;
	assert_int_equal(parts_limit(&disk.ep, 1, &f), -1);
	assert_string_equal(f.text, "disk: reading its partition table: "
	    "Permission denied");
	assert_int_equal(f.status, 50 + EACCES);
	assert_int_equal(parts_signs(&disk.ep, 0, UINT64_MAX, &sign), 0);
	assert_int_equal(parts_rescued(&disk.ep, &disk.ep, &map, &t, &f), -1);
	disk.ep.be = &probed;
	disk.ep.is.probed = true;
	disk.lost = 0;
	assert_int_equal(parts_limit(&disk.ep, 1, &f), -1);
	assert_int_equal(f.status, STATUS_MEDIUM);
	disk.ends = true;
	assert_int_equal(parts_limit(&disk.ep, 1, &f), -1);
	assert_int_equal(f.status, STATUS_MEDIUM);
	free(sign);
	assert_int_equal(parts_signs(&disk.ep, 0, UINT64_MAX, &sign), 0);
}

CASE(limit_an_end)
{
	char list[1024] = "it has 2 (bytes 512000 to 548863)";
	size_t i;

	assert_int_equal(parts_limit(&disk.ep, -1, &f), 0);
	add_row(&disk, 0, 0, 0x83, 64, 64);
	assert_int_equal(parts_limit(&disk.ep, 2, &f), -1);
	assert_string_equal(f.text, "ipart=2: there is no such partition on "
	    "disk; it has 1 (bytes 32768 to 65535)");
	add_row(&disk, 0, 0, 0, 0, 0);
	add_logical(&disk, 1, 0x05, 1000, 18);
	for (i = 0; i < 15; i++)
		snprintf(list + strlen(list), 64, ", %zu (bytes %zu to %zu)",
		    i + 5, (1002 + 4 * i) * SECTOR,
		    (1004 + 4 * i) * SECTOR - 1);
	disk.ep.spec.role = TARGET;
	assert_int_equal(parts_limit(&disk.ep, 1, &f), -1);
	assert_non_null(strstr(f.text, "opart=1: there is no such partition "
	    "on disk; "));
	assert_non_null(strstr(f.text, list));
	assert_non_null(strstr(f.text, " and 3 more"));
	assert_int_equal(parts_limit(&disk.ep, 22, &f), 0);
	assert_int_equal(disk.ep.lim.base, (1002 + 4 * 17) * SECTOR);
	assert_string_equal(disk.ep.lim.within, "partition 22 of ");
}

/* Of what a rescue has not read nothing is taken, even in the same block. */
CASE(of_a_rescue_are_those_that_were_read)
{
	unsigned i, failed = 0;

	add_row(&target, 0, 0, 0x83, 64, 64);
	target.ep.geo.block = 4096;
	map_set(&map, 0, DISK_SECTORS * SECTOR, FINISHED);
	assert_int_equal(parts_rescued(&target.ep, &disk.ep, &map, &t, &f), 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.left, TABLE_SOUND);
	parts_free(&t);
	map_end(&map, 3 * SECTOR);
	fill(&target, 4 * SECTOR, "EFI PART", 8);
	assert_int_equal(parts_rescued(&target.ep, &disk.ep, &map, &t, &f), 0);
	assert_int_equal(t.n, 1);
	parts_free(&t);
	map_set(&map, 0, 3 * SECTOR, BAD);
	assert_int_equal(parts_rescued(&target.ep, &disk.ep, &map, &t, &f), 0);
	assert_int_equal(t.n, 0);
	assert_int_equal(t.left, TABLE_LOST);
	parts_free(&t);
	/* neither what was read can be noted, nor that the MBR was lost */
	for (i = 0; i < 6; i++) {
		writes = i % 3;
		target.ep.be = i < 3 ? &viewed : &probed;
		target.ep.is.probed = i >= 3;
		(void)parts_rescued(&target.ep, &disk.ep, &map, &t, &f);
		assert_int_equal(t.n, 0);
		failed += f.status == STATUS_MEDIUM;
		f.status = 0;
	}
	assert_int_equal(failed, 4);
}

CASE(have_signatures)
{
	add_row(&disk, 0, 0, 0x83, 64, 64);
	add_ext2(&disk, 64 * SECTOR, 32);
	assert_int_equal(parts_signs(&disk.ep, 0, UINT64_MAX, &sign), 2);
	assert_string_equal(sign[0].type, "dos");
	assert_string_equal(sign[1].type, "ext2");
	assert_string_equal(sign[1].label, "label");
	free(sign);
	disk.view_err = EIO;
	assert_int_equal(parts_signs(&disk.ep, 0, UINT64_MAX, &sign), 0);
	disk.view_err = 0;
}

/* A range that the disk does not have is not looked at. */
CASE(have_a_volume_each)
{
	struct volume v;

	add_ext2(&disk, 64 * SECTOR, 32);
	forgotten = 0;
	parts_volume(&disk.ep, 64 * SECTOR, 64 * SECTOR, &v);
	assert_int_equal(forgotten, 1);
	assert_string_equal(v.type, "ext2");
	assert_string_equal(v.label, "label");
	assert_int_equal(v.at, 64 * SECTOR + 1024 + 56);
	parts_volume(&disk.ep, DISK_SECTORS * SECTOR, SECTOR, &v);
	assert_string_equal(v.type, "");
	parts_volume(&disk.ep, 64 * SECTOR, DISK_SECTORS * SECTOR, &v);
	assert_string_equal(v.type, "");
	disk.view_err = EIO;
	parts_volume(&disk.ep, 64 * SECTOR, 64 * SECTOR, &v);
	assert_string_equal(v.type, "");
	disk.ep.be = &blind;
	parts_volume(&disk.ep, 64 * SECTOR, 64 * SECTOR, &v);
	assert_string_equal(v.type, "");
}

/* Each request for memory fails once; where libblkid hides it, some are there. */
CASE(are_whole_or_memory_is_short)
{
	unsigned i;
	int failed;

	add_logical(&disk, 1, 0x05, 1000, 18);
	for (i = 0; i == 0 || poor_was(); i++) {
		parts_free(&t);
		poor_after(i);
		failed = parts_read(&disk.ep, &t, &f);
		poor.on = false;
		if (failed != 0)
			assert_int_equal(f.status, 50 + ENOMEM);
		else
			assert_true(t.n <= 19);
	}
	assert_int_equal(t.n, 19);
}
