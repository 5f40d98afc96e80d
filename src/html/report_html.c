/*
 * The page of a report: one file, without scripts or external references.
 * First the verdict, then the pictures, then tables with everything in the
 * pictures, so that the page can also be printed or read aloud.
 */
#include "report_data.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/escape.h"
#include "base/number.h"
#include "config.h"
#include "digest/hash.h"
#include "part/used.h"
#include "report/report.h"

enum {
	ROWS_MOST = 4096,	/* ranges */
	CELL_MOST = 4096,	/* bytes of text in a cell */
};

/* --- tables ------------------------------------------------------------- */

/* A heading that begins with # is that of a column of numbers. */
static void
table_begin(FILE *out, const char *caption, const char *const *heads)
{
	fprintf(out, "<table>\n<caption>%s</caption>\n", caption);
	if (heads == NULL)
		return;
	fputs("<tr>", out);
	for (; *heads != NULL; heads++)
		fprintf(out, "<th scope=\"col\"%s>%s</th>", **heads == '#' ?
		    " class=\"n\"" : "", *heads + (**heads == '#'));
	fputs("</tr>\n", out);
}

static void __attribute__((format(printf, 2, 3)))
html_cell(FILE *out, const char *fmt, ...)
{
	char text[CELL_MOST] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs("<td>", out);
	escape_markup(out, text, sizeof(text));
	fputs("</td>", out);
}

static void
html_number(FILE *out, uint64_t n)
{
	fprintf(out, "<td class=\"n\">%llu</td>", (ull)n);
}

/* A row with a property and its value; omitted if the value is unknown. */
static void __attribute__((format(printf, 3, 4)))
html_fact(FILE *out, const char *what, const char *fmt, ...)
{
	char text[CELL_MOST] = "";
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (text[0] == '\0')
		return;
	fprintf(out, "<tr><th scope=\"row\">%s</th>", what);
	html_cell(out, "%s", text);
	fputs("</tr>\n", out);
}

static void
table_end(FILE *out)
{
	fputs("</table>\n", out);
}

/* --- the ends ----------------------------------------------------------- */

static void
disk_facts(FILE *out, const struct disk *d)
{
	char by_id[NAME_MAX + 1] = "";

	if (d->node != 0)
		disk_by_id(d->node, by_id, sizeof(by_id));
	html_fact(out, "Vendor", "%s", d->vendor);
	html_fact(out, "Model", "%s", d->model);
	html_fact(out, "Serial number", "%s", d->serial);
	html_fact(out, "WWN", "%s", d->wwn);
	html_fact(out, "Transport", "%s%s", d->transport, d->removable ?
	    ", removable" : "");
	html_fact(out, "Name by id", "%s", by_id);
	if (d->physical > 0)
		html_fact(out, "Physical block", "%u bytes", d->physical);
	if (d->partition > 0)
		html_fact(out, "Partition", "%d of %s", d->partition,
		    d->whole_name);
	html_fact(out, "Lies on", "%s", d->backing);
}

static void
end_table(FILE *out, const struct report_data *d, bool target)
{
	const struct endpoint *ep = target ? d->p->dst : d->p->src;
	uint64_t off = target ? d->p->dst_off : d->p->src_off;
	int64_t whole = ep->lim.part > 0 ? ep->lim.disk_size : ep->geo.size;
	char size[32];

	table_begin(out, target ? "Target" : "Source", NULL);
	html_fact(out, "Name", "%s%s", ep->lim.within, ep->name);
	html_fact(out, "Kind", "%s%s", endpoint_kind(ep)->text, ep->is.absent ?
	    ", created by this run" : "");
	if (whole >= 0 && endpoint_holds(ep))
		html_fact(out, target ? "Size before" : "Size",
		    "%lld bytes (%s)", (long long)whole,
		    number_si(size, sizeof(size), (double)whole));
	if (ep->geo.block > 0)
		html_fact(out, "Logical block", "%u bytes", ep->geo.block);
	if (d->is_disk[target])
		disk_facts(out, &d->disk[target]);
	html_fact(out, "From byte", "%llu", (ull)off);
	table_end(out);
}

/* --- the result --------------------------------------------------------- */

