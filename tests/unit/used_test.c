/*
 * What is used on mock disks: which file systems may be left out in part, and
 * why others are copied as a whole.  Each is a swap space, all of which but the
 * first page is free.
 */
#include "test.h"

#include "../../src/part/used_survey.h"
#include "part/used.h"
#include "poor.h"
#include "tabled.h"

enum { PAGE = 4096, START = 64, PAGES = 16, END = START + PAGES * 8 };

static struct tabled disk, target;
static struct opts o;
static struct plan p;
static struct used u;
static struct map map;
static struct fault f;

static int
set_up(void **state)
{
	begin_disk(&disk, "disk", &viewed, SECTOR, DISK_SECTORS);
	begin_disk(&target, "target", &viewed, SECTOR, DISK_SECTORS);
	target.ep.kind = disk.ep.kind = END_SCSI;
	o = (struct opts){ .used = USED_ONLY };
	p = (struct plan){ .opts = &o, .src = &disk.ep, .dst = &target.ep,
		.length = DISK_SECTORS * SECTOR, .bounded = true,
		.chunk = 65536, .pad = 1, .grain = PAGE, .sector = SECTOR };
	add_swap(&disk, START * SECTOR, PAGES);
	add_row(&disk, 0, 0, 0x82, START, PAGES * 8);
	return map_init(&map, p.length, p.chunk, 0);
}

static int
tear_down(void **state)
{
	used_free(&u);
	map_free(&map);
	end_disk(&disk);
	end_disk(&target);
	return 0;
}

EACH(set_up, tear_down)

/* What becomes of the file system i: "", or why it is copied as a whole. */
static const char *
becomes(size_t i)
{
	used_free(&u);
	assert_int_equal(used_look(&u, &p, 0, NULL), 0);
	assert_true(i < u.n);
	assert_true((u.fs[i].treated == TREATED_WHOLE) ==
	    (u.fs[i].reason[0] != '\0'));
	return u.fs[i].reason;
}

CASE(leaves_out_what_is_free)
{
	assert_string_equal(becomes(0), "");
	assert_int_equal(u.n, 1);
	assert_int_equal(u.free.n, 1);
	assert_int_equal(u.free.seg[0].off, START * SECTOR + PAGE);
	assert_int_equal(u.free.seg[0].len, (PAGES - 1) * PAGE);
	/* an extended partition is none itself */
	add_logical(&disk, 1, 0x05, 1000, 1);
	assert_string_equal(becomes(0), "");
	assert_int_equal(u.n, 2);
	assert_int_equal(u.fs[1].partition, 5);
}

/* Partitions beside the copy are none of its business. */
CASE(looks_at_what_is_copied)
{
	p.length = START * SECTOR;
	assert_int_equal(used_look(&u, &p, 0, NULL), 0);
	assert_int_equal(u.n, 0);
	p.length = DISK_SECTORS * SECTOR;
	p.src_off = END * SECTOR;
	assert_int_equal(used_look(&u, &p, 0, NULL), 0);
	assert_int_equal(u.n, 0);
	p.src_off = START * SECTOR + PAGE;
	assert_string_equal(becomes(0), "only a part of it is copied");
	p.src_off = 0;
	p.length = END * SECTOR - 1;
	assert_string_equal(becomes(0), "only a part of it is copied");
	/* the copy will tell why this cannot be read */
	disk.view_err = EIO;
	used_free(&u);
	assert_int_equal(used_look(&u, &p, 0, NULL), 0);
	assert_int_equal(u.n, 0);
}

