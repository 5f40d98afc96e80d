/*
 * The plan for people, as shown by -d and --ask: a page for a terminal of 24
 * lines and 80 columns or less.  It has the ends, what lies on them, a picture
 * of both to one scale, how the copy is made, and remarks.
 *
 * Text from outside is escaped before it is measured; a long name keeps its
 * end, where names differ.  Lists are as long as the page allows.
 */
#include "report/report.h"

#include <bsd/string.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/number.h"
#include "base/print.h"
#include "base/status.h"
#include "copy/ranges.h"
#include "page.h"
#include "part/clone_table.h"
#include "part/parts.h"
#include "part/remarks.h"
#include "part/used.h"
#include "plan/safety.h"
#include "report_next.h"

enum {
	REMARK = 4096,		/* bytes */
	NAME = 60,		/* columns of a name */
	PAGE_LINES = 23,	/* of the page; the question is one more */
	NARROWEST = 40,		/* columns that are always used */
	ANSWER = 16,
	ROW_NAME = 20,		/* columns in the table of targets */
	ROW_ID = 24,
	LOSSES = WIDTH - INDENT - ROW_NAME - ROW_ID - 14,
};

/* The page ends with itself (-d), or is followed by the question (--ask). */
enum page_end { SHOWN, ASKED };

/* --- an end in words ---------------------------------------------------- */

static void
end_put(const struct sheet *s, const char *heading, const struct endpoint *ep)
{
	char name[NAME + 4], what[512];

	page_told(s, heading, "%s%s", ep->lim.within,
	    wording_name(name, sizeof(name), ep, NAME));
	page_told(s, "", "%s", wording_end(what, sizeof(what), ep));
}

/* --- how ---------------------------------------------------------------- */

/* The range: "500 GB, bytes 0 to 499999999999, to bytes ... of the target" */
static void
what_put(const struct sheet *s, const struct plan *p)
{
	char size[32], from[64] = "", to[64] = "";
	const char *verb = p->work == WORK_COMPARE ? "Compare" :
	    p->work == WORK_CHECK ? "Check" : "Copy";

	if (!p->bounded) {
		page_told(s, verb, "all up to the end of the source, from its "
		    "byte %llu to byte %llu of the target", (ull)p->src_off,
		    (ull)p->dst_off);
		return;
	}
	if (p->length > 0) {
		snprintf(from, sizeof(from), "bytes %llu to %llu",
		    (ull)p->src_off, (ull)(p->src_off + p->length - 1));
		snprintf(to, sizeof(to), "%llu", (ull)p->dst_off);
	}
	number_si(size, sizeof(size), (double)p->length);
	if (p->length == 0)
		page_told(s, verb, "nothing: 0 bytes");
	else if (p->dst->kind == END_DISCARD || p->work == WORK_CHECK)
		page_told(s, verb, "%s: %s of the source", size, from);
	else
		page_told(s, verb, "%s: %s of the source, %s byte %s of the "
		    "target", size, from, p->work == WORK_COMPARE ? "with" :
		    "to", to);
}

static const char *
done_with(const struct plan *p)
{
	return p->work == WORK_COMPARE ? "compared" :
	    p->work == WORK_CHECK ? "checked" : "copied";
}

/* How much is read with iflag=bitmap: or since:. */
static void
changed_put(const struct sheet *s, const struct plan *p)
{
	uint64_t same = ranges_unchanged(p);
	char size[32];

	if (opts_changed(p->opts))
		page_told(s, "Changed",
		    "%s, %s %s: the target has the rest, as %s says, "
		    "and it is not read", number_si(size, sizeof(size),
		    (double)(p->length - same)), p->opts->bitmap != NULL ?
		    "by bitmap" : "since", p->opts->bitmap != NULL ?
		    p->opts->bitmap : p->opts->since, p->opts->base);
}