static void
totals_table(FILE *out, const struct report_data *d)
{
	const struct { const char *what; uint64_t bytes; } rows[] = {
		{ "Finished", d->total.finished },
		{ "Not tried", d->total.untried },
		{ "Failed, not looked into", d->total.failed },
		{ "Unreadable", d->total.bad },
		{ "Not wanted (domain=)", d->total.outside },
	};
	char size[32];
	size_t i;

	table_begin(out, "The copy in bytes", NULL);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].bytes > 0 || i == 0)
			html_fact(out, rows[i].what, "%llu (%s)",
			    (ull)rows[i].bytes, number_si(size, sizeof(size),
			    (double)rows[i].bytes));
	table_end(out);
}

static const char *
html_state(enum seg_status status)
{
	return status == BAD ? "unreadable" : status == UNTRIMMED ?
	    "failed, not trimmed" : "failed, not scraped";
}

/* The next range of a status, from seg[*i] on, joined; false: none. */
static bool
html_range(const struct report_data *d, size_t *i, enum seg_status status,
    struct seg *got)
{
	while (*i < d->segs && d->seg[*i].status != status)
		++*i;
	if (*i == d->segs)
		return false;
	*got = d->seg[(*i)++];
	while (*i < d->segs && d->seg[*i].status == status)
		got->len += d->seg[(*i)++].len;
	return true;
}

/* Ranges that could not be read, or were not examined completely. */
static void
ranges_table(FILE *out, const struct report_data *d)
{
	static const enum seg_status what[] = { BAD, UNSCRAPED, UNTRIMMED };
	static const char *const heads[] = { "#First byte", "#Last byte",
		"#Bytes", "State", NULL };
	size_t k, i, n = 0;
	struct seg s;

	if (d->total.bad + d->total.failed == 0)
		return;
	fputs("<h2>Unreadable ranges of the source</h2>\n", out);
	table_begin(out, "Positions on the source", heads);
	for (k = 0; k < sizeof(what) / sizeof(what[0]); k++)
		for (i = 0; html_range(d, &i, what[k], &s);) {
			if (n++ >= ROWS_MOST)
				continue;
			fputs("<tr>", out);
			html_number(out, d->p->src_off + s.off);
			html_number(out, d->p->src_off + s.off + s.len - 1);
			html_number(out, s.len);
			html_cell(out, "%s", html_state(what[k]));
			fputs("</tr>\n", out);
		}
	table_end(out);
	if (n > ROWS_MOST)
		fprintf(out, "<p>And %zu more range%s; %s.</p>\n",
		    n - ROWS_MOST, n - ROWS_MOST == 1 ? "" : "s",
		    d->p->opts->map != NULL ? "the map has all" :
		    "json= lists all of them");
}

static void
differ_table(FILE *out, const struct report_data *d, struct map *differ)
{
	static const char *const heads[] = { "#First byte", "#Last byte",
		"#Bytes", NULL };
	struct seg s = { .off = 0 };
	uint64_t ranges = differ->ready ? map_totals(differ).bad_ranges : 0;
	size_t n;

	if (ranges == 0)
		return;
	fputs("<h2>Ranges that differ</h2>\n", out);
	table_begin(out, "Positions on the source", heads);
	for (n = 0; n < ROWS_MOST && map_next(differ, s.off + s.len, BAD, &s);
	    n++) {
		fputs("<tr>", out);
		html_number(out, d->p->src_off + s.off);
		html_number(out, d->p->src_off + s.off + s.len - 1);
		html_number(out, s.len);
		fputs("</tr>\n", out);
	}
	table_end(out);
	if (ranges > n)
		fprintf(out, "<p>And %llu more range%s; json= lists all of "
		    "them.</p>\n", (ull)ranges - n, ranges - n == 1 ? "" :
		    "s");
}

/* --- partitions and file systems ---------------------------------------- */

