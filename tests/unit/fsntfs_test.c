/*
 * NTFS: its boot sector, records and runs, and which files contain given bytes,
 * in a mock image of 64 KiB: damaged structures are not followed, and not
 * ignored either.
 */
#include "test.h"

enum { CLUSTERS = 128, RECORDS = 20, MIRROR = 60, DATA = 100 };

#include "fsntfs_image.h"

static const size_t size = CLUSTERS * CLUSTER;
static struct fs_io io;
static struct ntfs n;

static void
seal(unsigned i)
{
	seal_at(record(i), RECORD / NTFS_STRIDE);
}

static int
set_up(void **state)
{
	unsigned i;

	memset(disk, 0, sizeof(disk));
	image_begin("ntfs", disk, size);
	make_boot();
	for (i = 0; i < RECORDS; i++) {
		make_record(i, i == 5 ? R_IN_USE | R_DIR : R_IN_USE);
		if (i == 0)
			add_run(i, AT_DATA, MFT, RECORDS * RECORD / CLUSTER);
		if (i == 16) {
			add_name(i, 5, "a", 0);
			add_run(i, AT_DATA, DATA, 2);
		}
		seal(i);
	}
	map = (struct fs_map){ .state = FS_CLEAN };
	io = (struct fs_io){ .src = &src, .map = &map, .budget = 1 << 20 };
	n = (struct ntfs){ .io = &io };
	return 0;
}

EACH(set_up, image_end)

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

	assert_true(ntfs_boot(&n));
	assert_int_equal(n.cluster, CLUSTER);
	assert_int_equal(n.record, RECORD);
	assert_int_equal(n.index, 4096);
	assert_false(n.longer);
	EACH_OF(i, wrong) {
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
		memcpy(disk + size - ends[i], disk, CLUSTER);
		disk[3] = 'X';
		assert_false(ntfs_boot(&n));
		io.how = FS_ORDER;
		assert_true(ntfs_boot(&n));
		assert_int_equal(map.state, FS_DAMAGED);
	}
	memset(disk + size - 4096, 0, 4096);
	assert_false(ntfs_boot(&n));
}

CASE(follows_runs)
{
	static const struct { unsigned char byte[12]; } wrong[] = {
		{ { 0x10, 1 } }, { { 0x19, 1 } }, { { 0x91, 1 } },
		{ { 0x11, 0, 1 } }, { { 0x11, 5, 125 } }, { { 0x11, 1, 128 } },
		{ { 0x11, 129 } }, { { 0x88, 1 } }, { { 0 } },
	};
	unsigned char *a;
	struct ntfs_run r;

	make_record(17, R_IN_USE);
	a = add(17, AT_DATA, 72);
	assert_true(ntfs_boot(&n));
	a[A_OUTSIDE] = 1;
	put(a + A_RUNS, 2, 62);
	EACH_OF(i, wrong) {
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
	unsigned char *p = make_record(17, R_IN_USE), *a, *b;
	const unsigned char *last;
	size_t has;

	assert_true(ntfs_boot(&n));
	assert_null(ntfs_attribute(&n, p, NULL, 0));
	assert_true(ntfs_over(&n, p, NULL));
	a = add(17, AT_LABEL, 32);
	b = add(17, AT_DATA, 64);
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
	unsigned char *a, *entry;

	make_record(0, R_IN_USE);
	a = outside ? add_run(0, AT_LIST, DATA, 1) : add(0, AT_LIST, 56);
	entry = outside ? at(DATA) : a + 24;
	put(a + (outside ? A_SIZE : A_VALUE_SIZE), outside ? 8 : 4, 32);
	if (!outside)
		put(a + A_VALUE, 2, 24);
	put(entry, 4, AT_DATA);
	put(entry + 4, 2, 32);
	put(entry + 16, 6, 2);
	a = add_run(0, AT_DATA, MFT, half);
	put(a + A_VALID, 8, (uint64_t)RECORDS * RECORD);
	seal(0);
	make_record(2, R_IN_USE);
	a = add_run(2, AT_DATA, MFT + half, 2 * RECORDS - half);
	put(a + A_FIRST, 8, half);
	seal(2);
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
	unsigned char *entry = at(DATA);
	static const struct { int at, bytes; uint64_t v; } wrong[] = {
		{ 0, 4, AT_LABEL }, { 4, 2, 25 }, { 4, 2, 33 }, { 6, 1, 1 },
		{ 16, 6, 0 }, { 16, 6, 3 }, { 16, 6, 99 },
	};

	EACH_OF(i, wrong) {
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
	image.lost = DATA * CLUSTER;
	assert_true(ntfs_boot(&n));
	assert_false(ntfs_mft(&n));
	free(n.part);
	set_up(NULL);
	put(make_record(0, R_IN_USE), 4, 0);		/* the mirror has it not */
	assert_true(ntfs_boot(&n));
	assert_false(ntfs_mft(&n));
	free(n.part);
}

/* The mirror helps who only guesses. */
CASE(has_a_mirror)
{
	unsigned char r[NTFS_RECORD_MOST];

	memcpy(at(MIRROR), record(0), (size_t)4 * RECORD);
	assert_true(ntfs_boot(&n));
	assert_true(ntfs_system_record(&n, N_MFT, r));
	assert_true(ntfs_system_record(&n, N_VOLUME, r));
	image.lost = MFT * CLUSTER;
	assert_false(ntfs_system_record(&n, N_MFT, r));
	assert_true(ntfs_system_record(&n, N_VOLUME, r));
	io.how = FS_ORDER;
	assert_true(ntfs_system_record(&n, N_MFT, r));
	image.lost = (MFT + 2 * N_VOLUME) * CLUSTER;
	assert_true(ntfs_system_record(&n, N_VOLUME, r));
	image.lost = (MFT + 2 * N_BITMAP) * CLUSTER;
	assert_false(ntfs_system_record(&n, N_BITMAP, r));
}

/* ----------------------------------------------------------------- names */

CASE(names_files)
{
	assert_true(hits((DATA + 1) * CLUSTER, 1, "/a", false));
	assert_true(hits((DATA + 2) * CLUSTER, 1, "", false));
}

/* Of a record that is damaged nothing is known: there may be more. */
CASE(may_not_know_all)
{
	unsigned char *p;
	int how;

	for (how = 0; how < 5; how++) {
		set_up(NULL);
		p = make_record(17, R_IN_USE);
		add_run(17, AT_DATA, DATA + 4, 2);
		if (how == 1)
			put(p + FIRST + A_LENGTH, 4, 8);	/* of it */
		if (how == 2)
			memcpy(p, "BAAD", 4);
		seal(17);
		if (how == 3)
			p[RECORD - 1] ^= 1;
		if (how == 4)
			memset(p, 0, RECORD);		/* never used */
		if (!hits(DATA * CLUSTER, 1, "/a", how != 0 && how != 4))
			fail_msg("%d", how);
	}
}