/*
 * Tell of "2 ext4 "root" 137 MB of 2.1 GB", "vg0/root ext4 ...", or why it is
 * copied as a whole; without a list on a line, below what it lies in.
 */
static void
used_level(const struct sheet *s, struct list *l, const struct used *u,
    const struct used_fs *fs)
{
	char used[32], length[32], name[160] = "", number[280] = "", text[800];
	const struct used_fs *up = fs;
	int deep = 0;

	for (; up->within > 0; up = &u->fs[up->within - 1])
		deep += 2;
	if (fs->label[0] != '\0')
		snprintf(name, sizeof(name), " \"%s\"", fs->label);
	if (fs->volume[0] != '\0')
		snprintf(number, sizeof(number), "%s ", fs->volume);
	else if (fs->partition > 0)
		snprintf(number, sizeof(number), "%u ", fs->partition);
	number_si(length, sizeof(length), (double)fs->length);
	if (fs->treated == TREATED_WHOLE)
		snprintf(text, sizeof(text), "%s%s%s whole: %s", number,
		    fs->type[0] != '\0' ? fs->type : "unknown", name,
		    fs->reason);
	else
		snprintf(text, sizeof(text), "%s%s%s %s of %s", number,
		    fs->type, name, number_si(used, sizeof(used),
		    (double)fs->used), length);
	if (l != NULL)
		list_item(l, "%s", text);
	else
		page_told(s, "", "%*s%s", deep, "", text);
}

enum { LEVELS = 8 };		/* more are on the list */

/* What file systems use. */
static void
used_put(const struct sheet *s, const struct plan *p)
{
	struct list l = list_of(s);
	const struct used *u = p->used;
	char size[32], whose[80];
	bool stacked = false;
	size_t i, n;

	if (u == NULL)
		return;
	for (i = 0; i < u->n; i++)
		stacked |= u->fs[i].within > 0 && u->n <= LEVELS;
	page_told(s, "Used",
	    "%s %s %s%s", u->leaves ?
	    "without" : p->opts->used != 0 ? "first, and last" : "all but",
	    number_si(size, sizeof(size), (double)u->bytes_free),
	    p->opts->bmap != NULL ? "that the block map leaves out" :
	    used_whose(whose, sizeof(whose), u), u->bytes_free == 0 ||
	    !u->leaves || p->work == WORK_COMPARE ? "" : u->clears ?
	    ", which become zeros" : ", where the target stays as it was");
	n = u->n;
	for (i = 0; i < 2 * n; i++)		/* those copied as a whole come
						 * first, or all in order */
		if (stacked ? i < n :
		    (u->fs[i % n].treated == TREATED_WHOLE) == (i < n))
			used_level(s, stacked ? NULL : &l, u, &u->fs[i % n]);
	list_put(s, "", &l);
}

/* What happens after the copy. */
static void
after_text(char *text, size_t room, const struct plan *p)
{
	const struct opts *o = p->opts;

	snprintf(text, room, "%s%s%s%s", p->work == WORK_COMPARE ||
	    p->work == WORK_CHECK ? "nothing is written" :
	    o->sync != 0 ? "then flushed" : "NOT flushed (sync=0)",
	    p->verify != 0 ? ", read back (verify=" : "",
	    p->verify != 0 ? opts_word("verify", p->verify) : "",
	    p->verify == 0 ? "" : p->verify != o->verify ? ", as it is "
	    "removable; 0: do not)" : ")");
}

static void
how_put(const struct sheet *s, const struct plan *p)
{
	char piece[32], rate[32], limit[64] = "at full speed", after[96];
	const struct opts *o = p->opts;

	if (o->rate > 0)
		snprintf(limit, sizeof(limit), "at no more than %s/s",
		    number_si(rate, sizeof(rate), (double)o->rate));
	number_iec(piece, sizeof(piece), (double)p->chunk);
	after_text(after, sizeof(after), p);
	if (p->queues > 0)
		page_told(s, "How", "%s, %u pieces of %s at a time (io_uring), "
		    "%s", limit, p->slots * p->queues, piece, after);
	else
		page_told(s, "How", "%s, %u thread%s with pieces of %s, %s",
		    limit, p->workers, p->workers == 1 ? "" : "s", piece,
		    after);
}

