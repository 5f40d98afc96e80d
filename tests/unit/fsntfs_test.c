/*
 * NTFS: its boot sector, records and runs, and which files contain given bytes,
 * in a mock image of 64 KiB: damaged structures are not followed, and not
 * ignored either.
 */
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/fs/fsntfs.h"
#include "fs/fsmap.h"

enum {
	CLUSTER = 512, CLUSTERS = 128, RECORD = 1024, RECORDS = 20,
	MFT = 4, MIRROR = 60, DATA = 100,	/* clusters */
	FIRST = 56,			/* of a record's attributes */
};

static unsigned char disk[CLUSTERS * CLUSTER];
static uint64_t lost;			/* a cluster that cannot be read */
static struct fs_map map;
static struct fs_io io;
static struct ntfs n;

static int
from_memory(void *arg, uint64_t off, void *to, size_t len)
{
	(void)arg;
	if (off / CLUSTER <= lost && lost < (off + len + CLUSTER - 1) / CLUSTER)
		return EIO;
	memcpy(to, disk + off, len);
	return 0;
}

static const struct fs_source src = { .read = from_memory,
	.length = sizeof(disk) };

static void
put(unsigned char *p, int bytes, uint64_t v)
{
	for (; bytes > 0; bytes--, v >>= 8)
		*p++ = (unsigned char)v;
}

static unsigned char *
record(unsigned i)
{
	return disk + (size_t)MFT * CLUSTER + (size_t)i * RECORD;
}

/* A record without attributes yet. */
static unsigned char *
make_record(unsigned i)
{
	unsigned char *p = record(i);

	memset(p, 0, RECORD);
	memcpy(p, "FILE", 4);
	put(p + R_FIX, 2, 48);
	put(p + R_FIXES, 2, RECORD / NTFS_STRIDE + 1);
	put(p + R_SEQUENCE, 2, 1);
	put(p + R_ATTRIBUTES, 2, FIRST);
	put(p + R_FLAGS, 2, R_IN_USE);
	put(p + FIRST, 4, UINT32_MAX);
	return p;
}

/* An attribute of so many bytes behind the last one. */
static unsigned char *
add(unsigned char *p, uint32_t kind, size_t len)
{
	size_t at = FIRST;

	while (fs_le(p + at, 4) != UINT32_MAX)
		at += (size_t)fs_le(p + at + A_LENGTH, 4);
	put(p + at, 4, kind);
	put(p + at + A_LENGTH, 4, len);
	put(p + at + len, 4, UINT32_MAX);
	return p + at;
}

/* One of "clusters" from "lcn" on. */
static unsigned char *
add_run(unsigned char *p, uint32_t kind, unsigned lcn, unsigned clusters)
{
	unsigned char *a = add(p, kind, 72);

	a[A_OUTSIDE] = 1;
	put(a + A_RUNS, 2, 64);
	put(a + A_SIZE, 8, (uint64_t)clusters * CLUSTER);
	put(a + A_VALID, 8, (uint64_t)clusters * CLUSTER);
	a[64] = 0x21;
	a[65] = (unsigned char)clusters;
	put(a + 66, 2, lcn);
	return a;
}

static void
add_name(unsigned char *p, uint64_t directory, char name, unsigned char space)
{
	unsigned char *a = add(p, AT_NAME, 96), *v = a + 24;

	put(a + A_VALUE, 2, 24);
	put(a + A_VALUE_SIZE, 4, 68);
	put(v, 8, directory);
	v[64] = 1;
	v[65] = space;
	v[66] = (unsigned char)name;
}

/* Its sectors end in what its head says. */
static void
seal(unsigned char *p)
{
	int i;

	put(p + 48, 2, 7);
	for (i = 1; i <= RECORD / NTFS_STRIDE; i++) {
		memcpy(p + 48 + (ptrdiff_t)2 * i, p + (ptrdiff_t)i *
		    NTFS_STRIDE - 2, 2);
		put(p + (ptrdiff_t)i * NTFS_STRIDE - 2, 2, 7);
	}
}

