/*
 * The page of a report, made of mock data: its tables, and the pictures.
 */
#include "test.h"

#include <sys/utsname.h>

#include "../../src/html/report_data.h"
#include "digest/hash.h"
#include "part/used.h"
#include "drawn.h"

static bool nameless;

int
uname(struct utsname *host)
{
	if (nameless) {
		errno = EFAULT;
		return -1;
	}
	strcpy(host->nodename, "host");
	strcpy(host->sysname, "Linux");
	strcpy(host->release, "6.1");
	strcpy(host->machine, "x86_64");
	return 0;
}

static struct opts o;
static struct endpoint src, dst;
static struct plan p;
static struct outcome out;
static struct result target;
static struct report_data d;

static char *argv[] = { (char []){ "pardd" }, (char []){ "if=a b" },
	(char []){ "-v" }, (char []){ "--verbose" }, (char []){ "--" },
	(char []){ "note=" } };

/* A copy that is under way, of 4 KiB of a disk to a file. */
static int
begin(void **state)
{
	nameless = false;
	o = (struct opts){ .argc = 6, .argv = argv };
	src = (struct endpoint){ .name = "/dev/sda", .kind = END_BLOCK,
		.geo = { .size = 4096, .block = 512 } };
	dst = (struct endpoint){ .name = "a.img", .kind = END_FILE,
		.geo.size = 4096 };
	p = (struct plan){ .opts = &o, .src = &src, .dst = &dst,
		.length = 4096, .src_off = 1000 };
	memset(&out, 0, sizeof(out));
	memset(&target, 0, sizeof(target));
	out.target = &target;
	out.targets = 1;
	memset(&d, 0, sizeof(d));
	d.p = &p;
	d.length = d.total.end = 4096;
	return 0;
}

static int
end(void **state)
{
	map_free(&target.differ);
	free(text);
	text = NULL;
	return 0;
}

EACH(begin, end)

/* Each picture is shown whole, and no larger. */
static void
shows_whole_pictures(void)
{
	const char *at = text;
	char *end;
	long wide, tall;

	while ((at = strstr(at, " width=\"")) != NULL) {
		wide = strtol(at + strlen(" width=\""), &end, 10);
		at = end;
		if (strncmp(end, "\" height=\"", 10) != 0)
			continue;
		tall = strtol(end + 10, &end, 10);
		if (strncmp(end, "\" viewBox=\"", 11) != 0)
			continue;
		(void)strtol(end + 11, &end, 10);
		(void)strtol(end, &end, 10);
		assert_int_equal(strtol(end, &end, 10), wide);
		assert_int_equal(strtol(end, &end, 10), tall);
	}
}

static void
make(void)
{
	FILE *to = drawn();

	report_html(to, &d);
	fclose(to);
	shows_whole_pictures();
}

CASE(tells_how_the_run_stands)
{
	d.total.finished = 1024;
	d.seconds = 1.5;
	make();
	has("<p class=\"verdict\">under way: 1.0 kB of 4.1 kB finished</p>");
	has("<code>pardd if=&#39;a b&#39; -v --verbose -- note=</code>");
	has("<td>host, Linux 6.1, x86_64</td>");
	has(">As of</th>");
	has("<td>1.500</td>");
	lacks("Exit status");
	d.out = &out;
	out.tally.seconds = 2;
	make();
	has("<p class=\"verdict good\">complete, nothing to flush</p>");
	has(">Ended</th>");
	has("<td>2.000</td>");
	lacks(">Error<");
	lacks("Bytes verified");
	fault_set(&out.fault, STATUS_MEDIUM, "broken");
	verdict_make(&p, &out);
	out.tally.verified = 512;
	nameless = true;
	make();
	has("<p class=\"verdict ill\">NOT complete: broken</p>");
	has("<th scope=\"row\">Error</th><td>broken</td>");
	has("<th scope=\"row\">Bytes verified</th><td>512</td>");
	lacks(">Host<");
}

/* ---------------------------------------------------------------- the ends */

