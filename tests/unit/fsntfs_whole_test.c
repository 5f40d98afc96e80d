/*
 * NTFS: a whole mock image of 256 KiB, with $Volume, $LogFile, $Bitmap,
 * directories and files: damaged structures are not believed, and nothing that
 * may be in use is called free.
 */
#include "test.h"

#define PAGE	((size_t)4096)

enum {
	CLUSTERS = 512, RECORDS = 40,
	INDEX = 4096,
	/* clusters */
	MIRROR = 90, LOG = 100, BITS = 120, ROOT_INDEX = 130,
	DATA_A = 140, DATA_B = 142, DATA_MORE = 144, DATA_TWO = 146,
	LIST = 148, USED = 149,
	/* records */
	A = 16, DIR = 17, B = 18, TWO = 19, MORE_DATA = 20, MORE_NAME = 22,
	FREE = 25, MORE = 30,
};

#include "fsntfs_image.h"

/* The attribute k of a record. */
static unsigned char *
attribute(unsigned i, unsigned k)
{
	unsigned char *a = record(i) + FIRST;

	for (; k > 0; k--)
		a += fs_le(a + A_LENGTH, 4);
	return a;
}

/* An entry of an index; returns what is behind it. */
static unsigned char *
put_entry(unsigned char *p, unsigned of, unsigned directory, const char *name,
    unsigned space)
{
	size_t key = 66 + 2 * strlen(name), len = (16 + key + 7) / 8 * 8;

	put(p, 8, reference(of));
	put(p + 8, 2, len);
	put(p + 10, 2, key);
	put_name(p + 16, directory, name, space);
	return p + len;
}

/* The last one has no name.  Its head says how far they go. */
static void
end_entries(unsigned char *head, unsigned char *p)
{
	put(p + 8, 2, 16);
	put(p + 12, 2, 2);
	put(head, 4, 16);
	put(head + 4, 4, (uint64_t)(p + 16 - head));
}

static void
make_log(void)
{
	unsigned char *p;
	int i;

	for (i = 0; i < 2; i++) {
		p = at(LOG) + (size_t)i * PAGE;
		memset(p, 0, PAGE);
		memcpy(p, "RSTR", 4);
		put(p + R_FIX, 2, 30);
		put(p + R_FIXES, 2, PAGE / NTFS_STRIDE + 1);
		put(p + 24, 2, 64);
		put(p + 28, 2, 1);
		put(p + 64 + 12, 2, 0xffff);
	}
}

static void
make_dirs(void)
{
	unsigned char *p = at(ROOT_INDEX), *v;

	memset(p, 0, INDEX);
	memcpy(p, "INDX", 4);
	put(p + R_FIX, 2, 40);
	put(p + R_FIXES, 2, INDEX / NTFS_STRIDE + 1);
	v = put_entry(p + 24 + 56, A, N_ROOT, "A~1", 2);
	v = put_entry(v, A, N_ROOT, "a", 1);
	v = put_entry(v, DIR, N_ROOT, "dir", 1);
	v = put_entry(v, TWO, N_ROOT, "two names", 1);
	end_entries(p + 24, v);
	put(p + 24, 4, 56);
	add_run(N_ROOT, AT_INDEX, ROOT_INDEX, INDEX / CLUSTER);
	v = add_value(DIR, AT_INDEX_ROOT, 16 + 16 + 88 + 16);
	put(v, 4, AT_NAME);
	end_entries(v + 16, put_entry(v + 32, B, DIR, "b", 1));
}

static void
make_files(void)
{
	unsigned char *v;

	make_record(A, R_IN_USE);
	add_name(A, N_ROOT, "a", 1);
	add_run(A, AT_DATA, DATA_A, 2);
	make_record(DIR, R_IN_USE | R_DIR);
	add_name(DIR, N_ROOT, "dir", 1);
	make_record(B, R_IN_USE);
	add_name(B, DIR, "b", 1);
	add_run(B, AT_DATA, DATA_B, 1);
	make_record(TWO, R_IN_USE);
	add_name(TWO, N_ROOT, "TWONAM~1", 2);
	add_name(TWO, N_ROOT, "two names", 1);
	add_name(TWO, DIR, "third", 1);
	add_run(TWO, AT_DATA, DATA_TWO, 1);
	/* one of three records */
	make_record(MORE, R_IN_USE);
	v = add_value(MORE, AT_LIST, 64);
	put(v, 4, AT_NAME);
	put(v + 4, 2, 32);
	put(v + 16, 8, reference(MORE_NAME));
	put(v + 32, 4, AT_DATA);
	put(v + 36, 2, 32);
	put(v + 48, 8, reference(MORE_DATA));
	make_record(MORE_NAME, R_IN_USE);
	put(record(MORE_NAME) + R_BASE, 8, reference(MORE));
	add_name(MORE_NAME, DIR, "more", 1);
	make_record(MORE_DATA, R_IN_USE);
	put(record(MORE_DATA) + R_BASE, 8, reference(MORE));
	add_run(MORE_DATA, AT_DATA, DATA_MORE, 1);
}

