/*
 * Writing profile=: a table (CSV), an object (JSON) or a picture (chart.c).
 */
#include "report/profile.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/value.h"
#include "config.h"
#include "html/report_file.h"

#define SCHEMA	"pardd-profile/1"

static const double parts[] = { 0.5, 0.9, 0.99, 0.999 };
static const char *const part_names[] = { "p50", "p90", "p99", "p999" };

enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

/* --- a table ------------------------------------------------------------ */

static void
profile_row(FILE *out, const char *table, enum series s, double from, double to)
{
	fprintf(out, "%s,%s,%.9g,%.9g", table, profile_series(s), from, to);
}

static void
bytes_row(FILE *out, const char *table, enum series s, uint64_t from,
    uint64_t to)
{
	fprintf(out, "%s,%s,%llu,%llu", table, profile_series(s), (ull)from,
	    (ull)to);
}

/* bytes,requests,errors,seconds,rate,busy_rate,latency_mean,latency_max */
static void
bin_cells(FILE *out, const struct bin *b)
{
	fprintf(out, ",%llu,%llu,%llu,%.9g,%.9g,%.9g,%.9g,%.9g\n",
	    (ull)b->bytes, (ull)b->requests, (ull)b->errors,
	    (double)b->wall / 1e9, profile_rate(b->bytes, b->wall),
	    profile_rate(b->bytes, b->busy),
	    (double)b->spent / 1e9 / (double)b->requests,
	    (double)b->most / 1e9);
}

static void
csv_latencies(FILE *out, enum series s, const struct gauge *r)
{
	unsigned i;

	for (i = 0; i < PARTS; i++) {
		profile_row(out, "percentile", s, parts[i] * 100, parts[i] *
		    100);
		fprintf(out, ",,,,,,,,%.9g\n",
		    profile_percentile(r, parts[i]) / 1e9);
	}
	for (i = 0; i < PROFILE_BUCKETS; i++)
		if (r->latency[i] > 0) {
			profile_row(out, "latency", s, (double)gauge_bucket(i) /
			    1e9, (double)gauge_bucket(i + 1) / 1e9);
			fprintf(out, ",,%llu,,,,,,\n", (ull)r->latency[i]);
		}
	for (i = 0; i < r->slows; i++) {
		bytes_row(out, "slowest", s, r->slow[i].off,
		    r->slow[i].off + r->slow[i].len);
		fprintf(out, ",,1,,,,,,%.9g\n", (double)r->slow[i].ns / 1e9);
	}
}

static void
csv_series(FILE *out, const struct plan *p, enum series s,
    const struct gauge *r)
{
	uint64_t first = profile_first(p, s);
	double tick = (double)r->tick / 1e9;
	unsigned i;

	bytes_row(out, "total", s, first, first + profile_extent(r, p));
	bin_cells(out, &r->all);
	csv_latencies(out, s, r);
	for (i = 0; i < PROFILE_BINS; i++)
		if (r->bin[i].requests > 0) {
			bytes_row(out, "position", s, first + i * r->width,
			    first + profile_end(r, p, i));
			bin_cells(out, &r->bin[i]);
		}
	for (i = 0; i < PROFILE_SLOTS; i++)
		if (r->slot[i] > 0) {
			profile_row(out, "time", s, i * tick, (i + 1) * tick);
			fprintf(out, ",%llu,,,,%.9g,,,\n", (ull)r->slot[i],
			    profile_rate(r->slot[i], r->tick));
		}
}

static void
profile_csv(FILE *out, const struct profile *pr,
    const struct gauge sum[SERIES_MOST])
{
	enum series s;

	fputs("table,end,from,to,bytes,requests,errors,seconds,rate,"
	    "busy_rate,latency_mean,latency_max\n", out);
	for (s = 0; s < SERIES_MOST; s++)
		if (sum[s].all.requests > 0)
			csv_series(out, pr->p, s, &sum[s]);
}

/* --- an object ---------------------------------------------------------- */

static json_t *
bin_object(const struct bin *b)
{
	return json_pack("{s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:f}",
	    "bytes", value_count(b->bytes),
	    "requests", value_count(b->requests),
	    "errors", value_count(b->errors), "seconds", (double)b->wall / 1e9,
	    "rate", profile_rate(b->bytes, b->wall),
	    "busy_rate", profile_rate(b->bytes, b->busy),
	    "latency_mean", (double)b->spent / 1e9 / (double)b->requests,
	    "latency_max", (double)b->most / 1e9);
}

static json_t *
latency_object(const struct gauge *r)
{
	json_t *o = json_pack("{s:f, s:f, s:f}", "min", (double)r->least / 1e9,
	    "mean", (double)r->all.spent / 1e9 / (double)r->all.requests,
	    "max", (double)r->all.most / 1e9);
	json_t *list = json_array();
	unsigned i;

	for (i = 0; i < PARTS; i++)
		o = value_set(o, part_names[i],
		    json_real(profile_percentile(r, parts[i]) / 1e9));
	for (i = 0; i < PROFILE_BUCKETS; i++)
		if (r->latency[i] > 0)
			list = value_append(list, json_pack(
			    "{s:f, s:f, s:o}",
			    "from", (double)gauge_bucket(i) / 1e9,
			    "to", (double)gauge_bucket(i + 1) / 1e9,
			    "requests", value_count(r->latency[i])));
	return value_set(o, "histogram", list);
}