static int
set_up(void **state)
{
	unsigned char *p;
	unsigned i;

	memset(disk, 0, sizeof(disk));
	lost = UINT64_MAX;
	memcpy(disk + 3, "NTFS    ", 8);
	put(disk + 11, 2, CLUSTER);
	disk[13] = 1;
	put(disk + 40, 8, CLUSTERS);
	put(disk + 48, 8, MFT);
	put(disk + 56, 8, MIRROR);
	disk[64] = (unsigned char)-10;
	disk[68] = (unsigned char)-12;
	put(disk + 510, 2, 0xaa55);
	for (i = 0; i < RECORDS; i++) {
		p = make_record(i);
		if (i == 0)
			add_run(p, AT_DATA, MFT, RECORDS * RECORD / CLUSTER);
		if (i == 5)
			put(p + R_FLAGS, 2, R_IN_USE | R_DIR);
		if (i == 16) {
			add_name(p, UINT64_C(1) << 48 | 5, 'a', 0);
			add_run(p, AT_DATA, DATA, 2);
		}
		seal(p);
	}
	map = (struct fs_map){ 0 };
	io = (struct fs_io){ .src = &src, .map = &map, .budget = 1 << 20 };
	n = (struct ntfs){ .io = &io };
	return 0;
}

EACH(set_up, NULL)

/* ----------------------------------------------------------------- cases */

CASE(knows_a_boot_sector)
{
	static const struct { int at, bytes; uint64_t v; } wrong[] = {
		{ 3, 1, 'X' }, { 510, 2, 0 }, { 13, 1, 0 }, { 13, 1, 3 },
		{ 13, 1, 129 }, { 13, 1, 0xe1 }, { 11, 2, 0 }, { 11, 2, 500 },
		{ 11, 2, 128 }, { 11, 2, 8192 }, { 40, 8, 0 },
		{ 40, 8, UINT64_MAX }, { 48, 8, CLUSTERS },
		{ 56, 8, CLUSTERS }, { 64, 1, 0 }, { 64, 1, 3 },
		{ 64, 1, (uint8_t)-8 }, { 64, 1, (uint8_t)-17 },
		{ 64, 1, (uint8_t)-13 },
	};
	size_t i;

	assert_true(ntfs_boot(&n));
	assert_int_equal(n.cluster, CLUSTER);
	assert_int_equal(n.record, RECORD);
	assert_int_equal(n.index, 4096);
	assert_false(n.longer);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set_up(NULL);
		put(disk + wrong[i].at, wrong[i].bytes, wrong[i].v);
		if (ntfs_boot(&n))
			fail_msg("%llu at %d", (unsigned long long)wrong[i].v,
			    wrong[i].at);
	}
	set_up(NULL);
	put(disk + 40, 8, CLUSTERS + 1);
	assert_true(ntfs_boot(&n));
	assert_true(n.longer);
	set_up(NULL);
	disk[13] = (unsigned char)-1;		/* two sectors */
	disk[64] = 1;
	assert_true(ntfs_boot(&n));
	assert_int_equal(n.cluster, 2 * CLUSTER);
	assert_int_equal(n.record, 2 * CLUSTER);
}

/* At its end, or a sector of 4096 bytes before. */
CASE(has_a_backup)
{
	static const size_t ends[] = { CLUSTER, 4096 };
	size_t i;

	for (i = 0; i < 2; i++) {
		set_up(NULL);
		memcpy(disk + sizeof(disk) - ends[i], disk, CLUSTER);
		disk[3] = 'X';
		assert_false(ntfs_boot(&n));
		io.how = FS_ORDER;
		assert_true(ntfs_boot(&n));
		assert_int_equal(map.state, FS_DAMAGED);
	}
	memset(disk + sizeof(disk) - 4096, 0, 4096);
	assert_false(ntfs_boot(&n));
}

CASE(follows_runs)
{
	static const struct { unsigned char byte[12]; } wrong[] = {
		{ { 0x10, 1 } }, { { 0x19, 1 } }, { { 0x91, 1 } },
		{ { 0x11, 0, 1 } }, { { 0x11, 5, 125 } }, { { 0x11, 1, 128 } },
		{ { 0x11, 129 } }, { { 0x88, 1 } }, { { 0 } },
	};
	unsigned char *a = add(make_record(17), AT_DATA, 72);
	struct ntfs_run r;
	size_t i;

	assert_true(ntfs_boot(&n));
	a[A_OUTSIDE] = 1;
	put(a + A_RUNS, 2, 62);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(a + 62, wrong[i].byte, 10);
		r = ntfs_runs(a);
		if (ntfs_next(&n, &r))
			fail_msg("run %zu", i);
	}
	/* a run, a hole, and one that lies before */
	memcpy(a + 62, "\x11\x02\x30\x01\x03\x11\x01\xf0\0", 9);
	assert_int_equal(ntfs_place(&n, a, 513), 0x30 * CLUSTER + 513);
	assert_int_equal(ntfs_place(&n, a, 1024), UINT64_MAX);
	assert_int_equal(ntfs_place(&n, a, 2560), 0x20 * CLUSTER);
	assert_int_equal(ntfs_place(&n, a, 3072), UINT64_MAX);
	put(a + A_RUNS, 2, 1000);		/* behind the attribute */
	assert_int_equal(ntfs_place(&n, a, 0), UINT64_MAX);
}

