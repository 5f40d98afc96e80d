/*
 * The pictures of a report: the map as a strip below the partitions and as a
 * grid, and the progress over time.  Each status has a colour and a pattern, so
 * that it can be recognised in black and white.
 */
#include "report_data.h"

#include <string.h>

#include "base/escape.h"
#include "base/number.h"
#include "report/report.h"

enum {				/* pixels, unless stated otherwise */
	CELL = 12, ACROSS = 64, DOWN = 32, CELLS = ACROSS * DOWN,
	WIDTH = CELL * ACROSS,
	MARGIN = 16,
	PARTS_TALL = 22, STRIP_TALL = 14, STRIP = WIDTH / 3,	/* columns */
	GRID_TOP = PARTS_TALL + STRIP_TALL + 12,
	LEGEND_TOP = GRID_TOP + CELL * DOWN + 20,
	MAP_TALL = LEGEND_TOP + 24,
	LETTER = 7,		/* average width */
	AXIS = 64,		/* left of the graph */
	CURVE_TALL = 180, PROGRESS_TALL = CURVE_TALL + 56,
};

static const struct look {
	enum seg_status	 status;
	const char	*id, *word, *fill, *mark;	/* mark: a path */
} looks[] = {
	{ FINISHED, "done", "finished", "#a3cfa0", "" },
	{ UNTRIED, "open", "not tried", "#ffffff", "" },
	{ UNTRIMMED, "trim", "failed, not trimmed", "#f2c14e", "M2 9L9 2" },
	{ UNSCRAPED, "scrape", "failed, not scraped", "#7f9fe6",
	    "M2 9L9 2M2 2L9 9" },
	{ BAD, "bad", "unreadable", "#a80f2a", "M2 2L9 9M9 2L2 9M5.5 1V10" },
	{ OUTSIDE, "out", "not wanted", "#dddddd", "M5 5H6" },
};

enum { LOOKS = sizeof(looks) / sizeof(looks[0]) };

static const struct look *
look_of(char status)
{
	const struct look *l = looks;

	while (l < &looks[LOOKS - 1] && l->status != (enum seg_status)status)
		l++;
	return l;
}

/* --- the map ------------------------------------------------------------ */

static void
svg_patterns(FILE *out)
{
	size_t i;

	fputs("<defs>\n", out);
	for (i = 0; i < LOOKS; i++)
		fprintf(out, "<pattern id=\"%s\" width=\"%d\" height=\"%d\" "
		    "patternUnits=\"userSpaceOnUse\"><rect width=\"11\" "
		    "height=\"11\" fill=\"%s\" stroke=\"#888\" "
		    "stroke-width=\"0.5\"/><path d=\"%s\" stroke=\"%s\" "
		    "stroke-width=\"1.4\" fill=\"none\"/></pattern>\n",
		    looks[i].id, CELL, CELL, looks[i].fill,
		    looks[i].mark[0] != '\0' ? looks[i].mark : "M0 0",
		    looks[i].status == BAD ? "#fff" : "#222");
	fputs("</defs>\n", out);
}

/* Draw the cells of one status, with one piece for each run of them. */
static void
draw_cells(FILE *out, const char *cell, const struct look *l)
{
	size_t row, at, end;
	bool any = false;

	for (row = 0; row < DOWN; row++)
		for (at = 0; at < ACROSS; at = end) {
			const char *c = cell + row * ACROSS;

			end = at + 1;
			if (look_of(c[at]) != l)
				continue;
			while (end < ACROSS && look_of(c[end]) == l)
				end++;
			if (!any)
				fprintf(out, "<path fill=\"url(#%s)\" d=\"",
				    l->id);
			any = true;
			fprintf(out, "M%zu %zuh%zuv%dh-%zuz", at * CELL,
			    row * CELL, (end - at) * CELL, CELL,
			    (end - at) * CELL);
		}
	if (any)
		fputs("\"/>\n", out);
}

static double
svg_x(uint64_t off, uint64_t length)
{
	double part = (double)off / (double)length;

	return WIDTH * (part > 1 ? 1 : part);
}

/* Draw a partition, with as much of its name as fits. */
static void
draw_part(FILE *out, const struct volume_row *v, double from, double to)
{
	char text[200];

	fprintf(out, "<rect x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"%d\" "
	    "fill=\"#eef\" stroke=\"#446\"/>\n", from, to - from > 1 ?
	    to - from : 1, PARTS_TALL - 4);
	snprintf(text, sizeof(text), "%u%s%s%s%s", v->number,
	    v->type[0] != '\0' ? " " : "", v->type,
	    v->label[0] != '\0' ? " " : "", v->label);
	if (v->number == 0)
		snprintf(text, sizeof(text), "%s %s", v->type, v->label);
	else if ((to - from) / LETTER < (double)strlen(text) + 1)
		snprintf(text, sizeof(text), "%u", v->number);
	if (v->number == 0 || (to - from) / LETTER > (double)strlen(text)) {
		fprintf(out, "<text x=\"%.1f\" y=\"13\">", from + 3);
		escape_markup(out, text, sizeof(text));
		fputs("</text>\n", out);
	}
}