static uint64_t
lost_in(const struct report_data *d, uint64_t off, uint64_t len)
{
	uint64_t first = d->p->src_off, lost = 0, from, to;
	size_t i;

	for (i = 0; i < d->segs; i++) {
		const struct seg *s = &d->seg[i];

		if (s->status != BAD && s->status != UNTRIMMED &&
		    s->status != UNSCRAPED)
			continue;
		from = first + s->off > off ? first + s->off : off;
		to = first + s->off + s->len < off + len ?
		    first + s->off + s->len : off + len;
		lost += to > from ? to - from : 0;
	}
	return lost;
}

static void
volumes_table(FILE *out, const struct report_data *d)
{
	static const char *const heads[] = { "Partition", "File system",
		"Label", "#First byte", "#Bytes", "#Unreadable bytes", NULL };
	size_t i;

	if (d->volumes.n == 0)
		return;
	fputs("<h2>Partitions and file systems of the source</h2>\n", out);
	table_begin(out, d->volumes.table[0] != '\0' ? d->volumes.table :
	    "No partition table", heads);
	for (i = 0; i < d->volumes.n; i++) {
		const struct volume_row *v = &d->volumes.row[i];

		fputs("<tr>", out);
		if (v->number > 0)
			html_cell(out, "%u", v->number);
		else
			html_cell(out, "none");
		html_cell(out, "%s", v->type[0] != '\0' ? v->type :
		    "not known");
		html_cell(out, "%s", v->label);
		html_number(out, v->off);
		html_number(out, v->len);
		html_number(out, lost_in(d, v->off, v->len));
		fputs("</tr>\n", out);
	}
	table_end(out);
}

/* What used= has done with each file system. */
static void
used_table(FILE *out, const struct report_data *d)
{
	static const char *const heads[] = { "File system", "#Used bytes",
		"#Free bytes", "Treated", NULL };
	static const char *const treated[] = {
		[TREATED_USED] = "what is free is left out",
		[TREATED_WHOLE] = "copied whole",
		[TREATED_ORDERED] = "what is free comes last",
	};
	const struct used *u = d->p->used;
	const struct used_fs *fs;
	char name[256];

	if (u == NULL)
		return;
	fputs("<h2>What file systems use</h2>\n", out);
	table_begin(out, "By used=", heads);
	for (fs = u->fs; fs < u->fs + u->n; fs++) {
		fputs("<tr>", out);
		html_cell(out, "%s", used_name(name, sizeof(name), fs));
		html_number(out, fs->used);
		html_number(out, fs->free);
		html_cell(out, "%s%s%s", treated[fs->treated],
		    fs->reason[0] != '\0' ? ": " : "", fs->reason);
		fputs("</tr>\n", out);
	}
	table_end(out);
}

/* Whether there is anything to say about files: those hit, or a command. */
static bool
tells_of_files(const struct damage_area *a)
{
	return a->files.n > 0 || damage_all_named(a) || a->command != NULL;
}

/* The files that are hit, and a command to find the others. */
static void
damage_files(FILE *out, const struct damage_area *a)
{
	const struct fs_names *f = &a->files;
	size_t i;

	fprintf(out, "%llu bytes in %llu range%s", (ull)a->bytes,
	    (ull)a->ranges, a->ranges == 1 ? "" : "s");
	if (f->n > 0) {
		fprintf(out, "; affected files%s:</p>\n<ul>\n", f->more ?
		    ", and maybe more" : "");
		for (i = 0; i < f->n; i++) {
			fputs("<li>", out);
			escape_markup(out, f->name[i], SIZE_MAX);
			fputs("</li>\n", out);
		}
		fputs("</ul>\n<p>", out);
	}
	if (damage_all_named(a)) {
		fputs(f->n > 0 ? "No other file is affected.</p>\n" :
		    "; no file is affected.</p>\n", out);
		return;
	}
	if (a->command == NULL) {
		fputs("No command is known that names the others.</p>\n", out);
		return;
	}
	fprintf(out, "%s names the files%s:</p>\n<pre>", f->n > 0 ? "This" :
	    "; this", a->more > 0 ? " affected by the first of them" : "");
	escape_markup(out, a->command, SIZE_MAX);
	fputs("</pre>\n", out);
}