CASE(leaves_out_nothing_of_one_that_may_be_another)
{
	static const unsigned char row[16] = { [4] = 0x83, [8] = 1, [12] = 1 };
	static const unsigned char flag[16] = { [0] = 0x70 };
	static const struct {
		size_t	 byte;
		unsigned char value;
	} no_row[] = { { 4, 0 }, { 8, 0 }, { 12, 0 } };
	unsigned char spoilt[16];
	size_t i;

	fill(&disk, START * SECTOR + 446, row, 16);
	assert_string_equal(becomes(0), "");		/* no magic */
	fill(&disk, START * SECTOR + 511, "\xaa", 1);
	assert_string_equal(becomes(0), "");
	fill(&disk, START * SECTOR + 510, "\x55\0", 2);
	assert_string_equal(becomes(0), "");
	fill(&disk, START * SECTOR + 511, "\xaa", 1);
	assert_string_equal(becomes(0), "its first sector has a partition "
	    "table, too");
	for (i = 0; i < 3; i++) {
		memcpy(spoilt, row, 16);
		spoilt[no_row[i].byte] = no_row[i].value;
		fill(&disk, START * SECTOR + 446, spoilt, 16);
		assert_string_equal(becomes(0), "");
	}
	fill(&disk, START * SECTOR + 446, row, 16);
	fill(&disk, START * SECTOR + 462, flag, 16);	/* a program */
	assert_string_equal(becomes(0), "");
}

CASE(leaves_out_nothing_of_one_that_is_not_whole)
{
	add_row(&disk, 0, 1, 0x83, END - 8, 16);
	assert_string_equal(becomes(0), "partition 2 lies on the same bytes");
	assert_string_equal(becomes(1), "partition 1 lies on the same bytes");
	add_row(&disk, 0, 1, 0x83, END, 16);
	assert_string_equal(becomes(0), "");
	assert_string_equal(becomes(1), "its free space is not known");
	add_row(&disk, 0, 1, 0, 0, 0);
	fill(&disk, START * SECTOR + 4086, "SWAP-SPACE", 10);
	assert_string_equal(becomes(0), "its version is not known");
	fill(&disk, START * SECTOR + 4086, "SWAPSPACE2", 10);
	add_ext2(&disk, 0, DISK_SECTORS / 2);
	assert_string_equal(becomes(0), "the whole of disk has the signature "
	    "of ext2");
}

/* libblkid does not know how long it is: that does not go into 32 bits. */
CASE(leaves_out_nothing_of_one_that_is_cut_off)
{
	static const char *const why = "it goes beyond the end of disk";

	end_disk(&disk);
	begin_disk(&disk, "disk", &viewed, PAGE, DISK_SECTORS / 8);
	add_row(&disk, 0, 0, 0x82, START, 0x20000010);
	assert_string_equal(becomes(0), why);
	used_free(&u);
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_string_equal(u.fs[0].reason, why);
	/* one that ends where the disk ends is whole */
	add_swap(&disk, (uint64_t)START * PAGE, DISK_SECTORS / 8 - START);
	add_row(&disk, 0, 0, 0x82, START, DISK_SECTORS / 8 - START);
	used_free(&u);
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_int_equal(u.fs[0].treated, TREATED_ORDERED);
}

