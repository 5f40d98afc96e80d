/*
 * profile=FILE.svg.  For each end, rate and latency over the position; then all
 * latencies as a histogram.  Drawn with lines, paths and text only: no scripts,
 * no fonts, no references.
 *
 * The scale of latencies doubles at equal distances, and is linear in between,
 * like the buckets they are counted in.  Exact logarithms would need a library
 * that every run has to load.
 */
#include "html/report_file.h"

#include <sys/param.h>

#include "base/escape.h"
#include "base/number.h"

enum {				/* pixels, unless stated otherwise */
	WIDTH = 960,
	LEFT = 76, RIGHT = 936,	/* of all panels */
	TOP = 76,		/* of the first */
	RATE_TALL = 150, LATENCY_TALL = 110, HISTOGRAM_TALL = 150,
	BETWEEN = 18,		/* between the two panels of an end */
	GAP = 48,		/* below a panel, with its axis */
	HEAD = 26,		/* above the panels of an end */
	AXIS = 36,		/* below the histogram */
	LEGEND = 16,		/* per line */
	BOTTOM = 12,
	COLUMNS = 240,		/* of a curve, at most */
	NAME_MOST = 56,		/* characters of a name */
	TICKS = 8,		/* of an axis of positions, about */
};

static const char *const colours[SERIES_MOST] = { "#1f6fb4", "#c9600a",
	"#2a8049" };

struct panel {			/* an area with axes; pixels, top down */
	FILE	*out;
	double	 top, tall;
	double	 from_x, to_x, from_y, to_y;	/* values, or log_of them */
};

/* --- pieces ------------------------------------------------------------- */

static double
chart_x(const struct panel *pa, double x)
{
	double part = (x - pa->from_x) / (pa->to_x - pa->from_x);

	part = part < 0 ? 0 : part > 1 ? 1 : part;
	return LEFT + (RIGHT - LEFT) * part;
}

static double
at_y(const struct panel *pa, double y)
{
	double part = (y - pa->from_y) / (pa->to_y - pa->from_y);

	return pa->top + pa->tall * (1 - (part < 0 ? 0 : part > 1 ? 1 : part));
}

static double
log_of(double ns)
{
	uint64_t n = (uint64_t)ns + 1;
	unsigned log = 63 - (unsigned)__builtin_clzll(n);

	return log + (double)n / (double)(UINT64_C(1) << log) - 1;
}

/* The largest power of ten up to n, but at least 1. */
static double
power_of_ten(double n)
{
	double ten = 1;

	while (ten * 10 <= n)
		ten *= 10;
	return ten;
}

/* Round n up to a multiple of a step. */
static double
chart_steps(double n, double step)
{
	double whole = (double)(uint64_t)(n / step);

	return (whole * step < n ? whole + 1 : whole) * step;
}

/* The smallest of 1, 2, 5, 10, 20 ... that is at least n. */
static double
round_step(double n)
{
	double ten = power_of_ten(n);

	return n <= ten ? ten : n <= 2 * ten ? 2 * ten : n <= 5 * ten ?
	    5 * ten : 10 * ten;
}

static void
chart_frame(const struct panel *pa, const char *what)
{
	fprintf(pa->out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" "
	    "height=\"%.1f\" fill=\"#fafafa\" stroke=\"#999\"/>\n", LEFT,
	    pa->top, RIGHT - LEFT, pa->tall);
	fprintf(pa->out, "<text x=\"%d\" y=\"%.1f\" class=\"what\" "
	    "text-anchor=\"end\">%s</text>\n", RIGHT, pa->top - 5, what);
}

static void
mark_x(const struct panel *pa, double x, const char *label)
{
	double at = chart_x(pa, x), end = pa->top + pa->tall;

	fprintf(pa->out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>"
	    "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
	    at, pa->top, end + 4, at, end + 17, label);
}