static void
errors_put(const struct sheet *s, const struct plan *p)
{
	const struct opts *o = p->opts;

	if (!endpoint_holds(p->src))
		return;
	if (p->src->decoded != NULL && p->src->is.streamed) {
		page_told(s, "", "the first block that cannot be read or "
		    "unpacked stops it; it cannot be resumed");
		return;
	}
	if (p->work == WORK_RESCUE)
		page_told(s, "", "what cannot be read is tried again later, "
		    "and recorded in the map");
	else if (p->work != WORK_COPY)
		page_told(s, "", o->coe != 0 ?
		    "a block that cannot be read is listed" :
		    "the first unreadable block stops it (coe=1 continues)");
	else if (o->coe != 0)
		page_told(s, "", "a block that cannot be read becomes zeros, "
		    "and is listed");
	else
		page_told(s, "", p->dst->is.streamed ? "the first unreadable "
		    "block stops it (coe=1 continues)" : "the first unreadable "
		    "block stops it (coe=1 continues, map= rescues)");
}

static void
known_put(const struct sheet *s, const struct plan *p,
    const struct map_totals *t)
{
	char done[32], todo[32], bad[32];
	const char *map = p->opts->map;

	if (t == NULL)
		return;
	page_told(s, "Map",
	    "%.*s: %s finished, %s to do, %s bad in %llu range%s",
	    NAME, map, number_si(done, sizeof(done), (double)t->finished),
	    number_si(todo, sizeof(todo), (double)(t->untried + t->failed)),
	    number_si(bad, sizeof(bad), (double)t->bad), (ull)t->bad_ranges,
	    t->bad_ranges == 1 ? "" : "s");
	if (t->untried + t->failed == 0 && t->bad > 0 && p->opts->retries <= 0)
		page_told(s, "", "nothing is left to do, but retries= tries "
		    "the bad parts again");
}

/* Where it can be read meanwhile. */
static void
view_put(const struct sheet *s, const struct plan *p)
{
	if (p->opts->view != NULL)
		page_told(s, "View", "%.*s shows it meanwhile; %s", NAME,
		    p->opts->view, (p->opts->rescue & RESCUE_ONDEMAND) != 0 ?
		    "nothing is read but what is asked for there" :
		    "what is asked for there is read first");
}

/* The other operands, as they were given. */
static void
given_put(const struct sheet *s, const struct plan *p)
{
	static const char told[] = REPORT_TOLD "coe compare check map view "
	    "rate ";
	char text[REMARK / 4] = "";
	const char *word;
	size_t n;
	int at = 0;

	while ((word = report_given(p, &at, told)) != NULL) {
		n = strlen(text);
		snprintf(text + n, sizeof(text) - n, strlen(word) > NAME ?
		    "%s%.*s..." : "%s%.*s", n > 0 ? ", " : "", NAME, word);
	}
	if (text[0] != '\0')
		page_told(s, "With", "%s", text);
}

/* --- remarks ------------------------------------------------------------ */

static void
odd_put(const struct sheet *s, const struct span *at, const char *what)
{
	char from[96], to[96];

	if (at->odd)
		page_told(s, "Note", "on the %s it begins %s and ends %s", what,
		    report_border(from, sizeof(from), &at->from, true),
		    report_border(to, sizeof(to), &at->to, false));
}

static void
busy_put(const struct sheet *s, const struct plan *p)
{
	char name[NAME_MAX + 1];
	struct usage use;

	if (safety_source_busy(p, &use, name, sizeof(name)))
		page_told(s, "Note", "%s is mounted read-write on %.*s: what "
		    "changes meanwhile may be copied in part%s", name, NAME,
		    use.by, p->work == WORK_RESCUE ? "; unmount a failing "
		    "disk, and keep the map off it" : "");
}