/* List the files that are hit. */
static void
damage_list(FILE *out, const struct report_data *d)
{
	const struct damage_area *a;
	bool any = false;
	char lost[160];
	size_t i;

	for (i = 0; d->out != NULL && i < d->out->damage.n; i++) {
		a = &d->out->damage.area[i];
		if (!tells_of_files(a))
			continue;
		if (!any)
			fputs("<h2>Affected files</h2>\n", out);
		any = true;
		fputs("<p>", out);
		if (a->number > 0)
			fprintf(out, "Partition %u, ", a->number);
		damage_files(out, a);
		if (wording_loss(lost, sizeof(lost), &a->loss)[0] != '\0')
			fprintf(out, "<p>According to the file system, %s."
			    "</p>\n", lost);
	}
}

/* --- the run ------------------------------------------------------------ */

static void
digests_table(FILE *out, const struct report_data *d)
{
	const struct hash_sum *sum;
	size_t n, i;

	if (d->out == NULL || d->p->hash == NULL)
		return;
	sum = hash_digests(d->p->hash, &n);
	if (n == 0)
		return;
	fputs("<h2>Digests</h2>\n", out);
	table_begin(out, d->out->tally.lost > 0 ? "Of what was copied, with "
	    "zeros for what could not be read" : "Of what was copied", NULL);
	for (i = 0; i < n; i++)
		html_fact(out, sum[i].name, "%s%s", sum[i].hex[0] != '\0' ?
		    sum[i].hex : "none: not all was copied",
		    sum[i].hex[0] == '\0' || sum[i].expected == NULL ? "" :
		    sum[i].differs ? ", NOT as expected" :
		    hash_packed(&sum[i]) ? "; the packed bytes are as "
		    "expected" :
		    ", as expected");
	table_end(out);
}

static const char *
html_when(char text[40], const struct timespec *t)
{
	struct tm tm;

	localtime_r(&t->tv_sec, &tm);
	strftime(text, 40, "%Y-%m-%d %H:%M:%S %z", &tm);
	return text;
}

/*
 * Print an operand so that it can be typed again: the value is quoted for a
 * shell.
 */
static void
html_operand(FILE *out, const char *arg)
{
	size_t n = strspn(arg, "abcdefghijklmnopqrstuvwxyz");
	char *word;

	n = arg[n] == '=' ? n + 1 : 0;
	n += arg[n] == '-';		/* an option */
	n += arg[n] == '-';
	fprintf(out, " %.*s", (int)n, arg);
	if (arg[n] == '\0')
		return;
	word = shell_word(arg + n);
	escape_markup(out, word != NULL ? word : "...", CELL_MOST);
	free(word);
}

static void
command_row(FILE *out, const struct opts *o)
{
	int i;

	fputs("<tr><th scope=\"row\">Command</th><td><code>pardd", out);
	for (i = 1; i < o->argc; i++)
		html_operand(out, o->argv[i]);
	fputs("</code></td></tr>\n", out);
}

static void
run_table(FILE *out, const struct report_data *d)
{
	const struct outcome *o = d->out;
	struct utsname host;
	char text[40];

	table_begin(out, "The run", NULL);
	command_row(out, d->p->opts);
	html_fact(out, "Program", "pardd %s", PARDD_VERSION);
	if (uname(&host) == 0)
		html_fact(out, "Host", "%s, %s %s, %s", host.nodename,
		    host.sysname, host.release, host.machine);
	html_fact(out, "Begun", "%s", html_when(text, &d->started));
	html_fact(out, o != NULL ? "Ended" : "As of", "%s",
	    html_when(text, &d->now));
	html_fact(out, "Seconds", "%.3f", o != NULL ? o->tally.seconds :
	    d->seconds);
	if (o != NULL) {
		html_fact(out, "Exit status", "%d", o->status);
		html_fact(out, "Bytes read", "%llu", (ull)o->tally.read);
		html_fact(out, "Bytes written", "%llu", (ull)o->tally.written);
		if (o->tally.verified > 0)
			html_fact(out, "Bytes verified", "%llu",
			    (ull)o->tally.verified);
		if (o->fault.status != 0)
			html_fact(out, "Error", "%s", o->fault.text);
	}
	table_end(out);
}

