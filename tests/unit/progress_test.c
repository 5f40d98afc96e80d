/*
 * The live line: what it shows in each state of a run, and what it leaves out
 * on a narrow terminal.
 */
#include "test.h"

#include <sys/ioctl.h>
#include <sys/mman.h>

#include "report/report.h"

#define GB	1000000000ULL

static struct {
	unsigned short	columns;	/* 0: it does not say */
	bool		terminal;
} screen;

static struct endpoint src = { .name = "/dev/sda" };
static struct endpoint dst = { .name = "disk.img" };
static struct opts o;
static struct plan p;
static struct progress pr;
static struct map map;
static char text[4096];

int
isatty(int fd)
{
	return screen.terminal;
}

int
ioctl(int fd, unsigned long request, ...)
{
	struct winsize *w;
	va_list ap;

	va_start(ap, request);
	w = va_arg(ap, struct winsize *);
	va_end(ap);
	if (request != TIOCGWINSZ || screen.columns == 0)
		return -1;
	*w = (struct winsize){ .ws_col = screen.columns };
	return 0;
}

/* What a call prints on standard error, without "\r" and erasing, into text. */
#define SAID(call)	(hear(), (call), heard())

static int kept, heard_by;

static void
hear(void)
{
	fflush(stderr);
	kept = dup(STDERR_FILENO);
	heard_by = memfd_create("said", MFD_CLOEXEC);
	assert_true(dup2(heard_by, STDERR_FILENO) >= 0);
}

static char raw[sizeof(text)];	/* with them */

static const char *
heard(void)
{
	ssize_t n = pread(heard_by, raw, sizeof(raw) - 1, 0), i;
	char *to = text;

	raw[n < 0 ? 0 : n] = '\0';
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(heard_by);
	for (i = 0; i < n; i++)
		if (strncmp(raw + i, "\033[K", 3) == 0 ||
		    strncmp(raw + i, "\033[A", 3) == 0)
			i += 2;
		else if (raw[i] != '\r')
			*to++ = raw[i];
	*to = '\0';
	return text;
}

static int
begin(void **state)
{
	static const struct tally none;

	o = (struct opts){ .progress = -1 };
	p = (struct plan){ .opts = &o, .src = &src, .dst = &dst, .targets = 1,
		.bounded = true, .length = 4 * GB };
	screen.terminal = true;
	screen.columns = 200;
	progress_begin(&pr, &p, &none);
	assert_int_equal(pr.how, LIVE_LINE);
	return map_init(&map, 400, 100, 0);
}

static int
end(void **state)
{
	map_free(&map);
	return 0;
}

EACH(begin, end)