/* The MBR before a GPT, and the GPT at the end. */
CASE(leaves_out_nothing_if_tables_differ)
{
	static const char *const mbr = "the MBR has another partition on the "
	    "same bytes", *const gpt = "the GPT at the end has other "
	    "partitions";
	static const struct {
		uint32_t	start, sectors;
		bool		other;
	} hybrid[] = { { START, PAGES * 8, false }, { 1, START - 1, false },
		{ END, 8, false }, { START - 8, 9, true },
		{ START, PAGES * 8 - 1, true }, { END - 1, 8, true } };
	static unsigned char table[128 * 128];
	unsigned char other[8];
	size_t i;

	add_gpt(&disk, START, END - 1);
	assert_string_equal(becomes(0), "");
	for (i = 0; i < sizeof(hybrid) / sizeof(hybrid[0]); i++) {
		add_row(&disk, 0, 1, 0x82, hybrid[i].start, hybrid[i].sectors);
		assert_string_equal(becomes(0), hybrid[i].other ? mbr : "");
	}
	add_row(&disk, 0, 1, 0, START, 8);		/* none */
	assert_string_equal(becomes(0), "");
	/* the copy will tell what cannot be read of the tables */
	for (i = 0; i < 2; i++) {
		disk.lost = i * SECTOR;
		assert_string_equal(becomes(0), "");
	}
	disk.lost = (DISK_SECTORS - 1) * SECTOR;
	assert_string_equal(becomes(0), "");
	disk.ends = true;
	disk.lost = 0;
	assert_string_equal(becomes(0), "");
	disk.ends = false;
	/* unless that is for want of memory */
	disk.lost_err = ENOMEM;
	for (i = 0; i < 2; i++) {
		disk.lost = i * SECTOR;
		used_free(&u);
		assert_int_equal(used_look(&u, &p, 0, NULL), ENOMEM);
	}
	disk.lost = UINT64_MAX;
	add_header(&disk, DISK_SECTORS - 1, 1, DISK_SECTORS - 33, table,
	    sizeof(table));
	assert_string_equal(becomes(0), gpt);
	fill(&disk, (DISK_SECTORS - 1) * SECTOR, "no", 2);
	assert_string_equal(becomes(0), "");
	/* where no backup can be */
	for (i = 0; i < 3; i++) {
		add_gpt(&disk, START, END - 1);
		assert_true(pread(disk.fd, table, sizeof(table), 1024) > 0);
		le64enc(other, i == 0 ? DISK_SECTORS : i == 1 ? UINT64_MAX :
		    DISK_SECTORS - 1);
		add_header(&disk, 1, le64dec(other), 2, table, sizeof(table));
		disk.ep.geo.size = DISK_SECTORS * SECTOR - (i == 2 ? 480 : 0);
		p.length = (uint64_t)disk.ep.geo.size;
		assert_string_equal(becomes(0), "");
	}
}

/* Where there are no partitions nothing is free. */
CASE(leaves_out_nothing_beside_partitions)
{
	static unsigned char none[128 * 128];

	add_gpt(&disk, START, END - 1);
	add_header(&disk, 1, DISK_SECTORS - 1, 2, none, sizeof(none));
	assert_int_equal(used_look(&u, &p, 0, NULL), 0);
	assert_int_equal(u.n, 0);
	used_free(&u);
	p.src_off = SECTOR;
	map_set(&map, 0, p.length, FINISHED);
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_int_equal(u.n, 0);
	p.src_off = 0;
	add_gpt(&disk, START, END - 1);
	fill(&disk, SECTOR + 80, "\xff\xff\xff", 3);
	assert_string_equal(becomes(0), "its partition table cannot be used: "
	    "its GPT is damaged: it cannot have that many entries");
	used_free(&u);
	end_disk(&disk);		/* far behind the table */
	begin_disk(&disk, "disk", &viewed, SECTOR,
	    (size_t)4 * DISK_SECTORS);
	p.length = SECTOR * DISK_SECTORS * 4;
	add_row(&disk, 0, 0, 0x82, DISK_SECTORS, PAGES * 8);
	o.used = USED_META;
	o.map = "/nowhere/map";
	assert_int_equal(used_make(&u, &p, NULL, &f), 0);
	assert_int_equal(u.meta.seg[0].off, 0);
	assert_int_equal(u.meta.seg[0].len, 1 << 20);
}

CASE(is_refused_for_what_is_written_in_order)
{
	target.ep.is.zoned = true;
	assert_int_equal(used_make(&u, &p, NULL, &f), -1);
	assert_string_equal(f.text, "used= leaves out what is free, and target "
	    "is written in order");
	target.ep.is.zoned = false;
	target.ep.is.streamed = true;
	assert_int_equal(used_make(&u, &p, NULL, &f), -1);
	target.ep.is.streamed = false;
	target.ep.kind = END_DISCARD;
	assert_int_equal(used_make(&u, &p, NULL, &f), 0);
	assert_false(u.clears);
	target.ep.kind = END_FILE;
	used_free(&u);
	assert_int_equal(used_make(&u, &p, NULL, &f), 0);
	assert_true(u.clears);
}