static json_t *
profile_slowest(const struct profile *pr, const struct gauge *r)
{
	json_t *list = json_array();
	unsigned i;

	for (i = 0; i < r->slows; i++)
		list = value_append(list, json_pack("{s:o, s:o, s:f, s:f}",
		    "offset", value_count(r->slow[i].off),
		    "length", value_count(r->slow[i].len),
		    "latency", (double)r->slow[i].ns / 1e9,
		    "at", (double)(r->slow[i].at - pr->start) / 1e9));
	return list;
}

static json_t *
profile_positions(const struct gauge *r, const struct plan *p, uint64_t first)
{
	json_t *list = json_array(), *o;
	unsigned i;

	for (i = 0; i < PROFILE_BINS; i++) {
		if (r->bin[i].requests == 0)
			continue;
		o = value_set(bin_object(&r->bin[i]), "offset",
		    value_count(first + i * r->width));
		o = value_set(o, "length",
		    value_count(profile_end(r, p, i) - i * r->width));
		list = value_append(list, o);
	}
	return list;
}

static json_t *
profile_timeline(const struct gauge *r)
{
	json_t *list = json_array();
	unsigned i;

	for (i = 0; i < PROFILE_SLOTS; i++)
		if (r->slot[i] > 0)
			list = value_append(list, json_pack(
			    "{s:f, s:f, s:o, s:f}",
			    "from", (double)i * (double)r->tick / 1e9,
			    "to", (double)(i + 1) * (double)r->tick / 1e9,
			    "bytes", value_count(r->slot[i]),
			    "rate", profile_rate(r->slot[i], r->tick)));
	return list;
}

static json_t *
series_object(const struct profile *pr, enum series s, const struct gauge *r)
{
	uint64_t first = profile_first(pr->p, s);

	if (r->all.requests == 0)
		return json_null();
	return value_merge(bin_object(&r->all),
	    json_pack( "{s:o, s:o, s:o, s:o, s:o, s:o}", "name",
	    value_text(s == SERIES_SOURCE ? pr->p->src->name :
	    pr->p->dst->name), "offset", value_count(first), "latency",
	    latency_object(r), "slowest", profile_slowest(pr, r), "positions",
	    profile_positions(r, pr->p, first), "timeline",
	    profile_timeline(r)));
}

static int
profile_json(FILE *out, const struct profile *pr, const struct gauge *sum,
    double seconds)
{
	json_t *o = json_pack("{s:s, s:s, s:o, s:f, s:o, s:o, s:o, s:o}",
	    "schema", SCHEMA, "version", PARDD_VERSION,
	    "started", value_time(&pr->started), "seconds", seconds,
	    "workers", value_count(plan_workers(pr->p)),
	    "source", series_object(pr, SERIES_SOURCE, &sum[SERIES_SOURCE]),
	    "target", series_object(pr, SERIES_TARGET, &sum[SERIES_TARGET]),
	    "verify", series_object(pr, SERIES_VERIFY, &sum[SERIES_VERIFY]));
	bool whole = o != NULL && json_dumpf(o, out, JSON_INDENT(1) |
	    JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9)) == 0;

	fputc('\n', out);
	json_decref(o);
	return whole || ferror(out) != 0 ? 0 : ENOMEM;
}

/* --- the file ----------------------------------------------------------- */

/* Write errors are left in out.  Returns an errno value. */
static int
profile_compose(FILE *out, const struct profile *pr, const struct gauge *sum,
    double seconds)
{
	const char *kind = strrchr(pr->p->opts->profile, '.');

	if (strcmp(kind, ".json") == 0)
		return profile_json(out, pr, sum, seconds);
	if (strcmp(kind, ".csv") == 0)
		profile_csv(out, pr, sum);
	else
		chart_draw(out, pr, sum, seconds);
	return 0;
}

int
profile_write(const struct profile *pr, struct newfile *file, double seconds,
    struct fault *f)
{
	struct gauge *sum;
	enum series s;
	int err;

	if (file->path == NULL || pr == NULL)
		return 0;
	sum = calloc(SERIES_MOST, sizeof(*sum));
	if (sum == NULL)
		return fault_errno(f, ENOMEM, "profile=%s", file->path);
	for (s = 0; s < SERIES_MOST; s++)
		profile_sum(pr, s, &sum[s]);
	err = newfile_begin(file, f);
	if (err == 0)
		err = newfile_end(file,
		    profile_compose(file->out, pr, sum, seconds), f);
	free(sum);
	return err;
}