CASE(tells_what_is_known_of_a_disk)
{
	d.is_disk[0] = d.is_disk[1] = true;
	d.disk[0] = (struct disk){ .transport = "usb", .removable = true,
		.physical = 4096, .partition = 2, .whole_name = "sda" };
	make();
	has("<th scope=\"row\">Transport</th><td>usb, removable</td>");
	has("<th scope=\"row\">Physical block</th><td>4096 bytes</td>");
	has("<th scope=\"row\">Partition</th><td>2 of sda</td>");
	has("<th scope=\"row\">Size</th><td>4096 bytes (4.1 kB)</td>");
	has("<th scope=\"row\">Size before</th><td>4096 bytes (4.1 kB)</td>");
	assert_int_equal(count(">Transport<"), 1);	/* of the other, none */
	assert_int_equal(count(">Physical block<"), 1);
	d.disk[0].removable = false;
	src.lim.part = 2;
	src.lim.disk_size = 8192;
	strcpy(src.lim.within, "partition 2 of ");
	dst.is.absent = true;
	dst.geo.size = -1;
	make();
	has("<td>usb</td>");
	has("<td>partition 2 of /dev/sda</td>");
	has("<td>8192 bytes (8.2 kB)</td>");
	lacks("Size before");
	has(", created by this run</td>");
	dst.is.absent = false;
	dst.kind = END_DISCARD;
	src.lim.part = 0;
	src.geo.size = -1;
	make();
	lacks(">Size");
}

/* -------------------------------------------------------------- the result */

static struct seg seg[] = { { 0, 512, FINISHED }, { 512, 512, UNTRIMMED },
	{ 1024, 512, UNSCRAPED }, { 1536, 256, BAD }, { 1792, 256, BAD },
	{ 2048, 1024, UNTRIED }, { 3072, 512, OUTSIDE },
	{ 3584, 512, FINISHED } };

static void
of_all_statuses(void)
{
	d.seg = seg;
	d.segs = 8;
	d.total = (struct map_totals){ .end = 4096, .finished = 1024,
		.failed = 1024, .bad = 512, .bad_ranges = 1, .untried = 1024,
		.outside = 512 };
}

CASE(lists_what_could_not_be_read)
{
	static const char table[] =
	    "<tr><td class=\"n\">2536</td><td class=\"n\">3047</td><td "
	    "class=\"n\">512</td><td>unreadable</td></tr>\n"
	    "<tr><td class=\"n\">2024</td><td class=\"n\">2535</td><td "
	    "class=\"n\">512</td><td>failed, not scraped</td></tr>\n"
	    "<tr><td class=\"n\">1512</td><td class=\"n\">2023</td><td "
	    "class=\"n\">512</td><td>failed, not trimmed</td></tr>\n</table>";

	make();
	lacks("Unreadable ranges");
	of_all_statuses();
	make();
	has(table);
	has("unreadable in 1 range. A cell");
	lacks("more range");
	has("<td>1024 (1.0 kB)</td>");
	has("<td>512 (512 B)</td>");
}

CASE(lists_no_more_than_can_be_read)
{
	enum { MOST = 4096, MANY = 2 * (MOST + 2) };
	static struct seg many[MANY];
	size_t i;

	for (i = 0; i < MANY; i++)
		many[i] = (struct seg){ .off = i, .len = 1,
			.status = i % 2 == 0 ? BAD : FINISHED };
	d.seg = many;
	d.length = d.total.end = MANY;
	d.total.bad = MANY / 2;
	d.segs = 2 * (size_t)MOST;
	make();
	assert_int_equal(count("<td>unreadable</td>"), MOST);
	lacks(" json= lists all of them.");
	d.segs = 2 * (size_t)MOST + 1;
	make();
	assert_int_equal(count("<td>unreadable</td>"), MOST);
	has("<p>And 1 more range; json= lists all of them.</p>");
	o.map = "map";
	d.segs = MANY;
	make();
	has("<p>And 2 more ranges; the map has all.</p>");
}