/* Offsets are those of the copy, and ranges those of the source. */
CASE(passes_over_what_is_free)
{
	struct seg seg[] = { { 8192, 4096, OUTSIDE }, { 16384, 4096,
		OUTSIDE } };
	uint64_t from, to;

	u.free = (struct used_list){ .seg = seg, .n = 2 };
	u.leaves = true;
	p.used = &u;
	p.src_off = 4096;
	assert_true(used_next(&p, 0, 65536, &from, &to));
	assert_int_equal(from, 0);
	assert_int_equal(to, 4096);
	assert_true(used_next(&p, 5000, 65536, &from, &to));
	assert_int_equal(from, 8192);
	assert_int_equal(to, 12288);
	assert_true(used_next(&p, 20000, 65536, &from, &to));
	assert_int_equal(from, 20000);
	assert_int_equal(to, 65536);
	assert_false(used_next(&p, 65536, 65536, &from, &to));
	u.free = (struct used_list){ .n = 0 };
}

/* Whole grains of the target, within the copy; short ones are not worth it. */
CASE(lists_what_is_free)
{
	static const struct {
		uint64_t	off, end, from, to;
	} rows[] = { { 0, 4096, 4096, 4096 }, { 4096, 8192, 4096, 8192 },
		{ 4097, 12288, 8192, 12288 }, { 4096, 8191, 4096, 4096 },
		{ 4096, 20000, 4096, 12288 }, { 16384, 20480, 0, 0 } };
	struct seg seg[] = { { 0, 512, OUTSIDE }, { 4096, 4096, OUTSIDE } };
	struct seg now[] = { { 0, 100, OUTSIDE }, { 4096, 4096, OUTSIDE } };
	struct used_list before = { .seg = seg, .n = 2 };
	struct used_list by = { .seg = now, .n = 2 };
	struct used_list list = { .n = 0 };

	p.src_off = 4096;
	p.length = 8192;
	EACH_OF(i, rows) {
		list.n = 0;
		assert_int_equal(used_list_free(&list, &p, rows[i].off,
		    rows[i].end), 0);
		assert_int_equal(list.n, rows[i].from < rows[i].to);
		if (list.n == 0)
			continue;
		assert_int_equal(list.seg[0].off, rows[i].from);
		assert_int_equal(list.seg[0].len, rows[i].to - rows[i].from);
	}
	free(list.seg);
	assert_ptr_equal(used_list_uncovered(&before, &by), seg);
	now[0].len = 512;
	assert_null(used_list_uncovered(&before, &by));
	now[0].off = 1;
	assert_ptr_equal(used_list_uncovered(&before, &by), seg);
	now[0].off = 0;
	by.n = 1;
	assert_ptr_equal(used_list_uncovered(&before, &by), seg + 1);
	by.n = 0;
	assert_ptr_equal(used_list_uncovered(&before, &by), seg);
	used_list_trim(&before, 8192);
	assert_int_equal(before.n, 2);
	used_list_trim(&before, 600000);
	assert_int_equal(before.n, 0);
}

/* In an order of reading what seems free comes last, and is read. */
CASE(puts_off_what_seems_free)
{
	struct seg s;
	unsigned char word[32] = { 0 };

	o.used = USED_META;
	o.map = "/nowhere/map";
	assert_int_equal(used_make(&u, &p, NULL, &f), 0);
	assert_int_equal(u.fs[0].treated, TREATED_ORDERED);
	assert_int_equal(u.free.n, 1);
	assert_int_equal(used_order(&p, &map, p.used), 0);
	assert_true(map_next(&map, 0, LAST, &s));
	assert_int_equal(s.off, START * SECTOR + PAGE);
	assert_true(map_next(&map, 0, UNTRIED, &s));
	assert_int_equal(s.off, 0);			/* the table */
	/* of what the copy begins behind nothing is known */
	used_free(&u);
	p.src_off = END * SECTOR;
	p.length -= END * SECTOR;
	assert_int_equal(used_make(&u, &p, NULL, &f), 0);
	assert_int_equal(used_order(&p, &map, p.used), 0);
	p.src_off = 0;
	p.length += END * SECTOR;
	fill(&disk, START * SECTOR + 4086, word, 10);
	used_free(&u);
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_string_equal(u.fs[0].reason, "its free space is not known");
}