static void
use(unsigned from, unsigned n)
{
	for (; n > 0; n--, from++)
		at(BITS)[from / 8] |= (unsigned char)(1 << from % 8);
}

static void
make_system(void)
{
	unsigned char *v;
	unsigned i;

	for (i = 0; i < RECORDS; i++)
		make_record(i, i < N_SYSTEM ? R_IN_USE : 0);
	add_run(N_MFT, AT_DATA, MFT, RECORDS * RECORD / CLUSTER);
	add_run(N_MIRROR, AT_DATA, MIRROR, 4 * RECORD / CLUSTER);
	add_run(N_LOG, AT_DATA, LOG, 2 * PAGE / CLUSTER);
	memcpy(add_value(N_VOLUME, AT_LABEL, 8), "m\0a\0d\0e", 8);
	v = add_value(N_VOLUME, AT_VOLUME, 12);
	v[8] = 3;
	put(record(N_ROOT) + R_FLAGS, 2, R_IN_USE | R_DIR);
	v = add_run(N_BITMAP, AT_DATA, BITS, 1);
	put(v + A_SIZE, 8, CLUSTERS / 8);
	put(v + A_VALID, 8, CLUSTERS / 8);
}

/* Records are made, not sealed, so that they can be spoilt. */
static int
unsealed(void **state)
{
	memset(disk, 0, sizeof(disk));
	image_begin("ntfs", disk, sizeof(disk));
	make_boot();
	make_system();
	make_log();
	make_files();
	make_dirs();
	use(0, 1);
	use(MFT, RECORDS * RECORD / CLUSTER);
	use(MIRROR, 8);
	use(LOG, 16);
	use(BITS, 1);
	use(ROOT_INDEX, 8);
	use(DATA_A, USED - DATA_A);
	return 0;
}

static void
seal(void)
{
	unsigned i;

	for (i = 0; i < RECORDS; i++)
		if (memcmp(record(i), "FILE", 4) == 0)
			seal_at(record(i), RECORD / NTFS_STRIDE);
	memcpy(at(MIRROR), record(0), (size_t)4 * RECORD);
	memcpy(at(CLUSTERS), disk, CLUSTER);
	seal_at(at(ROOT_INDEX), INDEX / NTFS_STRIDE);
	for (i = 0; i < 2; i++)
		if (at(LOG)[i * PAGE] != 0xff)
			seal_at(at(LOG) + (size_t)i * PAGE, PAGE /
			    NTFS_STRIDE);
}

IMAGE_SEALED(seal)

/* -------------------------------------------------------- what is free */

enum { ALL = CLUSTERS - 1 - 80 - 8 - 16 - 1 - 8 - (USED - DATA_A) };

static bool
leaves(unsigned n)
{
	if (!image_used(0, CLUSTER) || !image_used((uint64_t)MFT * CLUSTER,
	    (uint64_t)80 * CLUSTER) || !image_used((uint64_t)LOG * CLUSTER,
	    (uint64_t)16 * CLUSTER) || !image_used((uint64_t)ROOT_INDEX *
	    CLUSTER, (uint64_t)8 * CLUSTER) || !image_used((uint64_t)DATA_A *
	    CLUSTER, (uint64_t)(USED - DATA_A) * CLUSTER))
		fail_msg("what is used is free");
	return map.free_bytes == (uint64_t)n * CLUSTER;
}

IMAGE_TRIES(image_spoilt, seal, leaves(s->n))