CASE(says_how_far_it_is)
{
	static const struct {
		struct tally	t;
		const char	*line;
	} row[] = {
		{ { .passed = GB, .whole = 4 * GB, .seconds = 10 },
		    "/dev/sda to disk.img: 1.0 of 4.0 GB, 25 %, 100 MB/s, "
		    "mean 100 MB/s, 0:10, 0:30 left, copying" },
		{ { .passed = 4 * GB, .whole = 4 * GB, .seconds = 4000,
		    .had = 4 * GB },
		    "/dev/sda to disk.img: 4.0 of 4.0 GB, 100 %, 1.0 MB/s, "
		    "mean 0 B/s, 1:06:40, 0:00 left, copying" },
		{ { .passed = 100000, .whole = 4 * GB, .seconds = 10 },
		    "/dev/sda to disk.img: 100 kB of 4.0 GB, 0 %, 10 kB/s, "
		    "mean 10 kB/s, 0:10, more than 100 h left, copying" },
		{ { .whole = 4 * GB, .seconds = 10, .lost = 2000000 },
		    "/dev/sda to disk.img: 0 B of 4.0 GB, 0 %, 0 B/s, "
		    "mean 0 B/s, 0:10, time left unknown, 2.0 MB unreadable, "
		    "copying" },
		{ { .passed = GB, .seconds = 0.5, .differing = 512,
		    .phase = PHASE_COMPARING },
		    "/dev/sda to disk.img: 1.0 GB, 2.0 GB/s, mean 2.0 GB/s, "
		    "0:00, 512 B differ, comparing" },
		{ { .passed = GB, .whole = 2 * GB, .twice = true,
		    .seconds = 10 }, "/dev/sda to disk.img: 1.0 of 2.0 GB, "
		    "25 %, 100 MB/s, mean 100 MB/s, 0:10, 0:30 left, copying "
		    "(1 of 2)" },
		{ { .passed = GB, .whole = 2 * GB, .twice = true,
		    .other = 2 * GB, .seconds = 30, .phase = PHASE_VERIFYING },
		    "/dev/sda to disk.img: 1.0 of 2.0 GB, 75 %, 33 MB/s, 0:30, "
		    "0:30 left, verifying (2 of 2)" },
		{ { .passed = GB, .whole = GB, .seconds = 10,
		    .phase = PHASE_FLUSHING },
		    "/dev/sda to disk.img: 1.0 of 1.0 GB, 100 %, 0:10, "
		    "flushing" },
		{ { .passed = GB, .whole = 2 * GB, .seconds = 10,
		    .stopping = true }, "/dev/sda to disk.img: 1.0 of 2.0 GB, "
		    "50 %, 100 MB/s, mean 100 MB/s, 0:10, stopping" },
		{ { .passed = GB, .whole = GB, .seconds = 10, .stopping = true,
		    .phase = PHASE_FLUSHING }, "/dev/sda to disk.img: 1.0 of "
		    "1.0 GB, 100 %, 0:10, stopping, flushing" },
		{ { .passed = GB, .whole = 2 * GB, .seconds = 10,
		    .silence = { &src, false, 7 } },
		    "/dev/sda to disk.img: 1.0 of 2.0 GB, 50 %, 0:10, no "
		    "answer from /dev/sda for 7 s, copying" },
		{ { .passed = GB, .whole = GB, .seconds = 10, .stopping = true,
		    .phase = PHASE_FLUSHING, .silence = { &dst, true, 7 } },
		    "/dev/sda to disk.img: 1.0 of 1.0 GB, 100 %, 0:10, "
		    "flushing disk.img for 7 s, stopping" },
	};

	EACH_OF(i, row) {
		if (i > 0) {
			end(state);
			begin(state);
		}
		pr.phase = row[i].t.phase;
		assert_string_equal(SAID(progress_draw(&pr, &map, &row[i].t)),
		    row[i].line);
	}
}

CASE(says_no_more_than_there_is_room_for)
{
	static const struct {
		unsigned short	columns;
		struct tally	t;
		const char	*line;
	} row[] = {
		{ 0, { .passed = GB }, "/dev/sda to disk.img: 1.0 of 4.0 GB, "
		    "25 %, 100 MB/s, 0:10, 0:30 left, copying" },
		{ 300, { .passed = GB }, "/dev/sda to disk.img: 1.0 of 4.0 GB, "
		    "25 %, 100 MB/s, mean 100 MB/s, 0:10, 0:30 left, copying" },
		{ 60, { .passed = GB }, "1.0 of 4.0 GB, 25 %, 100 MB/s, 0:10, "
		    "0:30 left, copying" },
		{ 40, { .passed = GB }, "1.0 GB, 25 %, 100 MB/s, 0:30 left" },
		{ 30, { .passed = GB, .lost = 512 }, "25 %, 512 B unreadable" },
		{ 55, { .passed = GB, .lost = 1512, .again = 1000 },
		    "25 %, 1.0 kB to be tried again, 512 B unreadable" },
		{ 32, { .passed = GB, .lost = 1000, .again = 1000 },
		    "25 %, 1.0 kB to be tried again" },
		{ 8, { .passed = GB, .lost = 512 }, "25 %" },
		{ 4, { .passed = GB }, "25 " },
		{ 12, { .passed = GB, .stopping = true }, "stopping" },
		{ 15, { .passed = GB, .silence = { &src, false, 7 } },
		    "no answer for " },
	};
	struct tally t;

	EACH_OF(i, row) {
		if (i > 0) {
			end(state);
			begin(state);
		}
		screen.columns = row[i].columns;
		t = row[i].t;
		t.whole = 4 * GB;
		t.seconds = 10;
		assert_string_equal(SAID(progress_draw(&pr, &map, &t)),
		    row[i].line);
	}
}