static void
mark_y(const struct panel *pa, double y, const char *label)
{
	double at = at_y(pa, y);

	fprintf(pa->out, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>"
	    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
	    LEFT - 4, at, RIGHT, LEFT - 8, at + 4, label);
}

/* A latency in ns as text. */
static const char *
latency_text(char *to, size_t room, double ns)
{
	static const char *const unit[] = { "ns", "&#181;s", "ms", "s" };
	unsigned u;

	for (u = 0; ns >= 1000 && u < 3; u++)
		ns /= 1000;
	snprintf(to, room, "%.0f %s", ns, unit[u]);
	return to;
}

/* Lines at powers of ten for latencies, along x or y. */
static void
chart_powers(const struct panel *pa, bool upward)
{
	double from = upward ? pa->from_y : pa->from_x;
	double to = upward ? pa->to_y : pa->to_x;
	char label[32];
	uint64_t ns;

	for (ns = 1; log_of((double)ns) <= to; ns *= 10)
		if (log_of((double)ns) >= from)
			(upward ? mark_y : mark_x)(pa, log_of((double)ns),
			    latency_text(label, sizeof(label), (double)ns));
}

static void
positions_axis(const struct panel *pa, const char *what)
{
	double step = round_step((pa->to_x - pa->from_x) / TICKS);
	uint64_t i = (uint64_t)(chart_steps(pa->from_x, step) / step);
	char label[32];

	for (; (double)i * step <= pa->to_x; i++)
		mark_x(pa, (double)i * step, number_si(label, sizeof(label),
		    (double)i * step));
	fprintf(pa->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">"
	    "position on the %s, bytes</text>\n", (LEFT + RIGHT) / 2,
	    pa->top + pa->tall + 33, what);
}

static void
rates_axis(const struct panel *pa)
{
	double step = round_step(pa->to_y / 5);
	char label[32], size[24];
	unsigned i;

	for (i = 0; i * step <= pa->to_y * 1.001; i++) {
		snprintf(label, sizeof(label), "%s/s",
		    number_si(size, sizeof(size), i * step));
		mark_y(pa, i * step, label);
	}
}

/* --- over position ------------------------------------------------------ */

struct columns {		/* bins, combined if there are many */
	struct bin	bin[COLUMNS];
	unsigned	n;
	double		width;	/* bytes per column */
};

static void
make_columns(struct columns *c, const struct gauge *r, uint64_t extent)
{
	unsigned used = (unsigned)((extent + r->width - 1) / r->width), i;
	unsigned each = (used + COLUMNS - 1) / COLUMNS;

	*c = (struct columns){ .n = (used + each - 1) / each,
		.width = (double)each * (double)r->width };
	for (i = 0; i < used; i++) {
		struct bin *to = &c->bin[i / each];
		const struct bin *from = &r->bin[i];

		to->bytes += from->bytes;
		to->spent += from->spent;
		to->wall += from->wall;
		to->busy += from->busy;
		to->requests += from->requests;
		to->errors += from->errors;
		to->most = from->most > to->most ? from->most : to->most;
	}
}

enum what { BUSY_RATE, WALL_RATE, MEAN_LATENCY, MOST_LATENCY };

static double
chart_value(const struct bin *b, enum what what)
{
	if (what == BUSY_RATE)
		return profile_rate(b->bytes, b->busy);
	if (what == WALL_RATE)
		return profile_rate(b->bytes, b->wall);
	return log_of(what == MOST_LATENCY ? (double)b->most :
	    (double)b->spent / (double)b->requests);
}

/* Draw steps; columns without requests are empty. */
static void
chart_curve(const struct panel *pa, const struct columns *c, enum what what,
    const char *style)
{
	bool open = false;
	unsigned i;

	fprintf(pa->out, "<path fill=\"none\" %s d=\"", style);
	for (i = 0; i < c->n; i++) {
		double from = pa->from_x + i * c->width, to = from + c->width;
		double y;

		if (c->bin[i].requests == 0) {
			open = false;
			continue;
		}
		y = at_y(pa, chart_value(&c->bin[i], what));
		if (open)
			fprintf(pa->out, "V%.1f", y);
		else
			fprintf(pa->out, "M%.1f %.1f", chart_x(pa, from), y);
		fprintf(pa->out, "H%.1f",
		    chart_x(pa, to < pa->to_x ? to : pa->to_x));
		open = true;
	}
	fputs("\"/>\n", pa->out);
}