static void
notes_list(FILE *out, const struct opts *o)
{
	unsigned i;

	if (o->notes == 0)
		return;
	fputs("<h2>Notes</h2>\n<ul>\n", out);
	for (i = 0; i < o->notes; i++) {
		fputs("<li>", out);
		escape_note(out, o->note_text[i]);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

/* --- the page ----------------------------------------------------------- */

static void
html_head(FILE *out, const struct report_data *d)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	    "<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
	    "content=\"width=device-width, initial-scale=1\">\n<title>pardd: ",
	    out);
	escape_markup(out, d->p->src->name, 60);
	fputs(" to ", out);
	escape_markup(out, d->p->dst->name, 60);
	fputs("</title>\n", out);
	report_put_samples(out, d);
	fputs("<style>\n"
	    "body { font: 15px/1.4 sans-serif; color: #111; background: #fff; "
	    "max-width: 52em; margin: 1.5em auto; padding: 0 1em; }\n"
	    "h1 { font-size: 1.5em; overflow-wrap: anywhere; }\n"
	    "h2 { font-size: 1.15em; margin-top: 1.8em; }\n"
	    ".verdict { border: 2px solid #111; border-left-width: 12px; "
	    "padding: .5em .8em; font-weight: bold; overflow-wrap: anywhere; "
	    "}\n"
	    ".good { border-color: #2a7a35; } .ill { border-color: #a80f2a; "
	    "}\n"
	    "svg { max-width: 100%; height: auto; } svg text { font: 11px "
	    "sans-serif; }\n"
	    "table { border-collapse: collapse; margin: .8em 0; }\n"
	    "caption { text-align: left; font-weight: bold; padding: .2em 0; "
	    "}\n"
	    "th, td { border: 1px solid #bbb; padding: .15em .6em; text-align: "
	    "left; vertical-align: top; overflow-wrap: anywhere; }\n"
	    "th { background: #f2f2f2; font-weight: normal; white-space: "
	    "nowrap; }\n"
	    ".n { text-align: right; font-variant-numeric: tabular-nums; "
	    "white-space: nowrap; }\n"
	    "code, pre { font: 13px monospace; overflow-wrap: anywhere; "
	    "white-space: pre-wrap; }\n"
	    "@media screen and (max-width: 40em) { table { display: block; "
	    "overflow-x: auto; } }\n"
	    "@media screen and (prefers-color-scheme: dark) { body { color: "
	    "#ddd; background: #16181d; } .verdict { color: #fff; } th { "
	    "background: #262a33; } th, td { border-color: #555; } svg { "
	    "background: #fff; padding: .4em; } }\n"
	    "@media print { body { margin: 0; max-width: none; } svg, table { "
	    "break-inside: auto; } h2 { break-after: avoid; } }\n"
	    "</style>\n</head>\n", out);
}

void
report_html(FILE *out, const struct report_data *d)
{
	struct fault verdict;
	unsigned i;

	report_verdict(&verdict, d);
	html_head(out, d);
	fputs("<body>\n<h1>", out);
	escape_markup(out, d->p->src->name, CELL_MOST);
	fputs(" to ", out);
	escape_markup(out, d->p->dst->name, CELL_MOST);
	fprintf(out, "</h1>\n<p class=\"verdict%s\">", d->out == NULL ? "" :
	    verdict.status == 0 ? " good" : " ill");
	escape_markup(out, verdict.text, sizeof(verdict.text));
	fputs("</p>\n", out);
	notes_list(out, d->p->opts);
	fputs("<h2>Map</h2>\n", out);
	report_draw_map(out, d);
	totals_table(out, d);
	if (d->samples > 1) {
		fputs("<h2>Progress</h2>\n", out);
		report_draw_progress(out, d);
	}
	volumes_table(out, d);
	used_table(out, d);
	damage_list(out, d);
	ranges_table(out, d);
	for (i = 0; d->out != NULL && i < d->out->targets; i++)
		differ_table(out, d, &d->out->target[i].differ);
	digests_table(out, d);
	fputs("<h2>Ends</h2>\n", out);
	end_table(out, d, false);
	end_table(out, d, true);
	fputs("<h2>Run</h2>\n", out);
	run_table(out, d);
	fputs("</body>\n</html>\n", out);
}
