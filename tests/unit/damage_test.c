/*
 * What is reported about mock disks: remarks on a plan, the partitions that are
 * copied, and where the losses of a rescue lie.
 */
#include "test.h"

#include "../../src/html/report_data.h"
#include "part/damage.h"
#include "part/remarks.h"
#include "poor.h"
#include "tabled.h"

enum { START = 64, COUNT = 128, END = START + COUNT };

static struct tabled disk, target;
static struct opts o;
static struct plan p;
static struct map map;
static struct remarks found;
static struct volumes v;
static struct damage d;

static int
set_up(void **state)
{
	begin_disk(&disk, "disk", &viewed, SECTOR, DISK_SECTORS);
	begin_disk(&target, "/dev/target", &viewed, SECTOR, DISK_SECTORS);
	disk.ep.kind = target.ep.kind = END_SCSI;
	target.ep.id.known = true;
	o = (struct opts){ .skip = -1, .seek = -1, .count = -1, .ipart = -1,
		.opart = -1 };
	p = (struct plan){ .opts = &o, .work = WORK_RESCUE, .src = &disk.ep,
		.dst = &target.ep, .length = DISK_SECTORS * SECTOR,
		.bounded = true, .chunk = 65536, .pad = 1, .grain = 4096,
		.sector = SECTOR, .truncate = -1 };
	return map_init(&map, p.length, p.chunk, 0);
}

static void
forget(void)
{
	remarks_free(&found);
	volumes_free(&v);
	damage_free(&d);
	d = (struct damage){ .n = 0 };
}

static int
tear_down(void **state)
{
	forget();
	map_free(&map);
	end_disk(&disk);
	end_disk(&target);
	return 0;
}

EACH(set_up, tear_down)

/* ---------------------------------------------------------------- damage */

/* The bytes from one sector to another of the target could not be read. */
static void
lose(uint64_t from, uint64_t to)
{
	assert_int_equal(map_set(&map, from * SECTOR, (to - from) * SECTOR,
	    BAD), 0);
}

static const char *
command(size_t i)
{
	forget();
	damage_make(&d, &p, &map);
	assert_true(i < d.n);
	return d.area[i].command != NULL ? d.area[i].command : "";
}

CASE(lies_in_partitions)
{
	map_set(&map, 0, p.length, FINISHED);
	add_row(&target, 0, 0, 0x83, START, COUNT);
	add_logical(&target, 1, 0x05, 1000, 1);
	add_ext2(&target, START * SECTOR, COUNT / 2);
	damage_make(&d, &p, &map);
	assert_int_equal(d.n, 0);			/* nothing is lost */
	lose(START - 10, START - 8);
	lose(START + 20, START + 21);
	lose(END - 1, END + 1);
	assert_string_equal(command(0), "i=$(debugfs -c -R 'icheck 10 63' "
	    "'/dev/target?offset=32768' | awk '$2+0 {print $2}' | sort -u | "
	    "tr '\\n' ' '); if [ \"$i\" ]; then debugfs -c -R \"ncheck $i\" "
	    "'/dev/target?offset=32768'; else echo 'no file is affected'; fi");
	assert_int_equal(d.n, 2);
	assert_int_equal(d.area[0].number, 1);
	assert_string_equal(d.area[0].type, "ext2");
	assert_string_equal(d.area[0].label, "label");
	assert_int_equal(d.area[0].ranges, 2);
	assert_int_equal(d.area[0].bytes, 2 * SECTOR);
	assert_int_equal(d.area[0].more, 0);
	assert_true(d.area[1].outside);
	assert_int_equal(d.area[1].bytes, 3 * SECTOR);
	/* the first block of one is in it */
	assert_int_equal(map_set(&map, 0, p.length, FINISHED), 0);
	lose(START, START + 1);
	forget();
	damage_make(&d, &p, &map);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.area[0].number, 1);
	/* of a copy that begins elsewhere nothing is known */
	p.src_off = SECTOR;
	forget();
	damage_make(&d, &p, &map);
	assert_int_equal(d.n, 0);
	p.src_off = 0;
	p.work = WORK_COPY;
	damage_make(&d, &p, &map);
	assert_int_equal(d.n, 0);
}