/* What two partitions have, which a broken table may say, is counted once. */
CASE(counts_once_what_overlaps)
{
	struct used_list l = { .n = 0 };

	add_row(&disk, 0, 1, 0x82, START, PAGES * 8);
	o.used = USED_FIRST;
	o.map = "/nowhere/map";
	assert_int_equal(used_make(&u, &p, NULL, &f), 0);
	assert_int_equal(u.n, 2);
	assert_int_equal(u.free.n, 1);
	assert_int_equal(u.bytes_free, (PAGES - 1) * PAGE);
	assert_int_equal(used_list_add(&l, 10, 30), 0);
	assert_int_equal(used_list_add(&l, 5, 30), 0);
	assert_int_equal(used_list_add(&l, 8, 30), 0);
	used_list_sort(&l);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.seg[0].off, 5);
	assert_int_equal(used_list_add(&l, 20, 31), 0);
	assert_int_equal(used_list_add(&l, 40, 50), 0);
	assert_int_equal(l.n, 2);
	assert_int_equal(l.seg[0].len, 26);
	assert_int_equal(l.seg[1].off, 40);
	free(l.seg);
}

/* Until the table was read from the source it is not taken from the target. */
CASE(goes_by_the_table_that_was_rescued)
{
	o.used = USED_FIRST;
	add_swap(&target, (START + 8) * SECTOR, PAGES);
	add_row(&target, 0, 0, 0x82, START + 8, PAGES * 8);
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_int_equal(u.fs[0].off, START * SECTOR);
	used_free(&u);
	map_set(&map, 0, p.length, FINISHED);
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_int_equal(u.fs[0].off, (START + 8) * SECTOR);
	assert_int_equal(u.free.n, 1);
	/* one that is lost is not looked for in the source */
	used_free(&u);
	map_set(&map, 0, 8 * SECTOR, BAD);
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_int_equal(u.fs[0].length, p.length);
	/* ... but is where the target cannot be viewed, or begins elsewhere */
	used_free(&u);
	target.view_err = EIO;
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_int_equal(u.fs[0].off, START * SECTOR);
	used_free(&u);
	target.view_err = 0;
	p.dst_off = SECTOR;
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_int_equal(u.fs[0].off, START * SECTOR);
	used_free(&u);
	p.dst_off = 0;
	target.attach_err = EIO;
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	assert_int_equal(u.fs[0].off, START * SECTOR);
	used_free(&u);
	target.hidden = true;
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), 0);
	used_free(&u);
	disk.attach_err = ENXIO;
	assert_int_equal(used_look(&u, &p, FS_ORDER, &map), ENXIO);
}

/* What was left out as free must be free at the end. */
CASE(sees_what_has_changed_meanwhile)
{
	uint64_t from, to;

	assert_int_equal(used_make(&u, &p, NULL, &f), 0);
	assert_int_equal(used_kept(&p, &f), 0);
	assert_true(used_next(&p, START * SECTOR, p.length, &from, &to));
	assert_int_equal(from, START * SECTOR);
	assert_int_equal(to, START * SECTOR + PAGE);
	assert_true(used_next(&p, START * SECTOR + PAGE, p.length, &from, &to));
	assert_int_equal(from, END * SECTOR);
	u.leaves = false;
	assert_true(used_next(&p, START * SECTOR, p.length, &from, &to));
	assert_int_equal(to, p.length);
	u.leaves = true;
	add_swap(&disk, START * SECTOR, PAGES - 1);
	assert_int_equal(used_kept(&p, &f), -1);
	assert_int_equal(f.status, STATUS_SHORT);
	assert_non_null(strstr(f.text, "partition 1 (swap) of disk has "
	    "changed"));
	disk.attach_err = ENXIO;
	assert_int_equal(used_kept(&p, &f), -1);
	assert_string_equal(f.text, "disk: finding out what is used: No such "
	    "device or address");
}