/* Each status has its own pattern, in cells that are two bytes. */
CASE(draws_each_status)
{
	static const char *const cells[] = { "done", "open", "trim", "scrape",
		"bad", "out" };
	char path[64];

	of_all_statuses();
	make();
	EACH_OF(i, cells) {
		snprintf(path, sizeof(path), "<path fill=\"url(#%s)\" d=\"",
		    cells[i]);
		assert_int_equal(count(path), 1);
	}
	has("<path fill=\"url(#out)\" d=\"M0 288h768v12h-768zM0 300h768v12h-768z"
	    "M0 312h768v12h-768zM0 324h768v12h-768z\"/>");
	/* and all of it in a strip, of which the bad part is as high as that */
	has("<rect x=\"0\" y=\"22\" width=\"768\" height=\"14\" fill=\"#fff\" "
	    "stroke=\"#888\"/>");
	has("y=\"22\" width=\"96\" height=\"14\"");
	d.seg = NULL;
	d.segs = 0;
	make();				/* what nothing is known of */
	assert_int_equal(count("<path fill=\"url(#open)\" d=\""), 1);
	assert_int_equal(count("<path fill=\"url(#"), 1);
	d.length = 0;
	make();
	has("there was nothing to copy");
}

CASE(lists_what_differs)
{
	uint64_t i;

	d.out = &out;
	make();
	lacks("Ranges that differ");
	assert_int_equal(map_init(&target.differ, INT64_MAX, 512, 0), 0);
	make();
	lacks("Ranges that differ");
	for (i = 0; i < 4096; i++)
		assert_int_equal(map_set(&target.differ, 4 * i, 2, BAD), 0);
	make();
	has("<h2>Ranges that differ</h2>");
	has("<tr><td class=\"n\">1004</td><td class=\"n\">1005</td><td "
	    "class=\"n\">2</td></tr>\n");
	has("<td class=\"n\">17380</td>");
	lacks("more range");
	assert_int_equal(map_set(&target.differ, 4 * i, 2, BAD), 0);
	make();
	lacks("<td class=\"n\">17384</td>");
	has("</table>\n<p>And 1 more range; json= lists all of them.</p>");
	assert_int_equal(map_set(&target.differ, 4 * i + 4, 2, BAD), 0);
	make();
	has("</table>\n<p>And 2 more ranges; json= lists all of them.</p>");
}

/* A partition of which a part is lost, one beside it, and one elsewhere. */
CASE(draws_and_lists_partitions)
{
	static struct volume_row row[] = {
		{ .number = 1, .off = 1000, .len = 1700, .type = "ext4",
		    .label = "root" },
		{ .number = 12, .off = 2700, .len = 10, .type = "ext4" },
		{ .number = 3, .off = 0, .len = 1000, .type = "vfat" },
		{ .number = 4, .off = 5096, .len = 1000, .type = "vfat" },
		{ .number = 5, .off = 4000, .len = 3000 },
	};

	of_all_statuses();
	d.volumes = (struct volumes){ .table = "gpt", .row = row, .n = 5 };
	make();
	has("<caption>gpt</caption>");
	has("<tr><td>1</td><td>ext4</td><td>root</td><td class=\"n\">1000</td>"
	    "<td class=\"n\">1700</td><td class=\"n\">1188</td></tr>");
	has("<tr><td>12</td><td>ext4</td><td></td><td class=\"n\">2700</td>"
	    "<td class=\"n\">10</td><td class=\"n\">10</td></tr>");
	has("<tr><td>3</td><td>vfat</td><td></td><td class=\"n\">0</td>"
	    "<td class=\"n\">1000</td><td class=\"n\">0</td></tr>");
	has("<td>5</td><td>not known</td>");
	/* only what is copied is drawn, and up to where it is */
	assert_int_equal(count("fill=\"#eef\" stroke=\"#446\""), 3);
	has("<rect x=\"0.0\" y=\"0\" width=\"318.8\"");
	has("y=\"13\">1 ext4 root</text>");
	has("<rect x=\"318.8\" y=\"0\" width=\"1.9\"");
	lacks(">12</text>");
	has("<rect x=\"562.5\" y=\"0\" width=\"205.5\"");
	has("y=\"13\">5</text>");
	row[1].len = 1;
	row[2] = (struct volume_row){ .off = 1000, .len = 4096, .type = "xfs",
		.label = "b" };
	row[0].len = 30;
	d.volumes.table[0] = '\0';
	make();
	has("width=\"1.0\" height=\"18\"");	/* one pixel, at least */
	has("<td>none</td><td>xfs</td>");
	has("y=\"13\">xfs b</text>");
	memset(row[2].label, 'b', sizeof(row[2].label) - 1);
	make();				/* it has no number */
	has("y=\"13\">xfs bbb");
	row[2].label[1] = '\0';
	has("<caption>No partition table</caption>");
	lacks("y=\"13\">1</text>");
	row[0].len = 100;			/* room for its number only */
	make();
	has("y=\"13\">1</text>");
}