/* By clusters, each of which is told once. */
CASE(is_found_in_ntfs)
{
	static const struct {
		unsigned char	 per_cluster;	/* sectors, or its exponent */
		unsigned	 sectors;
		const char	*clusters;
	} rows[] = { { 8, 8, " 3-3 5-5 7-8;" },
		{ 1, 1, " 24-25 40-40 62-67 69-69;" },
		{ 0xf9, 128, " 0-0;" } };
	unsigned char head[512] = "\xeb\x52\x90NTFS    ";
	uint64_t mft;

	map_set(&map, 0, p.length, FINISHED);
	lose(24, 26);
	lose(40, 41);
	lose(62, 68);
	lose(69, 70);
	le16enc(head + 11, SECTOR);
	head[21] = 0xf8;
	le64enc(head + 40, DISK_SECTORS - 1);
	le64enc(head + 48, 4);
	le64enc(head + 56, 8);
	head[64] = 0xf6;			/* records of 1 KiB */
	memcpy(head + 510, "\x55\xaa", 2);
	EACH_OF(i, rows) {
		head[13] = rows[i].per_cluster;
		mft = 4 * (uint64_t)rows[i].sectors * SECTOR;
		fill(&target, 0, head, sizeof(head));
		fill(&target, mft, "FILE", 4);
		fill(&target, mft + 3072, "FILE", 4);
		assert_non_null(strstr(command(0), rows[i].clusters));
		assert_string_equal(d.area[0].type, "ntfs");
		assert_non_null(strstr(command(0), "; do ntfscluster -f -q -c "
		    "$c /dev/target; done"));
	}
}

CASE(is_not_guessed)
{
	map_set(&map, 0, p.length, FINISHED);
	lose(0, 1);			/* where a table may have been */
	(void)command(0);
	assert_int_equal(d.table, TABLE_LOST);
	map_set(&map, 0, p.length, FINISHED);
	add_ext2(&target, 0, DISK_SECTORS / 2);
	lose(1, 3);			/* what it is was lost */
	assert_string_equal(command(0), "");
	assert_string_equal(d.area[0].type, "");
	map_set(&map, 0, p.length, FINISHED);
	lose(100, 101);
	assert_true(command(0)[0] == 'i');
	/* numbers that none has */
	fill(&target, 1024 + 24, "\x20\0\0\0", 4);
	(void)command(0);
	/* no part of the target can be read back */
	add_ext2(&target, 0, DISK_SECTORS / 2);
	target.attach_err = EIO;
	assert_true(command(0)[0] == 'i');
	assert_false(d.area[0].loss.known);
	target.hidden = true;
	assert_true(command(0)[0] == 'i');
	assert_false(d.area[0].loss.known);
	target.ep.be = &blind;
	assert_string_equal(command(0), "");
}

/* A FAT12 with a file of the one sector that is returned. */
static uint64_t
add_fat(void)
{
	unsigned char b[SECTOR] = "\xeb\x3c\x90mkfs.fat", table[SECTOR] =
	    "\xf8\xff\xff\0\xf0\xff", root[SECTOR] = "A          ";

	le16enc(b + 11, SECTOR);
	b[13] = b[14] = 1;		/* sectors of a cluster, before the */
	b[16] = 2;			/* ... two tables */
	b[17] = 32;			/* entries of the root */
	le16enc(b + 19, DISK_SECTORS);
	b[21] = 0xf8;
	b[22] = 12;			/* sectors of a table */
	memcpy(b + 510, "\x55\xaa", 2);
	root[26] = 3;
	le32enc(root + 28, SECTOR);
	fill(&target, 0, b, sizeof(b));
	fill(&target, SECTOR, table, sizeof(table));
	fill(&target, 13 * SECTOR, table, sizeof(table));
	fill(&target, 25 * SECTOR, root, sizeof(root));
	return 27 + 1;
}

/* A search that had too little memory says nothing of files. */
CASE(is_of_no_file_only_where_all_were_looked_at)
{
	uint64_t at = add_fat();
	unsigned i, n = 0;

	map_set(&map, 0, p.length, FINISHED);
	lose(at, at + 1);
	for (i = 0; i == 0 || poor_was(); i++) {
		forget();
		poor_after(i);
		damage_make(&d, &p, &map);
		poor.on = false;
		if (d.n == 0 || !damage_all_named(&d.area[0]))
			continue;
		assert_int_equal(d.area[0].files.n, 1);
		n++;
	}
	assert_true(n > 0);
	assert_string_equal(d.area[0].files.name[0], "/A");
}

/* Whatever memory is refused, no loss is called less than it is. */
CASE(is_whole_or_memory_is_short)
{
	unsigned i;

	map_set(&map, 0, p.length, FINISHED);
	add_row(&target, 0, 0, 0x83, START, COUNT);
	add_ext2(&target, START * SECTOR, COUNT / 2);
	lose(START + 20, START + 21);
	for (i = 0; i == 0 || poor_was(); i++) {
		forget();
		poor_after(i);
		damage_make(&d, &p, &map);
		poor.on = false;
		if (d.n > 0)
			assert_int_equal(d.area[0].bytes, SECTOR);
		poor_after(i);
		volumes_rescued(&v, &p, &map);
		volumes_free(&v);
		volumes_of_source(&v, &p);
		remarks_make(&(struct remarks *){ &found }, &p, true);
		poor.on = false;
	}
	assert_int_equal(d.n, 1);
}