CASE(walks_attributes)
{
	unsigned char *p = make_record(17), *a, *b;
	const unsigned char *last;
	size_t has;

	assert_true(ntfs_boot(&n));
	assert_null(ntfs_attribute(&n, p, NULL, 0));
	assert_true(ntfs_over(&n, p, NULL));
	a = add(p, AT_LABEL, 32);
	b = add(p, AT_DATA, 64);
	b[A_NAMED] = 1;
	assert_ptr_equal(ntfs_attribute(&n, p, NULL, 0), a);
	assert_ptr_equal(ntfs_attribute(&n, p, a, 0), b);
	assert_null(ntfs_attribute(&n, p, NULL, AT_DATA));	/* another's */
	assert_true(ntfs_over(&n, p, b));
	assert_false(ntfs_over(&n, p, a));
	put(a + A_VALUE, 2, 24);
	put(a + A_VALUE_SIZE, 4, 8);
	assert_ptr_equal(ntfs_value(a, 8, &has), a + 24);
	assert_int_equal(has, 8);
	assert_null(ntfs_value(a, 9, &has));
	put(a + A_VALUE_SIZE, 4, 9);
	assert_null(ntfs_value(a, 8, &has));
	put(a + A_VALUE, 2, 33);
	assert_null(ntfs_value(a, 0, &has));
	a[A_OUTSIDE] = 1;
	assert_null(ntfs_value(a, 0, &has));
	assert_null(ntfs_attribute(&n, p, NULL, 0));	/* too short for that */
	assert_null(ntfs_value(NULL, 0, &has));
	a[A_OUTSIDE] = 0;
	put(b + A_LENGTH, 4, 23);
	assert_null(ntfs_attribute(&n, p, a, 0));
	put(b + A_LENGTH, 4, RECORD);
	assert_null(ntfs_attribute(&n, p, a, 0));
	put(p + R_ATTRIBUTES, 2, RECORD - 2);
	last = ntfs_attribute(&n, p, NULL, 0);
	assert_null(last);
	assert_false(ntfs_over(&n, p, last));
	put(p + R_ATTRIBUTES, 2, RECORD);	/* in the next one */
	put(record(18), 4, UINT32_MAX);
	assert_false(ntfs_over(&n, p, NULL));
}

CASE(mends_records)
{
	unsigned char *p = record(1);

	assert_false(ntfs_mend(p, RECORD, "INDX"));
	put(p + R_FIXES, 2, 2);
	assert_false(ntfs_mend(p, RECORD, "FILE"));
	put(p + R_FIXES, 2, 3);
	put(p + R_FIX, 2, RECORD - 5);
	assert_false(ntfs_mend(p, RECORD, "FILE"));
	put(p + R_FIX, 2, 48);
	p[RECORD - 1] ^= 1;			/* torn */
	assert_false(ntfs_mend(p, RECORD, "FILE"));
	set_up(state);
	assert_true(ntfs_mend(p, RECORD, "FILE"));
}

/* $MFT in two parts: the second is in another record, by a list. */
static void
make_two_parts(bool outside, unsigned half)
{
	unsigned char *p = make_record(0), *a, *entry;

	a = outside ? add_run(p, AT_LIST, DATA, 1) : add(p, AT_LIST, 56);
	entry = outside ? disk + (size_t)DATA * CLUSTER : a + 24;
	put(a + (outside ? A_SIZE : A_VALUE_SIZE), outside ? 8 : 4, 32);
	if (!outside)
		put(a + A_VALUE, 2, 24);
	put(entry, 4, AT_DATA);
	put(entry + 4, 2, 32);
	put(entry + 16, 6, 2);
	a = add_run(p, AT_DATA, MFT, half);
	put(a + A_VALID, 8, (uint64_t)RECORDS * RECORD);
	seal(p);
	p = make_record(2);
	a = add_run(p, AT_DATA, MFT + half, 2 * RECORDS - half);
	put(a + A_FIRST, 8, half);
	seal(p);
}

