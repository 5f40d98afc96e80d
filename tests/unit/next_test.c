/*
 * What is printed at the end of a copy: what a clone still needs, how to
 * continue, and where losses lie.  Each condition of a note is broken by
 * itself.
 */
#include "test.h"

#include "end/backend.h"
#include "../../src/report/report_next.h"
#include "disk/disk.h"
#include "part/remarks.h"
#include "said.h"

#define GB	1000000000ULL

static struct disk disk;
static bool terminal;

int
isatty(int fd)
{
	return terminal;
}

static void
tell_disk(const struct endpoint *ep, struct disk *d)
{
	*d = disk;
}

static const struct backend a_disk = { .disk = tell_disk }, a_file;

static struct opts o;
static struct endpoint src, dst;
static struct plan p;
static struct outcome out;

/* A disk of 4 GB was copied to a file. */
static int
begin(void **state)
{
	terminal = true;
	disk = (struct disk){ .model = "A" };
	o = (struct opts){ .maxerrors = -1 };
	src = (struct endpoint){ .name = "/dev/sda", .kind = END_BLOCK,
		.be = &a_disk, .is.device = true, .geo.size = 4 * GB };
	dst = (struct endpoint){ .name = "a b.img", .kind = END_FILE,
		.be = &a_file, .is.durable = true, .geo.size = 0 };
	p = (struct plan){ .opts = &o, .src = &src, .dst = &dst, .targets = 1,
		.length = 4 * GB, .bounded = true, .truncate = -1,
		.block = 512, .pad = 1 };
	out = (struct outcome){ .tally = { .written = 4 * GB } };
	return map_init(&out.map, 4 * GB, GB, 0) != 0 ||
	    map_set(&out.map, 0, 4 * GB, FINISHED) != 0;
}

static int
end(void **state)
{
	map_free(&out.map);
	return 0;
}

EACH(begin, end)

static void
again(void)
{
	void *state = NULL;

	end(&state);
	assert_int_equal(begin(&state), 0);
}

static void
says(const char *text)
{
	assert_string_equal(SAID(report_next(&p, &out)), text);
}

/* Nothing, after such a change of what has just been said. */
#define SILENT(set_up, change)	(again(), (set_up), (void)(change), says(""))

static void
stopped(void)
{
	terminal = false;
	out.signal = 2;
	out.tally.left = GB;
}

CASE(says_how_to_write_only_the_rest)
{
	stopped();
	says("pardd: note: the same command with oflag=sparing skips what "
	    "is already there\n");
	SILENT(stopped(), out.signal = 0);
	SILENT(stopped(), out.tally.written = 0);
	SILENT(stopped(), out.tally.left = 0);
	SILENT(stopped(), o.map = "map");
	SILENT(stopped(), p.targets = 2);
	SILENT(stopped(), src.is.streamed = true);
	SILENT(stopped(), dst.is.streamed = true);
	SILENT(stopped(), dst.is.durable = false);
	SILENT(stopped(), dst.is.zoned = true);
	SILENT(stopped(), o.oflag = FLAG_APPEND);
	SILENT(stopped(), o.oflag = FLAG_SPARING);
	SILENT(stopped(), o.iflag = FLAG_RANDOM);
	SILENT(stopped(), o.reflink = REFLINK_ALWAYS);
}

static void
nothing(void)
{
}

CASE(says_how_to_look_into_an_image)
{
	static const char one[] = "pardd: to see the files in it: mount "
	    "-o ro,loop 'a b.img' /mnt\n";
	static const char all[] = "pardd: to see the files in it: losetup -r "
	    "-f -P --show 'a b.img', and mount -o ro its partitions\n";

	says(all);
	out.status = STATUS_UNREADABLE;
	says(all);
	disk.partition = 2;
	says(one);
	again();
	src.lim.part = 1;
	p.src_off = src.lim.base = 1 << 20;
	says(one);
	p.src_off++;
	says("");
	SILENT(nothing(), terminal = false);
	SILENT(nothing(), p.work = WORK_COMPARE);
	SILENT(nothing(), out.status = STATUS_FILE);
	SILENT(nothing(), dst.kind = END_BLOCK);
	SILENT(nothing(), dst.is.inherited = true);
	SILENT(nothing(), p.dst_off = 512);
	SILENT(nothing(), p.src_off = 512);
	SILENT(nothing(), p.counted = true);
	SILENT(nothing(), (src.be = &a_file, src.is.device = false));
}

