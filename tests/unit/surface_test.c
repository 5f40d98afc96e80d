/*
 * The contents of an end on the page of a plan: the lists of what is copied and
 * what will be lost, and the bars.
 */
#include "test.h"

#include "end/backend.h"
#include "../../src/report/page.h"

#define MB	1000000ULL

static char *text;
static size_t size;
static struct sheet sheet;
static struct part part[12];
static struct sign sign[8];
static struct endpoint ep;
static struct surface s;

/* A disk of 100 MB, of which all is copied: a table, and two partitions. */
static int
begin(void **state)
{
	sheet = (struct sheet){ .out = open_memstream(&text, &size),
		.width = WIDTH };
	memset(part, 0, sizeof(part));
	part[0] = (struct part){ .number = 1, .start = MB, .length = 9 * MB,
		.name = "boot" };
	part[1] = (struct part){ .number = 2, .start = 20 * MB,
		.length = 60 * MB };
	memset(sign, 0, sizeof(sign));
	sign[0] = (struct sign){ .off = 512, .table = true, .type = "gpt" };
	sign[1] = (struct sign){ .off = 20 * MB + 1024, .type = "ext4",
		.label = "root" };
	ep = (struct endpoint){ .name = "disk", .kind = END_BLOCK,
		.is.device = true };
	s = (struct surface){ .ep = &ep, .table = { .type = "gpt",
		.part = part, .n = 2 }, .sign = sign, .signs = 2,
		.size = 100 * MB, .to = 100 * MB };
	return sheet.out == NULL;
}

static int
end(void **state)
{
	fclose(sheet.out);
	free(text);
	return 0;
}

EACH(begin, end)

static void
is(const char *page)
{
	fputc('\0', sheet.out);
	fflush(sheet.out);
	assert_string_equal(text, page);
	rewind(sheet.out);
}

#define HOLDS(page)	(surface_holds(&sheet, &s), is(page))
#define LOSES(page)	(surface_loses(&sheet, &s, true), is(page))

CASE(lists_what_is_copied)
{
	HOLDS("        has gpt table, 1 unknown \"boot\" 9.0 MB, 2 ext4 "
	    "\"root\" 60 MB\n");
	s.from = 10 * MB;
	s.to = 70 * MB;			/* neither the table nor the first */
	HOLDS("        has 2 ext4 \"root\" 60 MB (in part)\n");
	s.from = 30 * MB;
	s.to = 100 * MB;
	HOLDS("        has 2 ext4 \"root\" 60 MB (in part)\n");
	s.from = 80 * MB;
	HOLDS("");
}

/* A container holds others; a signature that is told twice is listed once. */
CASE(lists_each_once)
{
	part[2] = (struct part){ .number = 3, .start = 80 * MB,
		.length = 20 * MB, .container = true };
	sign[2] = (struct sign){ .off = 81 * MB, .type = "swap" };
	sign[3] = (struct sign){ .off = 82 * MB, .type = "swap" };
	sign[4] = (struct sign){ .off = 83 * MB, .type = "swap",
		.label = "a" };
	sign[5] = (struct sign){ .off = 0, .table = true, .type = "gpt" };
	sign[6] = (struct sign){ .off = 84 * MB, .type = "xfs", .label = "a" };
	s.table.n = 3;
	s.signs = 7;
	HOLDS("        has gpt table, swap, swap \"a\", xfs \"a\", 1 unknown "
	    "\"boot\" 9.0 MB,\n        2 ext4 \"root\" 60 MB\n");
}

CASE(says_what_will_be_lost)
{
	s.to = 10 * MB;
	LOSES("        WILL BE LOST: gpt table, 1 unknown \"boot\" 9.0 MB\n"
	    "        stays: 2 ext4 \"root\" 60 MB\n");
	sheet.brief = NO_LEGEND;
	LOSES("        WILL BE LOST: gpt table, 1 unknown \"boot\" 9.0 MB\n");
	surface_loses(&sheet, &s, false);
	is("        has gpt table, 1 unknown \"boot\" 9.0 MB\n");
}

CASE(says_what_is_not_known_of_it)
{
	static const struct {
		enum end_kind	 kind;
		bool		 device, remote;
		uint64_t	 size;
		const char	*page;
	} row[] = {
		{ END_BLOCK, true, false, 1, "        no file system or "
		    "partition table found where it will be written\n" },
		{ END_FILE, false, false, 1,
		    "        what it holds there will be lost\n" },
		{ END_FILE, false, false, 0, "" },
		{ END_NBD, false, true, 0, "        who else uses it "
		    "cannot be known\n" },
		{ END_ISCSI, true, true, 0, "        only users that "
		    "registered with it are known\n" },
		{ END_RBD, false, true, 0, "" },
	};

	s.table.n = s.signs = 0;
	EACH_OF(i, row) {
		ep.kind = row[i].kind;
		ep.is.device = row[i].device;
		ep.is.remote = row[i].remote;
		s.size = row[i].size;
		LOSES(row[i].page);
		surface_loses(&sheet, &s, false);
		is("");
	}
}

/* ---------------------------------------------------------------- the bars */