static void
draw_parts(FILE *out, const struct report_data *d)
{
	size_t i;

	for (i = 0; i < d->volumes.n; i++) {
		const struct volume_row *v = &d->volumes.row[i];
		uint64_t first = d->p->src_off;

		if (v->off < first || v->off - first >= d->length)
			continue;
		draw_part(out, v, svg_x(v->off - first, d->length),
		    svg_x(v->off - first + v->len, d->length));
	}
}

/* Draw the same map in one row, to the scale of the partitions. */
static void
draw_strip(FILE *out, const char *cell)
{
	size_t at, end;

	fprintf(out, "<rect x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\" "
	    "fill=\"#fff\" stroke=\"#888\"/>\n", PARTS_TALL, WIDTH,
	    STRIP_TALL);
	for (at = 0; at < STRIP; at = end) {
		const struct look *l = look_of(cell[at]);

		for (end = at + 1; end < STRIP && look_of(cell[end]) == l;)
			end++;
		if (l->status == UNTRIED)
			continue;
		fprintf(out, "<rect x=\"%zu\" y=\"%d\" width=\"%zu\" "
		    "height=\"%d\" fill=\"%s\"/>\n", at * 3, l->status == BAD ?
		    PARTS_TALL : PARTS_TALL + 4, (end - at) * 3,
		    l->status == BAD ? STRIP_TALL : STRIP_TALL - 8, l->fill);
	}
}

static void
draw_legend(FILE *out)
{
	double x = 0;
	size_t i;

	for (i = 0; i < LOOKS; i++) {
		fprintf(out, "<g transform=\"translate(%.0f,0)\"><rect "
		    "width=\"%d\" height=\"%d\" fill=\"url(#%s)\"/><text "
		    "x=\"16\" y=\"10\">%s</text></g>\n", x, CELL, CELL,
		    looks[i].id, looks[i].word);
		x += 16 + 6.2 * (double)strlen(looks[i].word) + 14;
	}
}

static void
draw_grid(FILE *out, const struct report_data *d)
{
	char cell[CELLS], strip[STRIP];
	size_t i;

	if (d->length == 0) {
		fputs("<text x=\"0\" y=\"13\">there was nothing to copy"
		    "</text>\n", out);
		return;
	}
	cells_fill(cell, CELLS, d->seg, d->segs, d->length);
	cells_fill(strip, STRIP, d->seg, d->segs, d->length);
	draw_parts(out, d);
	draw_strip(out, strip);
	fprintf(out, "<g transform=\"translate(0,%d)\">\n", GRID_TOP);
	for (i = 0; i < LOOKS; i++)
		draw_cells(out, cell, &looks[i]);
	fprintf(out, "</g>\n<g transform=\"translate(0,%d)\">\n", LEGEND_TOP);
	draw_legend(out);
	fputs("</g>\n", out);
}

/* A description of the picture, for screen readers. */
static void
describe_map(FILE *out, const struct report_data *d)
{
	char done[32], open[32], bad[32], each[32];

	fprintf(out, "<title>Map of the copy</title>\n"
	    "<desc>%s finished, %s not tried or not done, %s "
	    "unreadable in %llu range%s. A cell stands for %s; it shows the "
	    "worst in it.</desc>\n",
	    number_si(done, sizeof(done), (double)d->total.finished),
	    number_si(open, sizeof(open), (double)(d->total.untried +
	    d->total.failed)),
	    number_si(bad, sizeof(bad), (double)d->total.bad),
	    (unsigned long long)d->total.bad_ranges,
	    d->total.bad_ranges == 1 ? "" : "s",
	    number_si(each, sizeof(each), (double)d->length / CELLS));
}

void
report_draw_map(FILE *out, const struct report_data *d)
{
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
	    "width=\"%d\" height=\"%d\" "
	    "viewBox=\"-1 -1 %d %d\">\n", WIDTH + 2, MAP_TALL, WIDTH + 2,
	    MAP_TALL);
	describe_map(out, d);
	svg_patterns(out);
	draw_grid(out, d);
	fputs("</svg>\n", out);
}

/* --- the progress ------------------------------------------------------- */

static double
sample_x(const struct report_data *d, const struct sample *s)
{
	double last = d->sample[d->samples - 1].seconds;

	return AXIS + (WIDTH - AXIS - 1) * (last > 0 ? s->seconds / last : 1);
}