/* --------------------------------------------------------------- volumes */

CASE(are_listed)
{
	add_row(&disk, 0, 0, 0x83, START, COUNT);
	add_logical(&disk, 1, 0x05, 1000, 1);
	add_ext2(&disk, START * SECTOR, COUNT / 2);
	volumes_of_source(&v, &p);
	assert_string_equal(v.table, "dos");
	assert_int_equal(v.n, 2);
	assert_string_equal(v.row[0].type, "ext2");
	assert_string_equal(v.row[0].label, "label");
	assert_int_equal(v.row[1].number, 5);
	/* without a table it is one, and with an empty one none */
	forget();
	add_row(&disk, 0, 0, 0, 0, 0);
	add_row(&disk, 0, 1, 0, 0, 0);
	volumes_of_source(&v, &p);
	assert_int_equal(v.n, 0);
	forget();
	fill(&disk, 510, "\0", 1);
	add_ext2(&disk, 0, DISK_SECTORS / 2);
	volumes_of_source(&v, &p);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.row[0].type, "ext2");
	forget();
	p.bounded = false;
	volumes_of_source(&v, &p);
	assert_int_equal(v.n, 0);
	p.bounded = true;
	disk.view_err = EIO;
	volumes_of_source(&v, &p);
	assert_int_equal(v.n, 0);
	disk.ep.be = &blind;
	volumes_of_source(&v, &p);
	assert_int_equal(v.n, 0);
}

/* Of one that is cut off, as the table says, nothing can be told. */
CASE(are_not_beyond_the_disk)
{
	end_disk(&disk);
	begin_disk(&disk, "disk", &viewed, 4096, DISK_SECTORS / 8);
	add_row(&disk, 0, 0, 0x83, START, 0x20000010);
	volumes_of_source(&v, &p);
	assert_string_equal(v.table, "dos");
	assert_int_equal(v.n, 0);
}

CASE(are_listed_as_far_as_they_were_read)
{
	add_row(&target, 0, 0, 0x83, START, COUNT);
	add_ext2(&target, START * SECTOR, COUNT / 2);
	volumes_rescued(&v, &p, &map);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.row[0].type, "");
	forget();
	map_set(&map, 0, p.length, FINISHED);
	volumes_rescued(&v, &p, &map);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.row[0].type, "ext2");
	/* one into a later place has its table there */
	forget();
	p.dst_off = START * SECTOR;
	p.length -= START * SECTOR;
	volumes_rescued(&v, &p, &map);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.row[0].type, "ext2");
	/* a partition is one volume */
	forget();
	disk.ep.lim.part = 3;
	disk.ep.lim.base = p.src_off = 8 * SECTOR;
	volumes_rescued(&v, &p, &map);
	assert_int_equal(v.n, 1);
	assert_int_equal(v.row[0].number, 3);
	forget();
	p.src_off = 9 * SECTOR;
	volumes_rescued(&v, &p, &map);
	assert_int_equal(v.n, 0);
	forget();
	disk.ep.lim.part = 0;
	p.src_off = p.dst_off = 0;
	target.view_err = EIO;
	volumes_rescued(&v, &p, &map);
	assert_int_equal(v.n, 0);
}

/* --------------------------------------------------------------- remarks */

/* The remarks on the copy of that range of sectors of the disk. */
static const struct span *
span(uint64_t from, uint64_t to)
{
	forget();
	o.skip = 1;
	p.work = WORK_COPY;
	p.src_off = from * SECTOR;
	p.dst_off = 0;
	p.length = (to - from) * SECTOR;
	remarks_make(&(struct remarks *){ &found }, &p, false);
	return &found.src;
}

