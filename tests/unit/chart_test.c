/*
 * The picture of a profile: curves that stay in their frames, and have gaps
 * where nothing was moved.
 */
#include "test.h"
#include "html/report_file.h"
#include "drawn.h"

static const uint64_t MS = 1000000;	/* ns */

static struct opts o;
static struct endpoint src = { .name = "a" }, dst = { .name = "b" };
static struct plan p;
static struct profile pr = { .p = &p };
static struct gauge sum[SERIES_MOST];

/* A copy of 4 MiB, in bins of 1 MiB. */
static int
begin(void **state)
{
	p = (struct plan){ .opts = &o, .src = &src, .dst = &dst,
		.bounded = true, .length = 4 << 20, .chunk = 1 << 20,
		.workers = 1 };
	memset(sum, 0, sizeof(sum));
	return 0;
}

static int
end(void **state)
{
	free(text);
	text = NULL;
	return 0;
}

EACH(begin, end)

/* A request in bin i of a series. */
static void
note(enum series s, unsigned i, uint64_t bytes, uint64_t ns)
{
	struct gauge *g = &sum[s];
	struct bin *to[] = { &g->all, &g->bin[i] };
	unsigned k;

	g->width = 1 << 20;
	g->least = g->all.requests == 0 || ns < g->least ? ns : g->least;
	for (k = 0; k < 2; k++) {
		to[k]->bytes += bytes;
		to[k]->spent += ns;
		to[k]->busy += ns;
		to[k]->wall += ns;
		to[k]->most = ns > to[k]->most ? ns : to[k]->most;
		to[k]->requests++;
	}
	for (k = 0; k < PROFILE_BUCKETS - 1 && gauge_bucket(k + 1) <= ns;)
		k++;
	g->latency[k]++;
}

static void
draw(double seconds)
{
	FILE *to = drawn();

	chart_draw(to, &pr, sum, seconds);
	fclose(to);
}

/* Each point of a path lies between the frames of the picture. */
static void
within_frames(void)
{
	const char *at = text, *mark;
	char *next;
	double n;

	while ((at = strstr(at, " d=\"")) != NULL)
		for (at += 4; *at != '"'; at = *next == ' ' ? next + 1 : next) {
			mark = at + strspn(at, "MHV");
			n = strtod(mark, &next);
			assert_ptr_not_equal(next, mark);
			assert_true(*at != 'H' || (n >= 76 && n <= 936));
			assert_true(*at == 'H' || n >= 72);	/* marks */
		}
}

/* Each heading stands right above its panel. */
static void
headed(void)
{
	const char *at = text, *panel;
	double y, top;

	while ((at = strstr(at, "\" class=\"head\"")) != NULL) {
		while (*at != '=')
			at--;
		y = strtod(at + 2, NULL);
		panel = strstr(at, "<rect x=\"76\" y=\"");
		assert_non_null(panel);
		top = strtod(panel + strlen("<rect x=\"76\" y=\""), NULL);
		assert_true(y < top && y + 16 > top);
		at = panel;
	}
}

CASE(draws_nothing_of_nothing)
{
	draw(0);
	assert_int_equal(count("<rect"), 1);
	has("1970-01-01 00:00:00 UTC: 0 B in 0.000 s, 0 B/s, 1 worker, ");
}

CASE(leaves_a_gap_where_nothing_was_moved)
{
	note(SERIES_SOURCE, 0, 1 << 20, 10 * MS);
	note(SERIES_SOURCE, 1, 1 << 20, 10 * MS);
	note(SERIES_SOURCE, 3, 1 << 20, 20 * MS);
	draw(2);
	has("3.1 MB in 2.000 s, 1.6 MB/s");
	/* 105 and 52 of 150 MB/s, while busy, and as the copy went */
	assert_int_equal(count("\"M76.0 147.1H291.0V147.1H506.0M721.0 199.6"
	    "H936.0\"/>"), 2);
	assert_int_equal(count("M721.0 "), 4);
	assert_int_equal(count("H936.0\"/>"), 4);
	within_frames();
}

/* All of them failed, and none took any time that the clock could see. */
CASE(draws_what_moved_nothing_and_took_no_time)
{
	note(SERIES_TARGET, 0, 0, 0);
	note(SERIES_TARGET, 3, 0, 0);
	draw(1);
	has("target: b");
	has("0 B in 1.000 s, 0 B/s");
	within_frames();
	assert_int_equal(count("nan"), 0);
	assert_int_equal(count("inf"), 0);
}

CASE(counts_requests_and_errors)
{
	note(SERIES_SOURCE, 0, 512, MS);
	sum[SERIES_SOURCE].all.errors = 1;
	draw(1);
	has("source: 1 request, 1 error; ms: min 1.000,");
	note(SERIES_SOURCE, 1, 512, MS);
	sum[SERIES_SOURCE].all.errors = 2;
	draw(1);
	has("source: 2 requests, 2 errors; ms:");
}

/* Half an hour for a request. */
CASE(names_long_latencies)
{
	note(SERIES_VERIFY, 0, 1, UINT64_C(1800) * 1000 * MS);
	note(SERIES_VERIFY, 1, 1, 1);
	draw(1800);
	has(">1 ns<");
	has(">10 &#181;s<");
	has(">100 ms<");
	has(">1 s<");
	has(">1000 s<");
	has("max 1800000.000</text>");
	within_frames();
}

/* Three series, and more bins than columns; a stream that has no length. */
CASE(draws_each_series)
{
	unsigned i;

	p.bounded = false;
	p.length = INT64_MAX;
	for (i = 0; i < 1000; i += 2) {
		note(SERIES_SOURCE, i, 1 << 19, MS + i);
		note(SERIES_TARGET, i, 1 << 19, 2 * MS + i);
		note(SERIES_VERIFY, i, 1 << 19, 3 * MS + i);
	}
	draw(1);
	assert_int_equal(count("position on the source"), 1);
	assert_int_equal(count("position on the target"), 2);
	assert_int_equal(count("fill-opacity"), 3);
	has("source: 500 requests");
	assert_int_equal(count("class=\"head\""), 3);
	headed();
	within_frames();
}

/* As many bins as there are: each lies in one column, and no other is drawn. */
CASE(draws_all_bins)
{
	unsigned i;

	p.length = (uint64_t)PROFILE_BINS << 20;
	for (i = 0; i < PROFILE_BINS; i++)
		note(SERIES_SOURCE, i, 1 << 20, 10 * MS);
	note(SERIES_TARGET, 0, 1 << 20, 10 * MS);
	draw(1);
	/* 105 of 150 MB/s from end to end, in 205 columns of 5 bins */
	assert_int_equal(count("H936.0\"/>"), 4);
	assert_int_equal(count("M76.0 147.1H"), 2);
	assert_int_equal(count("V147.1H"), 2 * 204);
	within_frames();
}