/* of_bmap: without memory, or for a copy that cannot begin there. */
CASE(goes_by_a_block_map)
{
	struct hash_range range[] = { { .off = 8192, .len = 4096 },
		{ .off = 16384, .len = 4096 } };
	struct bmap m = { .range = range, .n = 2,
		.size = DISK_SECTORS * SECTOR };
	unsigned i;

	o.bmap = "image.bmap";
	o.used = 0;
	assert_int_equal(used_make(&u, &p, &m, &f), 0);
	assert_int_equal(u.free.n, 3);
	assert_int_equal(u.free.seg[1].off, 12288);
	assert_true(u.leaves && u.clears);
	assert_int_equal(used_kept(&p, &f), 0);
	used_free(&u);
	range[0].len = 100;
	assert_int_equal(used_make(&u, &p, &m, &f), -1);
	assert_int_equal(f.status, STATUS_REFUSED);
	range[0] = (struct hash_range){ .off = 8200, .len = 4088 };
	assert_int_equal(used_make(&u, &p, &m, &f), -1);
	range[0] = (struct hash_range){ .off = 0, .len = 16384 };
	assert_int_equal(used_make(&u, &p, &m, &f), 0);
	assert_int_equal(u.free.n, 1);
	used_free(&u);
	m.size--;
	assert_int_equal(used_make(&u, &p, &m, &f), 0);	/* a larger disk */
	used_free(&u);
	disk.ep.is.device = false;
	assert_int_equal(used_make(&u, &p, &m, &f), -1);
	disk.ep.geo.size = -1;
	disk.ep.is.streamed = true;
	o.oflag = FLAG_NOZERO;
	assert_int_equal(used_make(&u, &p, &m, &f), -1);
	assert_int_equal(f.status, STATUS_USAGE);
	o.oflag = 0;
	for (i = 0; i == 0 || poor_was(); i++) {
		used_free(&u);
		poor_after(i);
		if (used_make(&u, &p, &m, &f) != 0)
			assert_string_equal(f.text, "image.bmap: Cannot "
			    "allocate memory");
		else
			assert_true(u.masks && !u.leaves);
		poor.on = false;
	}
}

/* Whatever memory is refused, nothing that is in use is called free. */
CASE(is_whole_or_memory_is_short)
{
	static const char map_of[] = "0x0 ? 1\n0 0x8000 +\n0x8000 0x8000 -\n"
	    "0x10000 0x1F0000 ?\n";
	static const unsigned uses[] = { USED_ONLY, USED_FIRST, USED_META };
	char name[] = "/tmp/pardd-used.XXXXXX";
	int fd = mkstemp(name);
	unsigned i, k;

	assert_true(write(fd, map_of, sizeof(map_of) - 1) > 0);
	close(fd);
	add_gpt(&disk, START, END - 1);
	add_row(&disk, 0, 1, 0x82, 1, 8);
	for (k = 0; k < 6; k++) {
		o.used = uses[k % 3];
		o.map = k % 3 > 0 ? name : NULL;
		for (i = 0; i == 0 || poor_was(); i++) {
			poor_after(i);
			if (used_make(&u, &p, NULL, &f) != 0) {
				assert_int_equal(f.status, 50 + ENOMEM);
			} else if (k < 3) {
				assert_true(u.free.n <= 1);
			} else {
				poor_after(i);
				assert_true(used_apply(&p, &map) <= ENOMEM);
				(void)used_order(&p, &map, p.used);
				(void)used_kept(&p, &f);
				(void)used_order_anew(&p, &map);
			}
			poor.on = false;
			used_free(&u);
		}
	}
	unlink(name);
}