static double
sample_y(const struct report_data *d, uint64_t bytes)
{
	uint64_t whole = d->length - d->total.outside;
	double part = whole > 0 ? (double)bytes / (double)whole : 1;

	return CURVE_TALL * (1 - (part > 1 ? 1 : part));
}

static void
svg_curve(FILE *out, const struct report_data *d, bool bad, const char *style)
{
	size_t i;

	/* from the beginning, when nothing was there */
	fprintf(out, "<path fill=\"none\" %s d=\"M%d %d", style, AXIS,
	    CURVE_TALL);
	for (i = 0; i < d->samples; i++)
		fprintf(out, "L%.1f %.1f",
		    sample_x(d, &d->sample[i]), sample_y(d, bad ?
		    d->sample[i].bad : d->sample[i].finished));
	fputs("\"/>\n", out);
}

static void
progress_axes(FILE *out, const struct report_data *d)
{
	unsigned long s = (unsigned long)(d->sample[d->samples - 1].seconds +
	    0.5);
	unsigned i;

	fprintf(out, "<rect x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\" "
	    "fill=\"#fafafa\" stroke=\"#888\"/>\n", AXIS, WIDTH - AXIS - 1,
	    CURVE_TALL);
	for (i = 0; i <= 4; i++)
		fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%u "
		    "%%</text>\n", AXIS - 6, CURVE_TALL - (int)i * CURVE_TALL /
		    4 + (i == 4 ? 10 : 4), i * 25);
	fprintf(out, "<text x=\"%d\" y=\"%d\">0</text>\n<text x=\"%d\" "
	    "y=\"%d\" text-anchor=\"end\">", AXIS, CURVE_TALL + 16, WIDTH - 1,
	    CURVE_TALL + 16);
	fprintf(out, "%lu:%02lu:%02lu of running time</text>\n<text x=\"%d\" "
	    "y=\"%d\">finished; dashed: unreadable; vertical: another run"
	    "</text>\n", s / 3600, s / 60 % 60, s % 60, AXIS, CURVE_TALL + 34);
}

void
report_draw_progress(FILE *out, const struct report_data *d)
{
	unsigned runs = d->sample[d->samples - 1].run;
	size_t i;

	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
	    "width=\"%d\" height=\"%d\" "
	    "viewBox=\"-1 -1 %d %d\">\n<title>Finished bytes "
	    "over running time, %u run%s</title>\n", WIDTH + 2, PROGRESS_TALL,
	    WIDTH + 2, PROGRESS_TALL, runs, runs == 1 ? "" : "s");
	progress_axes(out, d);
	for (i = 1; i < d->samples; i++)
		if (d->sample[i].run != d->sample[i - 1].run)
			fprintf(out, "<path stroke=\"#888\" d=\"M%.1f 0V%d\"/>"
			    "\n", sample_x(d, &d->sample[i - 1]), CURVE_TALL);
	svg_curve(out, d, false, "stroke=\"#2a7a35\" stroke-width=\"2\"");
	svg_curve(out, d, true, "stroke=\"#a80f2a\" stroke-width=\"2\" "
	    "stroke-dasharray=\"5 3\"");
	fputs("</svg>\n", out);
}

/* --- a file of its own -------------------------------------------------- */

void
report_svg(FILE *out, const struct report_data *d)
{
	const int wide = WIDTH + 2 * MARGIN, top = 64;
	const bool progress = d->samples > 1;	/* else there is no curve */
	const int tall = top + MAP_TALL + MARGIN + (progress ? PROGRESS_TALL :
	    0);
	struct fault verdict;

	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	    "height=\"%d\" viewBox=\"0 0 %d %d\">\n<title>pardd: report"
	    "</title>\n", wide, tall, wide, tall);
	report_put_samples(out, d);
	fprintf(out, "<style>text { font: 11px sans-serif; } .head { font: "
	    "bold 16px sans-serif; }</style>\n<rect width=\"%d\" height=\"%d\" "
	    "fill=\"#fff\"/>\n<text x=\"%d\" y=\"26\" class=\"head\">", wide,
	    tall, MARGIN);
	escape_markup(out, d->p->src->name, 40);
	fputs(" to ", out);
	escape_markup(out, d->p->dst->name, 40);
	fprintf(out, "</text>\n<text x=\"%d\" y=\"46\">", MARGIN);
	report_verdict(&verdict, d);
	escape_markup(out, verdict.text, 130);
	fprintf(out, "</text>\n<g transform=\"translate(%d,%d)\">\n", MARGIN,
	    top);
	report_draw_map(out, d);
	if (progress) {
		fprintf(out, "</g>\n<g transform=\"translate(%d,%d)\">\n",
		    MARGIN, top + MAP_TALL + MARGIN);
		report_draw_progress(out, d);
	}
	fputs("</g>\n</svg>\n", out);
}