CASE(says_what_goes_on_after_an_error)
{
	static const char zeros[] = "pardd: everything before block 1953125 "
	    "is in place; add coe=1 for zeros there\n";

	p.bs = 512;
	out.status = STATUS_MEDIUM;
	assert_int_equal(map_set(&out.map, GB, GB, UNTRIED), 0);
	says("pardd: everything before block 1953125 is in place; add "
	    "map=FILE to rescue the rest, or coe=1 for zeros there\n");
	dst.is.streamed = true;
	says(zeros);
	dst.is.streamed = false;
	p.targets = 2;
	says(zeros);
	o.status = SHOW_NONE;
	says(zeros);
	terminal = false;
	says(zeros);
	p.src_off = 512;
	says("pardd: everything before block 1953126 is in place; add "
	    "coe=1 for zeros there\n");
	out.doubt = true;
	says("pardd: add coe=1 for zeros there\n");
	src.is.streamed = true;
	says("");
	out.doubt = false;
	says("pardd: everything before block 1953126 is in place\n");
	p.work = WORK_CHECK;
	says("");
}

CASE(says_what_is_old_in_a_file)
{
	static const char old[] = "pardd: note: a b.img is longer than the "
	    "copy, and what it holds from byte 4000000000 on is old; "
	    "oflag=trunc cuts it off\n";
	int i;

	dst.geo.size = 4 * GB + 1;
	p.bounded = true;		/* it was said before */
	assert_string_equal(SAID(report_clone_notes(&p, &out)), "");
	p.bounded = false;
	assert_string_equal(SAID(report_clone_notes(&p, &out)), old);
	for (i = 0; i < 10; i++) {
		again();
		p.bounded = false;
		dst.geo.size = i == 0 ? -1 : i == 1 ? (int64_t)(4 * GB) :
		    (int64_t)(4 * GB + 1);
		dst.kind = i == 2 ? END_BLOCK : END_FILE;
		dst.lim.part = i == 3;
		p.work = i == 4 ? WORK_COMPARE : WORK_COPY;
		p.dst_off = i == 5 ? 512 : 0;
		p.counted = i == 6;
		o.conv = i == 7 ? CONV_NOTRUNC : 0;
		p.truncate = i == 8 ? 0 : -1;
		p.pad = i == 9 ? 512 : 1;	/* it ends in a block */
		if (i == 9)
			map_end(&out.map, 4 * GB - 1);
		assert_string_equal(SAID(report_clone_notes(&p, &out)),
		    i < 9 ? "" : old);
	}
}

CASE(says_what_a_clone_needs)
{
	struct remarks found = { .backup_astray = true };

	p.found = &found;
	dst.kind = END_BLOCK;
	dst.geo.size = 5 * GB;
	dst.geo.block = 4096;
	assert_string_equal(SAID(report_clone_notes(&p, &out)),
	    "pardd: note: a b.img is larger than the source, so the backup GPT "
	    "is not at its end; to move it there: sfdisk --relocate gpt-bak-std 'a b.img'\n");
	dst.geo.size = 3 * GB;
	assert_non_null(strstr(SAID(report_clone_notes(&p, &out)),
	    " is smaller than the source"));
	found = (struct remarks){ .table_sector = 512 };
	assert_string_equal(SAID(report_clone_notes(&p, &out)),
	    "pardd: note: the partition table counts in sectors of 512 bytes, "
	    "and a b.img has 4096; table=fix converts it, or: "
	    "losetup -fP --show -b 512 'a b.img'\n");
	p.found = NULL;
}

/* ------------------------------------------------------------------ losses */

/* Without colours. */
static int
begin_plain(void **state)
{
	int failed = begin(state);

	terminal = false;
	return failed;
}

EACH(begin_plain, end)

static char name[] = "/x", *names[20];

static const char *
damaged(struct damage_area a)
{
	const struct damage d = { .area = &a, .n = 1 };

	return SAID(report_damage(&p, &d));
}

CASE(says_which_files_are_hit)
{
	struct damage_area a = { .number = 2, .type = "ext4", .bytes = 1024,
		.ranges = 2, .files = { .known = true, .name = names } };
	size_t i;

	for (i = 0; i < 20; i++)
		names[i] = name;
	assert_string_equal(damaged(a), "pardd: partition 2 of /dev/sda (ext4):"
	    " 1024 bytes in 2 ranges could not be read; no file is affected\n");
	a.ranges = a.files.n = 1;
	strcpy(a.label, "home");
	assert_string_equal(damaged(a), "pardd: partition 2 of /dev/sda (ext4 "
	    "\"home\"): 1024 bytes in 1 range could not be read; this file is "
	    "affected:\n    /x\n");
	a.files.n = 2;
	assert_non_null(strstr(damaged(a), "; these files are affected:\n"
	    "    /x\n    /x\n"));
	a.files.more = true;
	a.command = (char []){ "look" };
	assert_non_null(strstr(damaged(a), "; these files are affected, and "
	    "maybe more:\n    /x\n    /x\npardd: this names the affected files:\n"
	    "    look\n"));
	a.more = 1;
	assert_non_null(strstr(damaged(a), "pardd: this names the affected files "
	    "in the first of these ranges:\n    look\n"));
	a.files.n = 20;
	assert_non_null(strstr(damaged(a), "    /x\npardd: and 4 more files; "
	    "json= and report= list all of them\n"));
	a.files.n = 17;
	assert_non_null(strstr(damaged(a), "    /x\npardd: and 1 more file; "));
}