CASE(draws_both_to_one_scale)
{
	struct surface dst = { .size = 50 * MB, .from = 25 * MB, .to = 50 * MB };

	sheet.width = INDENT + 12 + 20;		/* 5 MB for a column */
	s.to = 25 * MB;
	surface_picture(&sheet, "copied", &s, &dst);
	is("\nSource  [1-..2-----------....] 100 MB\n"
	    "         #####\n"
	    "Target  [..........] 50 MB\n"
	    "              #####\n"
	    "         # is copied, - a partition, .\n"
	    "        none\n");
	sheet.brief = NO_LEGEND;
	dst.size = 0;				/* it has none */
	surface_picture(&sheet, "copied", &s, &dst);
	is("\nSource  [1-..2-----------....] 100 MB\n"
	    "         #####\n");
	sheet.brief = NO_PICTURE;
	surface_picture(&sheet, "copied", &s, &dst);
	is("");
	sheet.brief = WHOLE;
	surface_picture(&sheet, "copied", &dst, &dst);
	is("");
}

CASE(draws_each_to_its_own_scale)
{
	struct surface dst = { .size = MB, .to = UINT64_MAX };

	sheet.brief = NO_LEGEND;
	sheet.width = INDENT + 12 + 20;
	surface_picture(&sheet, "copied", &dst, &s);
	is("\nSource  [....................] 1.0 MB\n"
	    "         ####################\n"
	    "Target  [1-..2-----------....] 100 MB\n"
	    "         ####################\n"
	    "         # is copied, - a partition, .\n"
	    "        none; each to its own scale\n");
}

/*
 * A partition takes a column at least; its number as many as it has; and one
 * that is beyond the end, or a container, none.
 */
CASE(draws_partitions_where_they_are)
{
	struct surface dst = { .size = 0 };

	sheet.brief = NO_LEGEND;
	sheet.width = INDENT + 12 + 20;
	part[0] = (struct part){ .number = 10, .start = 1, .length = 1 };
	part[1] = (struct part){ .number = 11, .start = 10 * MB,
		.length = 11 * MB };
	part[2] = (struct part){ .number = 12, .start = 50 * MB,
		.length = 50 * MB, .container = true };
	part[3] = (struct part){ .number = 13, .start = 99 * MB,
		.length = MB };
	part[4] = (struct part){ .number = 14, .start = 60 * MB,
		.length = 50 * MB };
	s.table.n = 5;
	s.from = s.to = 10 * MB;		/* nothing is copied */
	surface_picture(&sheet, "copied", &s, &dst);
	is("\nSource  [1.11...............1] 100 MB\n");
	s.from = 100 * MB;			/* behind its end */
	s.to = 200 * MB;
	surface_picture(&sheet, "copied", &s, &dst);
	is("\nSource  [1.11...............1] 100 MB\n");
}

/* ------------------------------------------------------------- the contents */

static unsigned looks;

static int
no_view(const struct endpoint *of, bool *cached)
{
	looks++;
	errno = EIO;
	return -1;
}

static const struct backend unreadable = { .view = no_view };

CASE(looks_at_what_may_be_looked_at)
{
	static const struct {
		enum role	role;
		enum work	work;
		int64_t		size;
		bool		streamed, looks;
		uint64_t	is;	/* the size that it has */
	} row[] = {
		{ SOURCE, WORK_COPY, 8 << 20, false, true, 8 << 20 },
		{ SOURCE, WORK_RESCUE, 8 << 20, false, false, 8 << 20 },
		{ TARGET, WORK_RESCUE, 8 << 20, false, true, 8 << 20 },
		{ SOURCE, WORK_COPY, 8 << 20, true, false, 0 },
		{ SOURCE, WORK_COPY, -1, false, false, 0 },
		{ TARGET, WORK_COPY, 0, false, false, 0 },
	};
	struct plan p = { .src_off = 1, .dst_off = 2, .length = 1000,
		.pad = 512, .bounded = true };
	struct surface of;

	EACH_OF(i, row) {
		looks = 0;
		ep = (struct endpoint){ .name = "disk", .be = &unreadable,
			.kind = END_BLOCK, .spec.role = row[i].role,
			.geo = { .size = row[i].size, .block = 512 },
			.is = { .streamed = row[i].streamed, .device = true } };
		p.work = row[i].work;
		surface_look(&of, &p, &ep);
		assert_int_equal(looks > 0, row[i].looks);
		assert_int_equal(of.size, row[i].is);
		assert_int_equal(of.signs, 0);	/* it cannot be read */
		assert_int_equal(of.from, row[i].role == SOURCE ? 1 : 2);
		assert_int_equal(of.to, row[i].role == SOURCE ? 1001 : 1026);
		surface_free(&of);
	}
	ep.lim.part = 1;
	ep.lim.disk_size = 9 << 20;
	ep.geo.size = 1 << 20;
	p.bounded = false;
	surface_look(&of, &p, &ep);
	assert_int_equal(of.size, 9 << 20);	/* of the whole disk */
	assert_true(of.to == UINT64_MAX);
	surface_free(&of);
}

/* The last column of the smaller end is not whole. */
CASE(draws_what_fits_into_whole_columns)
{
	struct surface dst = { .size = 52 * MB, .from = 51 * MB,
		.to = 52 * MB };

	sheet.brief = NO_LEGEND;
	sheet.width = INDENT + 12 + 20;
	part[0] = (struct part){ .number = 1, .start = 51 * MB, .length = MB };
	dst.table = s.table;
	dst.table.n = 1;
	s.table.n = 0;
	s.to = 0;
	surface_picture(&sheet, "copied", &s, &dst);
	is("\nSource  [....................] 100 MB\n"
	    "Target  [..........] 52 MB\n");
}