CASE(are_on_ranges)
{
	static const struct {
		uint64_t	from, to;
		bool		odd;
		enum lies	begins, ends;
		unsigned	number;
	} rows[] = {
		{ START, END, false, LIES_BORDER, LIES_BORDER, 1 },
		{ START, END - 1, true, LIES_BORDER, LIES_INSIDE, 1 },
		{ START + 1, END, true, LIES_INSIDE, LIES_BORDER, 1 },
		{ START - 1, END, true, LIES_OUTSIDE, LIES_BORDER, 1 },
		{ START, END + 1, true, LIES_BORDER, LIES_OUTSIDE, 1 },
		{ 1, START, false, LIES_DISK, LIES_DISK, 0 },
		{ START, DISK_SECTORS, true, LIES_BORDER, LIES_DISK, 1 },
		{ 1000, 1004, false, LIES_BORDER, LIES_BORDER, 2 },
		{ 1000, 1003, true, LIES_BORDER, LIES_INSIDE, 2 },
		{ 1001, 1004, true, LIES_INSIDE, LIES_BORDER, 2 },
		{ 998, 1006, true, LIES_OUTSIDE, LIES_OUTSIDE, 5 },
	};
	const struct span *s;

	add_row(&disk, 0, 0, 0x83, START, COUNT);
	add_logical(&disk, 1, 0x05, 1000, 1);
	EACH_OF(i, rows) {
		s = span(rows[i].from, rows[i].to);
		if (s->odd != rows[i].odd ||
		    (rows[i].number > 0 && (s->from.lies != rows[i].begins ||
		    s->to.lies != rows[i].ends)))
			fail_msg("%llu to %llu: odd %d, %d to %d",
			    (unsigned long long)rows[i].from,
			    (unsigned long long)rows[i].to, s->odd,
			    s->from.lies, s->to.lies);
	}
	/* nothing of it */
	assert_false(span(START + 1, START + 1)->odd);
	/* a whole disk, and the beginning of one */
	assert_false(span(0, DISK_SECTORS)->odd);
	assert_false(span(0, END)->odd);
	assert_int_equal(found.src.from.lies, LIES_DISK);
	/* a stream has no end yet */
	p.bounded = false;
	assert_true(span(START + 1, END)->odd);
	assert_int_equal(found.src.to.lies, LIES_OPEN);
}

CASE(are_on_clones)
{
	unsigned i;
	char cut[CUT_ROOM];

	p.work = WORK_COPY;
	p.length = 1000 * SECTOR;
	add_row(&disk, 0, 0, 0x83, START, COUNT);
	add_logical(&disk, 1, 0x05, 900, 40);
	remarks_make(&(struct remarks *){ &found }, &p, false);
	assert_int_equal(found.beyond.n, 15);	/* all but 25 of 40 and one */
	assert_int_equal(found.beyond.end, (900 + 4 * 40) * SECTOR);
	assert_int_equal(found.beyond.number[0], 5 + 25);
	forget();
	p.length = START * SECTOR;		/* no clone */
	remarks_make(&(struct remarks *){ &found }, &p, false);
	assert_int_equal(found.beyond.n, 0);
	/* how much holds all of them */
	target.ep.geo.room = 999 * SECTOR;
	p.length = DISK_SECTORS * SECTOR;
	assert_int_equal(remarks_needed(&p, cut), (900 + 4 * 40) * SECTOR);
	target.ep.geo.room = -1;
	assert_int_equal(remarks_needed(&p, cut), 0);
	target.ep.geo.room = 999 * SECTOR;
	disk.view_err = EIO;
	assert_int_equal(remarks_needed(&p, cut), 0);
	disk.view_err = 0;
	for (i = 0; i < 5; i++) {
		disk.ep.is.streamed = i == 0;
		p.bounded = i != 1;
		p.src_off = i == 2 ? SECTOR : 0;
		p.dst_off = i == 3 ? SECTOR : 0;
		disk.ep.lim.part = i == 4;
		assert_int_equal(remarks_needed(&p, cut), 0);
	}
}

static enum slip
slip(void)
{
	forget();
	remarks_make(&(struct remarks *){ &found }, &p, false);
	return found.slip;
}

CASE(are_on_probable_mistakes)
{
	p.work = WORK_COPY;
	disk.ep.is.device = false;
	disk.ep.be = &(struct backend){ .view = tabled_view };
	/* a file system over a table, unless that is a partition's */
	add_ext2(&disk, 0, DISK_SECTORS / 2);
	assert_int_equal(slip(), SLIP_NONE);
	add_row(&target, 0, 0, 0x83, START, COUNT);
	assert_int_equal(slip(), SLIP_OVER_TABLE);
	assert_string_equal(found.kind, "ext2");
	target.disk.partition = 1;
	assert_int_equal(slip(), SLIP_NONE);
	/* a whole disk into a partition, unless that is one, too */
	add_row(&disk, 0, 0, 0x83, START, COUNT);
	fill(&disk, 1024, (char [1024]){ 0 }, 1024);
	assert_int_equal(slip(), SLIP_NESTED);
	disk.ep.is.device = true;
	disk.ep.be = &viewed;
	disk.disk.partition = 2;
	assert_int_equal(slip(), SLIP_NONE);
	target.disk.partition = 0;
	assert_int_equal(slip(), SLIP_NONE);
	/* nothing over something */
	add_row(&disk, 0, 0, 0, 0, 0);
	fill(&disk, 510, "\0\0", 2);
	assert_int_equal(slip(), SLIP_BLANK);
	fill(&disk, 510, "x", 1);
	assert_int_equal(slip(), SLIP_NONE);
	fill(&target, 510, "\0", 1);
	assert_int_equal(slip(), SLIP_NONE);
	disk.ep.be = &blind;
	assert_int_equal(slip(), SLIP_NONE);
}