CASE(reads_it)
{
	static const unsigned how[] = { 0, FS_META | FS_DEEP,
		FS_ORDER | FS_DEEP };

	EACH_OF(i, how) {
		assert_int_equal(image_read(how[i]), FS_CLEAN);
		assert_true(leaves(ALL));
	}
	assert_string_equal(map.type, "ntfs");
	assert_string_equal(map.label, "made");
	assert_int_equal(fs_among(&map.meta, (uint64_t)ROOT_INDEX * CLUSTER,
	    (uint64_t)(ROOT_INDEX + 8) * CLUSTER), 8 * CLUSTER);
	/* its boot sector is a structure, even if $Boot does not say so */
	assert_int_equal(fs_among(&map.meta, 0, CLUSTER), CLUSTER);
	src.length -= CLUSTER;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
	disk[3] = 'X';
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_string_equal(map.type, "");
	assert_false(hits((uint64_t)DATA_A * CLUSTER, 1, "", false));
	assert_false(names.known);
}

CASE(judges_it)
{
	unsigned char *label = attribute(N_VOLUME, 0);
	unsigned char *volume = attribute(N_VOLUME, 1);
	unsigned char *log = attribute(N_LOG, 0), *page = at(LOG) + PAGE;
	const struct image_spoilt is[] = {
		{ label, 4, 0x10, FS_CLEAN, ALL },
		{ volume, 4, 0x10, FS_DAMAGED, 0 },
		{ volume + A_VALUE_SIZE, 4, 11, FS_DAMAGED, 0 },
		{ volume + 24 + 10, 2, 1, FS_DIRTY, 0 },
		{ volume + 24 + 10, 2, 0x4000, FS_DIRTY, 0 },
		{ volume + 24 + 10, 2, 0x80, FS_CLEAN, ALL },
		{ record(N_VOLUME), 1, 'X', FS_DAMAGED, 0 },
		{ record(N_LOG), 1, 'X', FS_DAMAGED, 0 },
		{ log, 4, AT_LABEL, FS_DAMAGED, 0 },
		{ log + A_OUTSIDE, 1, 0, FS_DAMAGED, 0 },
		{ log + 65, 1, 8, FS_DAMAGED, 0 },
		{ page, 4, 0, FS_DAMAGED, 0 },
		{ page, 4, 0x444b4843, FS_CLEAN, ALL },		/* CHKD */
		{ page + 24, 2, PAGE - 31, FS_DIRTY, 0 },
		{ page + 28, 2, 2, FS_DIRTY, 0 },
		{ page + 64 + 12, 2, 0, FS_DIRTY, 0 },
		{ page + 64 + 12, 4, 0x20000, FS_CLEAN, ALL },
		{ page + 64 + 12, 4, 0x10000, FS_DIRTY, 0 },
	};

	try(is, COUNT(is));
	image.lost = (uint64_t)LOG * CLUSTER + PAGE;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
}

CASE(doubts_its_bitmap)
{
	unsigned char *a = attribute(N_BITMAP, 0);
	const struct image_spoilt is[] = {
		{ record(N_BITMAP), 1, 'X', FS_DAMAGED, 0 },
		{ a, 4, AT_LABEL, FS_DAMAGED, 0 },
		{ a + A_OUTSIDE, 1, 0, FS_DAMAGED, 0 },
		{ a + A_FIRST, 8, 1, FS_DAMAGED, 0 },
		{ a + A_SIZE, 8, CLUSTERS / 8 - 1, FS_DAMAGED, 0 },
		{ a + A_VALID, 8, CLUSTERS / 8 - 1, FS_DAMAGED, 0 },
		{ a + 64, 1, 0, FS_DAMAGED, 0 },
		{ a + 64, 1, 0x01, FS_DAMAGED, 0 },
		{ a + 66, 2, CLUSTERS, FS_DAMAGED, 0 },
		/* what it calls free has one of its own structures */
		{ at(BITS) + MFT / 8, 1, 0, FS_DAMAGED, 0 },
		{ at(BITS) + LOG / 8 + 1, 1, 0, FS_DAMAGED, 0 },
		{ at(BITS) + ROOT_INDEX / 8, 1, 0, FS_DAMAGED, 0 },
	};

	try(is, COUNT(is));
	image.lost = (uint64_t)BITS * CLUSTER;
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
	set_up(NULL);
	put(disk + 40, 8, CLUSTERS - 3);	/* bits behind its end */
	memcpy(at(CLUSTERS - 3), disk, CLUSTER);
	assert_int_equal(image_read(0), FS_CLEAN);
	assert_true(leaves(ALL - 3));
}