/* What table= makes. */
static void
table_put(const struct sheet *s, const struct plan *p)
{
	const struct clone_table *t = p->table;

	if (t == NULL)
		return;
	if (t->n == 0)
		page_told(s, "Table", "that of the source fits as it is");
	else if (strcmp(t->kind, "GPT") == 0)
		page_told(s, "Table", "GPT%s, its backup in the last sectors "
		    "of %.*s, in sectors of %u bytes", (p->opts->table &
		    TABLE_WORD_NEW) != 0 ? " with new GUIDs" : "", NAME,
		    p->dst->name, t->sector);
	else
		page_told(s, "Table", "MBR%s, in sectors of %u bytes",
		    (p->opts->table & TABLE_WORD_NEW) != 0 ?
		    " with a new signature" : "", t->sector);
	if (t->unmountable[0] != '\0')
		page_told(s, "Note", "file systems made for smaller sectors "
		    "cannot be mounted from %.*s: partition %s", NAME,
		    p->dst->name, t->unmountable);
}

/* What rest= clears. */
static void
rest_put(const struct sheet *s, const struct plan *p)
{
	uint64_t rest = p->opts->rest != 0 ? plan_rest(p) : 0;
	char si[32];

	if (rest > 0)
		page_told(s, "Rest", "%s of %.*s behind the copy: zeroed%s",
		    number_si(si, sizeof(si), (double)rest), NAME,
		    p->dst->name, (p->opts->rest & REST_TRIM) != 0 ?
		    ", and the blocks freed" : "");
}

static void
remarks_put(const struct sheet *s, const struct plan *p)
{
	const char *disk = report_disk_name(p->dst);
	char text[REMARK / 4];
	unsigned n;

	for (n = 0; report_remark(p, n, text, sizeof(text)); n++)
		page_told(s, "Note", "%s", text);
	odd_put(s, &p->found->src, "source");
	odd_put(s, &p->found->dst, "target");
	if (p->found->backup_astray)
		page_told(s, "Note", "the backup GPT will not be at the end "
		    "of the disk, where table=fix puts it; or afterwards: %s%s",
		    report_gpt_tool(p), strlen(disk) <= NAME ? disk : "DISK");
	if (p->found->table_sector > 0)
		page_told(s, "Note", "the partition table counts in sectors of "
		    "%u bytes, and the target has %u: its partitions will not "
		    "be found; table=fix converts it", p->found->table_sector,
		    p->dst->geo.block);
}

/* --- several targets ---------------------------------------------------- */

/* Add what lies on one target, and will be lost. */
static void
list_losses(struct list *l, const struct plan *p)
{
	const struct remarks *found = p->found;
	size_t i;

	for (i = 0; found != NULL && i < found->signs; i++)
		list_item(l,
		    found->sign[i].label[0] != '\0' ? "%s \"%s\"" : "%s",
		    found->sign[i].type, found->sign[i].label);
}

/* A row of the table. */
static void
row_put(const struct sheet *s, const struct plan *p)
{
	const struct endpoint *ep = p->dst;
	char name[ROW_NAME + 1], id[ROW_ID + 1], size[32] = "", what[256];
	char line[4 * 256], row[512];
	struct list lost = { .most = LOSSES };

	list_losses(&lost, p);
	if (lost.left_out > 0)
		snprintf(lost.text + lost.at, sizeof(lost.text) - lost.at,
		    " ...");
	wording_name(name, sizeof(name), ep, ROW_NAME);
	if (ep->geo.size >= 0 && endpoint_holds(ep))
		number_si(size, sizeof(size), (double)ep->geo.size -
		    (ep->lim.part > 0 ? (double)ep->lim.base : 0));
	strlcpy(id, wording_who(what, sizeof(what), ep), sizeof(id));
	snprintf(what, sizeof(what), "%-*s %8s  %-*s  ", ROW_NAME, name, size,
	    ROW_ID, id);
	escape_line(line, what);
	snprintf(row, sizeof(row), "%.*s%s", 2 * WIDTH - 1, line,
	    ep->is.absent ? "to be created" : lost.text);
	page_row(s, row);
}