CASE(tells_what_is_used)
{
	struct used_fs fs[] = {
		{ .partition = 2, .type = "ext4", .label = "a", .used = 5,
		    .free = 6, .treated = TREATED_USED },
		{ .type = "xfs", .treated = TREATED_WHOLE,
		    .reason = "dirty" },
	};
	const struct used used = { .fs = fs, .n = 2 };

	make();
	lacks("What file systems use");
	p.used = &used;
	make();
	has("<tr><td>partition 2 (ext4 &#34;a&#34;)</td><td class=\"n\">5</td>"
	    "<td class=\"n\">6</td><td>what is free is left out</td></tr>");
	has("<td>copied whole: dirty</td>");
}

CASE(tells_which_files_are_hit)
{
	char *names[] = { (char []){ "/<a>" } }, look[] = "look a&b";
	struct damage_area area[] = {
		{ .number = 1, .bytes = 512, .ranges = 1, .command = look },
		{ .bytes = 7, .ranges = 2 },
		{ .bytes = 1024, .ranges = 2, .command = look, .files = {
		    .known = true, .name = names, .n = 1 },
		    .loss = { .known = true, .free = 1024 } },
	};

	make();
	lacks("Affected files");
	d.out = &out;
	out.damage = (struct damage){ .area = area + 1, .n = 1 };
	make();
	lacks("Affected files");
	out.damage = (struct damage){ .area = area, .n = 3 };
	make();
	assert_int_equal(count("Affected files"), 1);
	has("<p>Partition 1, 512 bytes in 1 range; this names the files:</p>\n"
	    "<pre>look a&#38;b</pre>\n");
	lacks("7 bytes in");
	has("<p>1024 bytes in 2 ranges; affected files:</p>\n<ul>\n<li>/&#60;a&#62;</li>"
	    "\n</ul>\n<p>No other file is affected.</p>\n<p>According to the file "
	    "system, all these bytes are free space.</p>\n");
	area[0].more = 1;
	area[2].files.more = true;
	area[2].loss.known = false;
	make();
	has("; this names the files affected by the first of them:</p>\n<pre>");
	has("; affected files, and maybe more:</p>\n<ul>");
	has("<p>This names the files:</p>\n<pre>look");
	lacks("According to");
	area[0].files.known = true;
	make();
	has("<p>Partition 1, 512 bytes in 1 range; no file is affected.</p>\n");
}

/* As of a FAT: names are known, and no command is that would find others. */
CASE(tells_which_files_are_hit_without_a_command)
{
	char *names[] = { (char []){ "/a" } };
	struct damage_area area = { .bytes = 512, .ranges = 1,
		.type = "vfat", .files = { .known = true, .name = names,
		.n = 1 } };

	d.out = &out;
	out.damage = (struct damage){ .area = &area, .n = 1 };
	make();
	has("<p>512 bytes in 1 range; affected files:</p>\n<ul>\n<li>/a</li>\n</ul>"
	    "\n<p>No other file is affected.</p>\n");
	area.files.more = true;
	make();
	has("; affected files, and maybe more:</p>\n<ul>\n<li>/a</li>\n</ul>\n"
	    "<p>No command is known that names the others.</p>\n");
	lacks("<pre>");
	area.files.n = 0;
	make();
	lacks("Affected files");
	area.files.more = false;
	make();
	has("<p>512 bytes in 1 range; no file is affected.</p>\n");
}

/* sha256 of nothing. */
#define EMPTY	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