/* The greater rate of a column; 0 if it has no requests. */
static double
chart_rate(const struct columns *c, unsigned i)
{
	double busy, wall;

	if (c->bin[i].requests == 0)
		return 0;
	busy = chart_value(&c->bin[i], BUSY_RATE);
	wall = chart_value(&c->bin[i], WALL_RATE);
	return wall > busy ? wall : busy;
}

/* How many columns have a rate above this. */
static unsigned
chart_above(const struct columns *c, double rate)
{
	unsigned i, n = 0;

	for (i = 0; i < c->n; i++)
		n += chart_rate(c, i) > rate;
	return n;
}

/*
 * The rate that 95 % of the columns do not exceed, and the greatest.  What
 * waited in a queue looks much faster than any disk is.
 */
static double
chart_usual(const struct columns *c, double *most)
{
	double usual, rate;
	unsigned i, few = chart_above(c, 0) / 20;

	for (*most = 0, i = 0; i < c->n; i++)
		*most = MAX(*most, chart_rate(c, i));
	for (usual = *most, i = 0; i < c->n; i++) {
		rate = chart_rate(c, i);
		if (rate > 0 && rate < usual && chart_above(c, rate) <= few)
			usual = rate;
	}
	return usual;
}

/* Mark where requests failed: a bar below the upper edge. */
static void
chart_bad(const struct panel *pa, const struct columns *c)
{
	unsigned i;

	for (i = 0; i < c->n; i++) {
		double from = pa->from_x + i * c->width, to = from + c->width;

		if (c->bin[i].errors == 0)
			continue;
		from = chart_x(pa, from);
		to = chart_x(pa, to < pa->to_x ? to : pa->to_x);
		fprintf(pa->out, "<rect class=\"bad\" x=\"%.1f\" y=\"%.1f\" "
		    "width=\"%.1f\" height=\"6\"/>\n", from, pa->top,
		    to - from > 1 ? to - from : 1);
	}
}

static void
draw_rates(struct panel *pa, const struct columns *c, const char *colour)
{
	double most, usual = chart_usual(c, &most);
	bool capped = most > 2 * usual && usual > 0;
	double step, top = capped ? usual : most > 0 ? most : 1;
	char style[80];

	step = round_step(top / 5);
	pa->from_y = 0;
	pa->to_y = chart_steps(top, step);
	chart_frame(pa, capped ? "rate while busy; dashed: overall; red: "
	    "errors; the highest 5 % are cut off" :
	    "rate while busy; dashed: overall; red: errors");
	rates_axis(pa);
	chart_curve(pa, c, WALL_RATE,
	    "stroke=\"#666\" stroke-dasharray=\"3 3\"");
	snprintf(style, sizeof(style), "stroke=\"%s\" stroke-width=\"1.6\"",
	    colour);
	chart_curve(pa, c, BUSY_RATE, style);
	chart_bad(pa, c);
}

static void
draw_latencies(struct panel *pa, const struct columns *c,
    const struct gauge *r, const char *colour)
{
	char style[80];

	pa->from_y = log_of(power_of_ten((double)r->least));
	pa->to_y = log_of(power_of_ten((double)r->all.most) * 10);
	chart_frame(pa, "mean latency; dotted: maximum");
	chart_powers(pa, true);
	snprintf(style, sizeof(style), "stroke=\"%s\" "
	    "stroke-dasharray=\"1 2\"", colour);
	chart_curve(pa, c, MOST_LATENCY, style);
	snprintf(style, sizeof(style), "stroke=\"%s\" stroke-width=\"1.6\"",
	    colour);
	chart_curve(pa, c, MEAN_LATENCY, style);
}