/* A target and what it loses, if the table does not fit. */
static void
target_put(const struct sheet *s, const struct plan *p)
{
	char name[NAME + 4], what[256];
	struct list lost = list_of(s);

	list_losses(&lost, p);
	wording_name(name, sizeof(name), p->dst, NAME);
	wording_brief(what, sizeof(what), p->dst);
	page_told(s, "", "%s%s%s", name, what, p->dst->is.absent ?
	    ", to be created" : "");
	list_put(s, PAGE_LOST " ", &lost);
}

static void
targets_put(const struct sheet *s, const struct plan *p)
{
	const struct plan *one;
	unsigned i;

	page_told(s, "Targets", "%u, all at the speed of the slowest:",
	    p->targets);
	if (s->width == WIDTH)
		fprintf(s->out, "%*s%-*s %8s  %-*s  %s\n", INDENT, "",
		    ROW_NAME, "name", "size", ROW_ID, "model, serial",
		    "will be lost");
	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		if (s->width == WIDTH)
			row_put(s, one);
		else
			target_put(s, one);
}

/* --- the page ----------------------------------------------------------- */

static void
plan_page_compose(const struct sheet *s, const struct plan *p,
    const struct map_totals *known, const struct surface *src,
    const struct surface *dst, enum page_end end)
{
	bool begun = known != NULL && known->finished > 0;
	bool writes = p->work == WORK_COPY || (p->work == WORK_RESCUE &&
	    !begun);
	const struct plan *one;
	unsigned i;

	what_put(s, p);
	changed_put(s, p);
	used_put(s, p);
	end_put(s, "Source", p->src);
	surface_holds(s, src);
	if (p->work == WORK_RESCUE && src->size > 0)
		page_wrap(s, "", "not searched for partitions, in case it is "
		    "failing");
	if (p->targets > 1) {
		targets_put(s, p);
	} else {
		end_put(s, "Target", p->dst);
		surface_loses(s, dst, writes);
		surface_picture(s, done_with(p), src, dst);
	}
	fputc('\n', s->out);
	how_put(s, p);
	errors_put(s, p);
	known_put(s, p, known);
	view_put(s, p);
	given_put(s, p);
	for (i = 0; (one = plan_each(p, i)) != NULL; i++) {
		table_put(s, one);
		rest_put(s, one);
	}
	busy_put(s, p);
	for (i = 0; (one = plan_each(p, i)) != NULL; i++)
		if (one->found != NULL)
			remarks_put(s, one);
	if (end == SHOWN)
		page_wrap(s, "Now", "nothing has been written; leave out -d to "
		    "do it, -dv shows more");
}

static size_t
lines_of(const char *text)
{
	size_t n = 0;

	for (; (text = strchr(text, '\n')) != NULL; text++)
		n++;
	return n;
}

/* The columns of the terminal, if there is one. */
static size_t
width_of(struct screen on)
{
	return on.columns == 0 || on.columns > WIDTH ? WIDTH :
	    on.columns > NARROWEST ? on.columns - 1 : NARROWEST - 1;
}

/* The page, shortened until it fits; malloc'ed, NULL without memory. */
static char *
plan_page_shortened(const struct plan *p, const struct map_totals *known,
    struct screen on, enum page_end end)
{
	size_t lines = on.rows > PAGE_LINES ? on.rows - 1 : PAGE_LINES, len;
	struct sheet s = { .width = width_of(on), .brief = WHOLE };
	struct surface src, dst;
	char *text = NULL;