CASE(tells_digests)
{
	const struct algorithm *a = algorithm_named("sha256", 6);
	struct hash_range range = { .len = 1 };
	struct hash *h;
	struct fault f;

	d.out = &out;
	o.hash = a->bit | algorithm_named("xxh128", 6)->bit;
	o.expect = "sha256:" EMPTY;
	assert_int_equal(hash_open(&h, &o, &f), 0);
	p.hash = h;
	make();
	has("<caption>Of what was copied</caption>");
	assert_int_equal(count("<td>none: not all was copied</td>"), 2);
	assert_int_equal(hash_start(h, &f), 0);
	assert_int_equal(hash_finish(h, 0, "", &f), 0);
	out.tally.lost = 1;
	make();
	has("<caption>Of what was copied, with zeros for what could not be read"
	    "</caption>");
	has("<td>" EMPTY ", as expected</td>");
	lacks("none: not all");
	lacks("NOT as");
	d.out = NULL;			/* it goes on */
	make();
	lacks("Digests");
	hash_close(h);
	d.out = &out;
	o.hash = a->bit;
	o.expect = "sha256:" "f" EMPTY;
	assert_int_equal(hash_open(&h, &o, &f), 0);
	assert_int_equal(hash_start(h, &f), 0);
	assert_int_equal(hash_finish(h, 0, "", &f), 0);
	p.hash = h;
	make();
	has("<td>" EMPTY ", NOT as expected</td>");
	hash_close(h);
	/* those of ranges are not the copy's */
	assert_int_equal(hash_open_ranges(&h, a, &range, 1, &f), 0);
	p.hash = h;
	make();
	lacks("Digests");
	hash_close(h);
}

/* ------------------------------------------------------------ the progress */

CASE(draws_no_progress_where_none_is)
{
	d.samples = 1;
	make();
	lacks("<h2>Progress</h2>");
	d.samples = 2;
	d.sample[0] = (struct sample){ 1, 0, 0, 0 };
	d.sample[1] = (struct sample){ 1, 0, 5000, 0 };
	make();				/* no time has passed; more than all */
	has("d=\"M64 180L767.0 180.0L767.0 0.0\"");
	has("running time, 1 run</title>");
	d.sample[1].seconds = 2;
	d.total.outside = 4096;		/* nothing is wanted */
	make();
	has("d=\"M64 180L64.0 0.0L767.0 0.0\"");
}

/* What an earlier run has drawn is read again, unless it is of another copy. */
CASE(goes_on_with_earlier_samples)
{
	static const struct {
		const char	*from, *to;	/* a change of the text */
		size_t		 samples;
	} row[] = {
		{ "", "", 3 },
		{ "1 1.000", "1 x", 1 }, { "1 1.000", "0 1.0", 1 },
		{ "1 1.000", "-1 1.0", 1 }, { "1 1.000", "1000001 1", 1 },
		{ "1 1.000", "1 -1.00", 1 }, { "1 1.000", "1 1e9", 1 },
		{ "1 1.000", "1 1e8", 2 },	/* then time goes back */
		{ "2 2.500", "1 0.500", 2 },
		{ "1 1.000", "3 1.000", 2 },	/* or the number of the run */
		{ " 100 7\n", " 100 7 8\n", 1 },
		{ "progress/1 ", "progress/1 f", 0 },
		{ "-progress/1", "-progress/2", 0 },
		{ "\n1 0.000", " 1 0.000", 0 },
	};
	static char changed[1 << 16];
	char *at;

	EACH_OF(i, row) {
		d.samples = 3;
		d.sample[0] = (struct sample){ 1, 0, 0, 0 };
		d.sample[1] = (struct sample){ 1, 1, 100, 7 };
		d.sample[2] = (struct sample){ 2, 2.5, 200, 7 };
		make();
		at = strstr(text, row[i].from);
		assert_non_null(at);
		snprintf(changed, sizeof(changed), "%.*s%s%s",
		    (int)(at - text), text, row[i].to,
		    at + strlen(row[i].from));
		report_get_samples(&d, changed);
		assert_int_equal(d.samples, row[i].samples);
	}
	report_get_samples(&d, text);
	assert_int_equal(d.samples, 3);
	assert_int_equal(d.sample[2].finished, 200);
	assert_int_equal(d.sample[2].bad, 7);
	p.length++;
	report_get_samples(&d, text);
	assert_int_equal(d.samples, 0);
	p.length--;
	d.is_disk[0] = true;		/* told apart by the disk */
	report_get_samples(&d, text);
	assert_int_equal(d.samples, 0);
}