/* Draw both panels of an end at y; returns where they end. */
static double
draw_end(FILE *out, const struct plan *p, enum series s,
    const struct gauge *r, double y)
{
	uint64_t first = profile_first(p, s), extent = profile_extent(r, p);
	struct panel pa = { .out = out, .top = y + HEAD, .tall = RATE_TALL,
		.from_x = (double)first, .to_x = (double)(first + extent) };
	struct columns c;

	make_columns(&c, r, extent);
	fprintf(out, "<text x=\"%d\" y=\"%.1f\" class=\"head\" fill=\"%s\">"
	    "%s: ", LEFT, y + 16, colours[s], profile_series(s));
	escape_markup(out, s == SERIES_SOURCE ? p->src->name : p->dst->name,
	    NAME_MOST);
	fputs("</text>\n", out);
	draw_rates(&pa, &c, colours[s]);
	pa.top += RATE_TALL + BETWEEN;
	pa.tall = LATENCY_TALL;
	draw_latencies(&pa, &c, r, colours[s]);
	positions_axis(&pa, s == SERIES_SOURCE ? "source" : "target");
	return pa.top + pa.tall + GAP;
}

/* --- histogram ---------------------------------------------------------- */

static double
bucket_from(unsigned i)
{
	return log_of((double)gauge_bucket(i));
}

/* Requests per width of a bucket. */
static double
chart_density(const struct gauge *r, unsigned i)
{
	return (double)r->latency[i] / (double)r->all.requests /
	    (bucket_from(i + 1) - bucket_from(i));
}

static void
draw_outline(const struct panel *pa, const struct gauge *r, const char *colour)
{
	double base = pa->top + pa->tall;
	bool open = false;
	unsigned i;

	fprintf(pa->out, "<path fill=\"%s\" fill-opacity=\"0.15\" "
	    "stroke=\"%s\" d=\"", colour, colour);
	for (i = 0; i <= PROFILE_BUCKETS; i++) {
		bool any = i < PROFILE_BUCKETS && r->latency[i] > 0;

		if (any && !open)
			fprintf(pa->out, "M%.1f %.1f",
			    chart_x(pa, bucket_from(i)), base);
		if (any)
			fprintf(pa->out, "V%.1fH%.1f",
			    at_y(pa, chart_density(r, i)),
			    chart_x(pa, bucket_from(i + 1)));
		else if (open)
			fprintf(pa->out, "V%.1f", base);
		open = any;
	}
	fputs("\"/>\n", pa->out);
}

/* The range of all latencies in whole powers of ten, and the highest bar. */
static void
chart_scale(struct panel *pa, const struct gauge *sum)
{
	double least = -1, most = 0, high = 0, d;
	enum series s;
	unsigned i;

	for (s = 0; s < SERIES_MOST; s++) {
		if (sum[s].all.requests == 0)
			continue;
		if (least < 0 || (double)sum[s].least < least)
			least = (double)sum[s].least;
		if ((double)sum[s].all.most > most)
			most = (double)sum[s].all.most;
		for (i = 0; i < PROFILE_BUCKETS; i++) {
			d = chart_density(&sum[s], i);
			high = d > high ? d : high;
		}
	}
	pa->from_x = log_of(power_of_ten(least * 0.8));
	pa->to_x = log_of(power_of_ten(most * 1.25) * 10);
	pa->from_y = 0;
	pa->to_y = high * 1.1;
}