CASE(names_what_fits)
{
	struct endpoint longer = { .name = "/a/path/that/is/quite/long/sda" };
	struct endpoint longest = { .name = "/dev/abcdefghijklmnopqrstuvwxyz" };
	struct tally t = { .passed = GB, .seconds = 10 };

	p.bounded = false;		/* no per cent, no time left */
	p.src = &longer;
	assert_string_equal(SAID(progress_draw(&pr, &map, &t)), "sda to "
	    "disk.img: 1.0 GB, 100 MB/s, mean 100 MB/s, 0:10, copying");
	p.src = &longest;
	t.seconds++;
	assert_string_equal(SAID(progress_draw(&pr, &map, &t)),
	    "1.0 GB, 91 MB/s, mean 91 MB/s, 0:11, copying");
}

/* One line now and then, where there is no terminal. */
CASE(prints_lines_where_asked)
{
	static const struct {
		unsigned	status;
		long		progress;
		bool		terminal;
		int		how;
		double		interval;
	} row[] = {
		{ 0, -1, true, LIVE_LINE, 0.25 },
		{ 0, -1, false, NO_LINE, 0 },
		{ 0, 5, false, LINES, 5 },
		{ 0, 5, true, LIVE_LINE, 0.25 },
		{ 0, 0, true, NO_LINE, 0 },
		{ SHOW_NONE, 5, true, NO_LINE, 0 },
		{ SHOW_PROGRESS, -1, false, LINES, 10 },
		{ SHOW_PROGRESS, -1, true, LIVE_LINE, 0.25 },
		{ SHOW_MAP, 3, false, LINES, 3 },
		{ SHOW_NOXFER, -1, true, NO_LINE, 0 },
		{ SHOW_NOXFER, 7, true, LINES, 7 },
	};
	static const struct tally start = { .seconds = 100 };
	struct tally t = { .passed = GB, .whole = 4 * GB, .seconds = 104 };

	EACH_OF(i, row) {
		o.status = row[i].status;
		o.progress = (int)row[i].progress;
		screen.terminal = row[i].terminal;
		progress_begin(&pr, &p, &start);
		assert_int_equal(pr.how, row[i].how);
		if (row[i].how == NO_LINE) {
			assert_int_equal(progress_wait(&pr, 100), -1);
			assert_string_equal(SAID(progress_draw(&pr, &map, &t)),
			    "");
			continue;
		}
		assert_true(pr.interval == row[i].interval);
		assert_int_equal(progress_wait(&pr, 100),
		    (int)(row[i].interval * 1000) + 1);
		assert_int_equal(progress_wait(&pr, 111), 0);
	}
	assert_string_equal(SAID(progress_draw(&pr, &map, &t)), "");
	t.seconds = 110;
	assert_string_equal(SAID(progress_draw(&pr, &map, &t)), "pardd: 1.0 of "
	    "4.0 GB, 25 %, 100 MB/s, mean 9.1 MB/s, 1:50, 0:30 left, "
	    "copying\n");
	assert_string_equal(SAID(progress_clear(&pr)), "");
	assert_string_equal(SAID(progress_end(&pr, &t)), "");
}

CASE(draws_the_map_below)
{
	struct tally t = { .passed = GB, .whole = 4 * GB, .seconds = 10 };
	struct seg s;

	o.status = SHOW_MAP;
	screen.columns = 9;
	assert_int_equal(map_claim(&map, &s), 1);
	assert_int_equal(map_settle(&map, s.off, s.len, FINISHED), 0);
	assert_int_equal(map_claim(&map, &s), 1);
	assert_int_equal(map_set(&map, 200, 100, OUTSIDE), 0);
	assert_string_equal(SAID(progress_draw(&pr, &map, &t)),
	    "25 %\n++>?  ??");
	t.seconds += 0.5;			/* it is made once a second */
	assert_int_equal(map_set(&map, 300, 100, BAD), 0);
	assert_string_equal(SAID(progress_draw(&pr, &map, &t)),
	    "25 %\n++>?  ??");
	t.seconds++;
	assert_string_equal(SAID(progress_draw(&pr, &map, &t)),
	    "25 %\n++>?  --");
	(void)SAID(progress_clear(&pr));
	assert_string_equal(raw, "\n\033[K\033[A\r\033[K");
	(void)SAID(progress_clear(&pr));
	assert_string_equal(raw, "");
	screen.columns = 30;
	t.seconds++;
	(void)SAID(progress_draw(&pr, &map, &t));
	t.written = 2 * GB;
	assert_string_equal(SAID(progress_end(&pr, &t)),
	    "\n2.0 of 4.0 GB, 50 %, 0:12\n");
	assert_string_equal(SAID(progress_end(&pr, &t)), "");
}