CASE(says_how_to_find_the_files)
{
	struct damage_area a = { .bytes = 512, .ranges = 1 };

	assert_string_equal(damaged(a), "pardd: /dev/sda: 512 bytes in 1 range "
	    "could not be read\n");
	a.command = (char []){ "look" };
	assert_non_null(strstr(damaged(a), "; this names the affected files:\n"
	    "    look\n"));
	a.more = 1;
	assert_non_null(strstr(damaged(a), "; this names the files affected by "
	    "the first of them:\n    look\n"));
	a = (struct damage_area){ .outside = true, .bytes = 512, .ranges = 1,
		.loss = { .known = true, .free = 512 } };
	assert_string_equal(damaged(a), "pardd: outside of the partitions of "
	    "/dev/sda: 512 bytes in 1 range could not be read\npardd: all "
	    "these bytes are free space\n");
}

CASE(says_what_is_known_of_partitions)
{
	struct damage_area area[17] = { { .outside = true } };
	struct damage d = { .area = area, .n = 17, .table = TABLE_PART };
	const char *text = SAID(report_damage(&p, &d));

	assert_non_null(strstr(text, "there may be more partitions\npardd: "
	    "outside of the known partitions of /dev/sda: "));
	assert_non_null(strstr(text, "pardd: and 1 more partition has such "
	    "ranges\n"));
	d = (struct damage){ .table = TABLE_LOST };
	assert_string_equal(SAID(report_damage(&p, &d)), "pardd: /dev/sda: the "
	    "place of its partition table was not read, nor a backup of "
	    "it\n");
}

/* So many bad blocks, each by itself. */
static void
bad(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++)
		assert_int_equal(map_set(&out.map, UINT64_C(1024) * i, 512, BAD), 0);
}

static size_t
lines(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

CASE(lists_what_cannot_be_read)
{
	bad(1);
	p.src_off = 512;
	assert_string_equal(SAID(report_unreadable(&p, &out)), "pardd: "
	    "/dev/sda: unreadable: bytes 512 to 1023, blocks 1 to 1 of 512 "
	    "bytes, zeros in the copy\n");
	dst.kind = END_DISCARD;
	assert_non_null(strstr(SAID(report_unreadable(&p, &out)),
	    " of 512 bytes\n"));
	p.work = WORK_COMPARE;
	assert_non_null(strstr(SAID(report_unreadable(&p, &out)),
	    " of 512 bytes, here or on the other end, not in the "
	    "comparison\n"));
	p.work = WORK_RESCUE;
	assert_non_null(strstr(SAID(report_unreadable(&p, &out)),
	    " of 512 bytes, not in the copy\n"));
}

/* A map that was saved tells the others. */
CASE(lists_all_where_no_map_tells)
{
	unsigned i;

	bad(20);
	assert_int_equal(lines(SAID(report_unreadable(&p, &out))), 20);
	o.map = "a.map";
	assert_int_equal(lines(SAID(report_unreadable(&p, &out))), 17);
	assert_non_null(strstr(said.text, "pardd: /dev/sda: unreadable: 4 more "
	    "ranges, see a.map\n"));
	for (i = 0; i < 5; i++) {
		p.work = i < 2 ? WORK_RESCUE : WORK_COMPARE;
		out.unsaved.status = i == 0 ? STATUS_FILE : 0;
		out.flush.status = i == 1 ? STATUS_FILE : 0;
		out.fault.status = i == 2 ? STATUS_SHORT : 0;
		out.signal = i == 3 ? 2 : 0;
		assert_int_equal(lines(SAID(report_unreadable(&p, &out))),
		    i < 4 ? 20 : 17);
	}
}

CASE(lists_what_differs)
{
	struct map differ = { .ready = false };

	assert_string_equal(SAID(report_differing(&p, &differ)), "");
	bad(1);
	p.src_off = 512;
	p.dst_off = 1024;
	assert_string_equal(SAID(report_differing(&p, &out.map)), "pardd: "
	    "differs: bytes 512 to 1023 of /dev/sda, 1024 to 1535 of a b.img"
	    "\n");
	p.work = WORK_CHECK;
	assert_string_equal(SAID(report_differing(&p, &out.map)), "pardd: "
	    "differs: bytes 512 to 1023 of /dev/sda\n");
	bad(18);
	assert_int_equal(lines(SAID(report_differing(&p, &out.map))), 17);
	assert_non_null(strstr(said.text, "pardd: and 2 more ranges; json= "
	    "lists all of them\n"));
	p.work = WORK_COMPARE;
	assert_non_null(strstr(SAID(report_differing(&p, &out.map)),
	    "; json= and map= list all of them\n"));
}