static void
chart_legend(FILE *out, enum series s, const struct gauge *r, double y)
{
	fprintf(out, "<text x=\"%d\" y=\"%.1f\" fill=\"%s\">%s: %llu request"
	    "%s, %llu error%s; ms: min %.3f, median %.3f, 90 %% %.3f, "
	    "99 %% %.3f, 99.9 %% %.3f, max %.3f</text>\n", LEFT, y,
	    colours[s], profile_series(s),
	    (unsigned long long)r->all.requests,
	    r->all.requests == 1 ? "" : "s",
	    (unsigned long long)r->all.errors,
	    r->all.errors == 1 ? "" : "s", (double)r->least / 1e6,
	    profile_percentile(r, 0.5) / 1e6, profile_percentile(r, 0.9) / 1e6,
	    profile_percentile(r, 0.99) / 1e6,
	    profile_percentile(r, 0.999) / 1e6, (double)r->all.most / 1e6);
}

static void
draw_histogram(FILE *out, const struct gauge *sum, double y)
{
	struct panel pa = { .out = out, .top = y, .tall = HISTOGRAM_TALL };
	enum series s;

	chart_scale(&pa, sum);
	chart_frame(&pa, "requests by latency");
	chart_powers(&pa, false);
	y += HISTOGRAM_TALL + AXIS;
	for (s = 0; s < SERIES_MOST; s++) {
		if (sum[s].all.requests == 0)
			continue;
		draw_outline(&pa, &sum[s], colours[s]);
		chart_legend(out, s, &sum[s], y);
		y += LEGEND;
	}
}

/* --- the picture -------------------------------------------------------- */

static void
chart_title(FILE *out, const struct profile *pr, const struct gauge *sum,
    double seconds)
{
	uint64_t bytes = sum[SERIES_TARGET].all.bytes > 0 ?
	    sum[SERIES_TARGET].all.bytes : sum[SERIES_SOURCE].all.bytes;
	char date[32], size[32], rate[32], piece[32];
	unsigned workers = plan_workers(pr->p);
	struct tm tm;

	gmtime_r(&pr->started.tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fprintf(out, "<text x=\"%d\" y=\"30\" class=\"title\">", LEFT);
	escape_markup(out, pr->p->src->name, NAME_MOST);
	fputs(" to ", out);
	escape_markup(out, pr->p->dst->name, NAME_MOST);
	fprintf(out, "</text>\n<text x=\"%d\" y=\"50\">%s: %s in %.3f s, "
	    "%s/s, %u worker%s, transfers of %s</text>\n", LEFT, date,
	    number_si(size, sizeof(size), (double)bytes), seconds,
	    number_si(rate, sizeof(rate), seconds > 0 ? (double)bytes /
	    seconds : 0), workers, workers == 1 ? "" : "s",
	    number_iec(piece, sizeof(piece), (double)pr->p->chunk));
}

void
chart_draw(FILE *out, const struct profile *pr,
    const struct gauge sum[SERIES_MOST], double seconds)
{
	int ends = 0, tall;
	enum series s;
	double y = TOP;

	for (s = 0; s < SERIES_MOST; s++)
		ends += sum[s].all.requests > 0;
	tall = ends == 0 ? TOP : TOP + HISTOGRAM_TALL + AXIS + BOTTOM +
	    ends * (HEAD + RATE_TALL + BETWEEN + LATENCY_TALL + GAP + LEGEND);
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
	    "height=\"%d\" viewBox=\"0 0 %d %d\">\n"
	    "<title>pardd: rate and latency by position</title>\n"
	    "<style>text { font: 11px sans-serif; } .title { font: bold 17px "
	    "sans-serif; } .head { font: bold 13px sans-serif; } .what { "
	    "fill: #555; } .grid { stroke: #ddd; fill: none; } "
	    ".bad { fill: #a80f2a; }</style>\n"
	    "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", WIDTH, tall,
	    WIDTH, tall, WIDTH, tall);
	chart_title(out, pr, sum, seconds);
	for (s = 0; s < SERIES_MOST; s++)
		if (sum[s].all.requests > 0)
			y = draw_end(out, pr->p, s, &sum[s], y);
	if (ends > 0)
		draw_histogram(out, sum, y);
	fputs("</svg>\n", out);
}
