/*
 * Parts of a report: the curve of the progress, and remarks on the ends.
 */
#include "test.h"
#include "../../src/html/report_data.h"
#include "part/remarks.h"
#include "report/report.h"
#include "drawn.h"

static void
draw(const struct report_data *d)
{
	FILE *out = drawn();

	report_draw_progress(out, d);
	fclose(out);
}

CASE(draws_the_border_of_each_run)
{
	static struct report_data d = { .length = 1000, .samples = 5,
		.sample = { { 1, 0, 0, 0 }, { 1, 10, 500, 0 },
		    { 2, 10, 500, 0 }, { 2, 30, 700, 100 },
		    { 2, 40, 1000, 0 } } };

	draw(&d);
	assert_int_equal(count("<path stroke=\"#888\""), 1);
	assert_int_equal(count(", 2 runs<"), 1);
	assert_int_equal(count("0:00:40"), 1);
	d.sample[2].run = 1;
	d.sample[3].run = d.sample[4].run = 1;
	draw(&d);
	assert_int_equal(count("<path stroke=\"#888\""), 0);
	free(text);
	text = NULL;
}

CASE(makes_remarks_in_order)
{
	struct remarks found = { .beyond = { .n = 1, .number = { 3 },
		.end = 2000 }, .hidden.area = 512 };
	struct endpoint src = { .name = "src", .geo.size = 2048 };
	struct endpoint dst = { .name = "dst", .geo.room = -1 };
	const struct opts o = { .iflag = 0 };
	const struct plan p = { .opts = &o, .src = &src, .dst = &dst,
		.bs = 512, .found = &found };
	char said[300];

	assert_true(report_remark(&p, 0, said, sizeof(said)));
	assert_string_equal(said, "partition 3 of src ends beyond the copy; "
	    "count=4 copies all");
	assert_true(report_remark(&p, 1, said, sizeof(said)));
	assert_non_null(strstr(said, "src hides 512 bytes"));
	assert_false(report_remark(&p, 2, said, sizeof(said)));
	found.beyond.n = 0;
	assert_true(report_remark(&p, 0, said, sizeof(said)));
	assert_non_null(strstr(said, "src hides 512 bytes"));
	assert_false(report_remark(&p, 1, said, sizeof(said)));
	found.hidden.area = 0;
	assert_false(report_remark(&p, 0, said, sizeof(said)));
}