	surface_look(&src, p, p->src);
	surface_look(&dst, p, p->dst);
	dst.becomes = p->table != NULL ? &src.table : NULL;
	for (; s.brief <= NO_PICTURE; s.brief++) {
		free(text);
		text = NULL;
		s.out = open_memstream(&text, &len);
		if (s.out == NULL)
			break;
		plan_page_compose(&s, p, known, &src, &dst, end);
		if (!print_close(s.out, &text) ||
		    lines_of(text) + (end == ASKED) <= lines)
			break;
	}
	surface_free(&src);
	surface_free(&dst);
	return text;
}

/* Print a line of the page, which is already escaped; a warning may be red. */
static void
line_put(FILE *out, const char *line, bool coloured)
{
	const size_t n = sizeof(PAGE_LOST) - 1;

	if (coloured && strlen(line) > INDENT &&
	    strncmp(line + INDENT, PAGE_LOST, n) == 0)
		fprintf(out, "%*s" PRINT_RED PAGE_LOST PRINT_PLAIN "%s\n",
		    INDENT, "", line + INDENT + n);
	else
		print(out, "%s", line);
}

static int
page_put(FILE *out, const struct plan *p, const struct map_totals *known,
    enum page_end end, struct fault *f)
{
	char *text = plan_page_shortened(p, known, print_screen(out), end);
	char *rest = text, *line;
	bool coloured = report_coloured(p->opts, out);

	if (text == NULL)
		return fault_errno(f, ENOMEM, "the plan");
	while ((line = strsep(&rest, "\n")) != NULL && rest != NULL)
		line_put(out, line, coloured);
	free(text);
	return 0;
}

int
report_page(FILE *out, const struct plan *p, const struct map_totals *known,
    struct fault *f)
{
	return page_put(out, p, known, SHOWN, f);
}

/* --- the question ------------------------------------------------------- */

/*
 * The question: "Overwrite /dev/sdb, Samsung SSD 870, 2.0 TB, serial S5Y1?
 * yes/no: "
 */
static void
plan_page_question(FILE *tty, const struct plan *p,
    const struct map_totals *known)
{
	bool begun = known != NULL && known->finished > 0;
	bool writes = (p->work == WORK_COPY || p->work == WORK_RESCUE) &&
	    p->dst->kind != END_DISCARD;
	char name[NAME + 4], what[256], line[4 * 512];
	char *end;

	if (!writes) {
		fputs("Begin? yes/no: ", tty);
		return;
	}
	if (p->targets > 1) {
		fprintf(tty, "Write to all %u targets? yes/no: ", p->targets);
		return;
	}
	wording_name(name, sizeof(name), p->dst, NAME);
	wording_brief(what, sizeof(what), p->dst);
	end = escape_line(line, p->dst->lim.within);
	end = escape_line(end, name);
	escape_line(end, what);
	fprintf(tty, "%s %s? yes/no: ", begun ? "Continue writing to" :
	    p->dst->is.absent ? "Create" :
	    endpoint_holds(p->dst) && !p->dst->is.piped ? "Overwrite" :
	    "Write to", line);
}

bool
report_ask(const struct plan *p, const struct map_totals *known,
    struct fault *f)
{
	FILE *tty = fopen("/dev/tty", "r+e");
	char answer[ANSWER] = "";

	if (tty == NULL) {
		fault_set(f, STATUS_REFUSED,
		    "--ask: there is no terminal to ask on");
		return false;
	}
	if (page_put(tty, p, known, ASKED, f) != 0) {
		fclose(tty);
		return false;
	}
	plan_page_question(tty, p, known);
	fflush(tty);
	if (fgets(answer, sizeof(answer), tty) == NULL)
		answer[0] = '\0';
	fclose(tty);
	if (strcmp(answer, "yes\n") == 0)
		return true;
	fault_set(f, STATUS_REFUSED, "the answer was not yes%s", p->opts->ask ?
	    "" : "; force=odd does not ask");
	return false;
}