CASE(finds_all_of_the_mft)
{
	unsigned char r[NTFS_RECORD_MOST];
	uint64_t row;
	int outside;

	for (outside = 0; outside < 2; outside++) {
		set_up(NULL);
		make_two_parts(outside != 0, 19);	/* within a record */
		assert_true(ntfs_boot(&n));
		assert_true(ntfs_mft(&n));
		assert_int_equal(n.parts, 2);
		assert_int_equal(ntfs_mft_place(&n, UINT64_C(19) * CLUSTER, &row),
		    (MFT + 19) * CLUSTER);
		assert_int_equal(row, 21 * CLUSTER);
		assert_int_equal(ntfs_mft_place(&n, UINT64_C(40) * CLUSTER, &row),
		    UINT64_MAX);
		assert_true(ntfs_record(&n, 9, r));	/* of both */
		assert_true(ntfs_record(&n, 19, r));
		assert_false(ntfs_record(&n, 20, r));
		assert_false(ntfs_record(&n, UINT64_MAX, r));
		free(n.part);
	}
}

CASE(misses_a_part_of_the_mft)
{
	unsigned char *entry = disk + (size_t)DATA * CLUSTER;
	static const struct { int at, bytes; uint64_t v; } wrong[] = {
		{ 0, 4, AT_LABEL }, { 4, 2, 25 }, { 4, 2, 33 }, { 6, 1, 1 },
		{ 16, 6, 0 }, { 16, 6, 3 }, { 16, 6, 99 },
	};
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set_up(NULL);
		make_two_parts(true, 20);
		put(entry + wrong[i].at, wrong[i].bytes, wrong[i].v);
		assert_true(ntfs_boot(&n));
		if (ntfs_mft(&n))
			fail_msg("%zu", i);
		free(n.part);
	}
	set_up(NULL);
	make_two_parts(true, 20);
	lost = DATA;
	assert_true(ntfs_boot(&n));
	assert_false(ntfs_mft(&n));
	free(n.part);
	set_up(NULL);
	put(make_record(0), 4, 0);		/* the mirror has it not */
	assert_true(ntfs_boot(&n));
	assert_false(ntfs_mft(&n));
	free(n.part);
}

/* The mirror helps who only guesses. */
CASE(has_a_mirror)
{
	unsigned char r[NTFS_RECORD_MOST];

	memcpy(disk + (size_t)MIRROR * CLUSTER, record(0), (size_t)4 * RECORD);
	assert_true(ntfs_boot(&n));
	assert_true(ntfs_system_record(&n, N_MFT, r));
	assert_true(ntfs_system_record(&n, N_VOLUME, r));
	lost = MFT;
	assert_false(ntfs_system_record(&n, N_MFT, r));
	assert_true(ntfs_system_record(&n, N_VOLUME, r));
	io.how = FS_ORDER;
	assert_true(ntfs_system_record(&n, N_MFT, r));
	lost = MFT + 2 * N_VOLUME;
	assert_true(ntfs_system_record(&n, N_VOLUME, r));
	lost = MFT + 2 * N_BITMAP;
	assert_false(ntfs_system_record(&n, N_BITMAP, r));
}

/* ----------------------------------------------------------------- names */

static struct fs_names names;

/* Which files have a cluster. */
static void
hit(uint64_t cluster)
{
	struct fs_extent at = { cluster * CLUSTER, 1 };
	struct fs_extents bytes = { .at = &at, .n = 1 };

	assert_int_equal(fs_names_read("ntfs", &src, &bytes, &names), 0);
	assert_true(names.known);
}

CASE(names_files)
{
	hit(DATA + 1);
	assert_int_equal(names.n, 1);
	assert_string_equal(names.name[0], "/a");
	assert_false(names.more);
	fs_names_free(&names);
	hit(DATA + 2);
	assert_int_equal(names.n, 0);
	assert_false(names.more);
	fs_names_free(&names);
}

/* Of a record that is damaged nothing is known: there may be more. */
CASE(may_not_know_all)
{
	unsigned char *p;
	int how;

	for (how = 0; how < 5; how++) {
		set_up(NULL);
		p = make_record(17);
		add_run(p, AT_DATA, DATA + 4, 2);
		if (how == 1)
			put(p + FIRST + A_LENGTH, 4, 8);	/* of it */
		if (how == 2)
			memcpy(p, "BAAD", 4);
		seal(p);
		if (how == 3)
			p[RECORD - 1] ^= 1;
		if (how == 4)
			memset(p, 0, RECORD);		/* never used */
		hit(DATA);
		assert_int_equal(names.n, 1);
		if (names.more != (how != 0 && how != 4))
			fail_msg("%d", how);
		fs_names_free(&names);
	}
}