/* Without all of $MFT, and records of a size that there is, nothing is known. */
CASE(doubts_its_table)
{
	unsigned char *mft = attribute(N_MFT, 0);
	const struct image_spoilt is[] = {
		{ mft, 4, AT_LABEL, FS_DAMAGED, 0 },
		{ mft + A_OUTSIDE, 1, 0, FS_DAMAGED, 0 },
		{ mft + A_FIRST, 8, 1, FS_DIRTY, 0 },
		{ mft + A_FIRST, 8, UINT64_C(1) << 60, FS_DIRTY, 0 },
		{ mft + A_VALID, 8, 0, FS_DIRTY, 0 },
		{ mft + A_VALID, 8, UINT64_MAX, FS_DIRTY, 0 },
		{ mft + 64, 1, 0, FS_DAMAGED, 0 },
		{ mft + 64, 1, 0x01, FS_DAMAGED, 0 },
		{ mft + 64, 1, 0x29, FS_DAMAGED, 0 },
		{ mft + 64, 1, 0x91, FS_DAMAGED, 0 },
		{ mft + 65, 1, 0, FS_DAMAGED, 0 },
		{ mft + 65, 1, 40, FS_DIRTY, 0 },
		{ mft + 66, 2, CLUSTERS, FS_DAMAGED, 0 },
		{ mft + 66, 2, 0x8000, FS_DAMAGED, 0 },
		{ disk + 64, 1, 0, FS_DAMAGED, 0 },
		{ disk + 64, 1, 0x80, FS_DAMAGED, 0 },
		{ disk + 64, 1, 3, FS_DAMAGED, 0 },
		{ disk + 64, 1, 0xf8, FS_DAMAGED, 0 },
		{ disk + 64, 1, 0xf0, FS_DAMAGED, 0 },
		{ disk + 64, 1, 2, FS_CLEAN, ALL },
		{ disk + 13, 1, 0, FS_DAMAGED, 0 },
		{ disk + 13, 1, 3, FS_DAMAGED, 0 },
		{ disk + 13, 1, 0x81, FS_DAMAGED, 0 },
		{ disk + 40, 8, 0, FS_DAMAGED, 0 },
		{ disk + 48, 8, CLUSTERS, FS_DAMAGED, 0 },
		{ disk + 56, 8, CLUSTERS, FS_DAMAGED, 0 },
	};


	EACH_OF(i, is) {
		unsealed(NULL);
		memset(at(LOG), 0xff, (size_t)2 * PAGE);	/* files are asked */
		put(is[i].p, is[i].bytes, is[i].v);
		seal();
		if (image_read(0) != is[i].state || !leaves(is[i].n))
			fail_msg("case %zu: %s, %llu free: %s", i,
			    fs_state_name(map.state), (unsigned long long)
			    map.free_bytes / CLUSTER, map.reason);
	}
}

/* A second boot sector is where it ends, with the same sizes. */
CASE(has_two_boot_sectors)
{
	static const struct { unsigned at; enum fs_state state; } of[] = {
		{ 0, FS_CLEAN }, { 3, FS_DAMAGED }, { 11, FS_DAMAGED },
		{ 13, FS_DAMAGED }, { 28, FS_CLEAN }, { 40, FS_DAMAGED },
		{ 48, FS_DAMAGED }, { 56, FS_DAMAGED }, { 64, FS_DAMAGED },
		{ 68, FS_DAMAGED }, { 90, FS_CLEAN },
	};

	EACH_OF(i, of) {
		set_up(NULL);
		at(CLUSTERS)[of[i].at] ^= 1;
		if (image_read(0) != of[i].state)
			fail_msg("byte %u: %s", of[i].at, map.reason);
	}
	set_up(NULL);
	src.length = CLUSTERS * CLUSTER;	/* there is no room for it */
	assert_int_equal(image_read(0), FS_DAMAGED);
	assert_true(leaves(0));
}

/* Windows, or another system, has put its memory into a file of the root. */
CASE(knows_who_sleeps)
{
	static const struct {
		const char *name, *begins;
		unsigned directory, clusters;
		enum fs_state state;
	} of[] = {
		{ "HiberFil.SYS", "hibr", N_ROOT, 8, FS_DIRTY },
		{ "hiberfil.sys", "HIBR", N_ROOT, 8, FS_DIRTY },
		{ "hiberfil.sys", "wake", N_ROOT, 8, FS_DIRTY },
		{ "swapfile.sys", "WAKE", N_ROOT, 8, FS_DIRTY },
		{ "hiberfil.sys", "", N_ROOT, 8, FS_CLEAN },
		{ "hiberfil.sys", "", N_ROOT, 7, FS_DIRTY },
		{ "hiberfil.sys", "hibr", DIR, 8, FS_CLEAN },
		{ "hiberfil.sy", "hibr", N_ROOT, 8, FS_CLEAN },
	};

	EACH_OF(i, of) {
		unsealed(NULL);
		make_record(B, R_IN_USE);
		add_name(B, of[i].directory, of[i].name, 1);
		add_run(B, AT_DATA, DATA_A, of[i].clusters);
		memcpy(at(DATA_A), of[i].begins, strlen(of[i].begins));
		seal();
		if (image_read(0) != of[i].state || !leaves(of[i].state ==
		    FS_CLEAN ? ALL : 0))
			fail_msg("case %zu: %s", i, map.reason);
	}
}

/* Files that have what is free are looked for, whoever wrote them. */
CASE(asks_files)
{
	static const unsigned of[] = { DATA_A + 1, DATA_B, DATA_MORE,
		DATA_TWO };
	size_t i;
	int more;

	for (i = 0; i < COUNT(of) + 1; i++) {
		unsealed(NULL);
		if (i % 2 == 0)
			memset(at(LOG), 0xff, (size_t)2 * PAGE);
		if (i < COUNT(of))
			at(BITS)[of[i] / 8] &= (unsigned char)~(1 << of[i] % 8);
		seal();
		assert_int_equal(image_read(0), i < COUNT(of) ? FS_DIRTY :
		    FS_CLEAN);
		assert_true(leaves(i < COUNT(of) ? 0 : ALL));
	}
	/* not all of them can be read */
	for (more = 0; more < 4; more++) {
		unsealed(NULL);
		memset(at(LOG), 0xff, (size_t)2 * PAGE);
		if (more == 1)
			record(A)[0] = 'X';
		if (more == 2)
			put(attribute(N_MFT, 0) + A_VALID, 8,
			    (RECORDS + 1) * RECORD);
		seal();
		image.lost = more == 0 ? (uint64_t)(record(B) - disk) :
		    UINT64_MAX;
		if (more == 3)
			record(A)[RECORD - 1] ^= 1;
		assert_int_equal(image_read(0), more == 0 ? FS_UNKNOWN :
		    FS_DIRTY);
		assert_true(leaves(0));
	}
}

/* ---------------------------------------------------------------- names */

#define AT(c)	((uint64_t)(c) * CLUSTER), 1
#define AT_RECORD(i) ((uint64_t)MFT * CLUSTER + (uint64_t)(i) * RECORD), 1

CASE(names_files)
{
	assert_true(hits(AT(DATA_A + 1), "/a", false));
	assert_true(hits(AT(DATA_A + 2), "/dir/b", false));
	assert_true(hits(AT(DATA_TWO), "/two names", false));
	assert_true(hits(AT(DATA_MORE), "/dir/more", false));
	assert_true(hits(AT(ROOT_INDEX), "/", false));
	assert_true(hits(AT(LOG), "", false));
	assert_true(hits(AT(USED), "", false));
	/* what is found in an order that is not that of their numbers */
	assert_true(hits((uint64_t)DATA_A * CLUSTER, 8 * CLUSTER,
	    "/a /dir/b /dir/more /two names", false));
	/* records that are lost: by the indexes of directories */
	assert_true(hits(AT_RECORD(A), "/a", false));
	assert_true(hits(AT_RECORD(B), "/dir/b", false));
	assert_true(hits(AT_RECORD(TWO), "/two names", false));
	assert_true(hits(AT_RECORD(FREE), "", false));
	assert_true(hits(AT_RECORD(N_LOG), "", false));
	image.lost = (uint64_t)(record(DIR) - disk);
	assert_true(hits(AT_RECORD(DIR), "/dir", true));
	assert_true(hits((uint64_t)(record(DIR) - disk), (uint64_t)2 * RECORD,
	    "/dir", true));
}

CASE(names_what_is_spoilt)
{
	unsigned char *name = attribute(B, 0), *list = attribute(MORE, 0);
	unsigned char *x = at(ROOT_INDEX) + 24, *in = attribute(DIR, 1);
	unsigned char *data = attribute(A, 1), *e = x + 56;
	const struct misnamed no[] = {
		{ name, 4, AT_LABEL, AT(DATA_B), "/dir/b", false },
		{ name + A_OUTSIDE, 1, 1, AT(DATA_B), "/dir/b", true },
		{ name + A_VALUE_SIZE, 4, 65, AT(DATA_B), "/dir/b", false },
		{ name + 24 + 64, 1, 0, AT(DATA_B), "/dir/b", false },
		{ name + 24 + 64, 1, 2, AT(DATA_B), "/dir/b", false },
		{ name + 24, 8, reference(99), AT(DATA_B), "<99>/b", false },
		{ name + 24, 8, UINT64_C(2) << 48 | DIR, AT(DATA_B),
		    "<17>/b", false },
		{ name + 24, 8, reference(A), AT(DATA_B), "<16>/b", false },
		{ name + 24, 8, reference(FREE), AT(DATA_B), "<25>/b",
		    false },
		{ name + 24 + 65, 1, 2, AT(DATA_B), "/dir/b", false },
		{ record(DIR) + R_FLAGS, 2, 0, AT(DATA_B), "<17>/b", false },
		/* names and data that are elsewhere */
		{ list + 24 + 16, 8, reference(FREE), AT(DATA_MORE), "<30>",
		    false },
		{ list + 24 + 16, 8, reference(99), AT(DATA_MORE), "<30>",
		    false },
		{ list + 24 + 6, 1, 1, AT(DATA_MORE), "<30>", false },
		{ list + 24 + 4, 2, 25, AT(DATA_MORE), "<30>", false },
		{ list + A_VALUE, 2, 99, AT(DATA_MORE), "<30>", false },
		{ attribute(MORE_NAME, 0) + 24 + 65, 1, 2, AT(DATA_MORE),
		    "/dir/more", false },
		/* runs that lead nowhere, or are cut off */
		{ data + 64, 1, 0x19, AT(DATA_A), "", true },
		{ data + 64, 1, 0x01, AT(DATA_A), "", true },
		{ data + 66, 2, CLUSTERS, AT(DATA_A), "", true },
		{ data + 64, 1, 0, AT(DATA_A), "", false },
		{ record(A) + FIRST + A_LENGTH, 4, 8, AT(DATA_A), "", true },
		/* indexes of which part is lost */
		{ x - 24, 1, 'X', AT_RECORD(A), "", false },
		{ x, 4, INDEX, AT_RECORD(A), "", false },
		{ x + 4, 4, 70, AT_RECORD(A), "", false },
		{ x + 4, 4, 100000, AT_RECORD(A), "/a", false },
		{ e + 8, 2, 15, AT_RECORD(A), "", false },
		{ e + 8, 2, INDEX, AT_RECORD(A), "", false },
		{ e + 10, 2, 1000, AT_RECORD(A), "", false },
		{ e + 12, 1, 2, AT_RECORD(A), "", false },
		{ e + 10, 2, 65, AT_RECORD(A), "/a", false },
		{ e + 16 + 65, 1, 1, AT_RECORD(A), "/A~1", false },
		{ e + 88 + 16 + 64, 1, 9, AT_RECORD(A), "", false },
		{ disk + 68, 1, 0, AT_RECORD(A), "", false },
		{ attribute(N_ROOT, 0) + 66, 2, CLUSTERS, AT_RECORD(A), "",
		    true },
		{ attribute(N_ROOT, 0) + A_OUTSIDE, 1, 0, AT_RECORD(A), "",
		    false },
		{ attribute(N_ROOT, 0) + 64, 1, 0x01, AT_RECORD(A), "",
		    true },
		{ in + A_VALUE_SIZE, 4, 31, AT_RECORD(B), "", false },
		{ in + 24, 4, AT_LABEL, AT_RECORD(B), "", false },
	};

	image_misnamed(unsealed, seal, no, COUNT(no));
}

/* The records in two parts, one of which is cut in the midst of a record. */
CASE(names_by_two_parts)
{
	unsigned char *a;

	unsealed(NULL);
	a = attribute(N_MFT, 0);
	a[65] = 2 * A + 1;			/* half of A, and a half */
	a[68] = 0x11;
	a[69] = 80 - 2 * A - 1;
	a[70] = 0x3f;
	memmove(at(MFT + 2 * A + 1 + 0x1e), at(MFT + 2 * A + 1), 0);
	seal();
	hits(AT(DATA_A), "", true);
	assert_true(names.known);
}

CASE(fails_anywhere)
{
	image_fails((uint64_t)DATA_A * CLUSTER, 8 * CLUSTER);
	image_fails((uint64_t)(record(A) - disk), (uint64_t)4 * RECORD);
}

CASE(needs_memory)
{
	unsealed(NULL);
	memset(at(LOG), 0xff, (size_t)2 * PAGE);
	seal();
	image_needs_memory((uint64_t)DATA_A * CLUSTER, 8 * CLUSTER, FS_DEEP);
	image_needs_memory((uint64_t)(record(A) - disk), (uint64_t)4 * RECORD,
	    0);
}
