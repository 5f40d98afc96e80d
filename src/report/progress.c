/*
 * The live line: names, bytes, per cent, rates, times, unreadable data, an end
 * that does not answer, and the phase.  On a terminal it is redrawn four times
 * a second; elsewhere, on request, a line without names is printed every so
 * many seconds.
 *
 * It consists of parts, some with a shorter form.  The least important ones are
 * left out until it is shorter than the terminal, because a line that wraps
 * cannot be redrawn.  The width is queried each time.  If a terminal was made
 * narrower, and has wrapped the last line itself, its first row stays there,
 * because it might be someone else's.
 *
 * status=map puts a second line with the map below it.  The cursor stays in the
 * first line, so that other output begins there.
 *
 * Bytes are those that the target has taken, in a rescue including earlier
 * runs, which do not count for the rate.  The rate covers the last samples,
 * about eight seconds, so that a disk that slows down is noticed.  With verify=
 * per cent and time left are those of both passes, as if they were as fast.
 */
#include "report/report.h"

#include <bsd/string.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/number.h"
#include "base/path.h"
#include "base/print.h"
#include "open/tee.h"

/* --- a map as cells ------------------------------------------------------ */

/*
 * The order of statuses, from irrelevant to lost: one bad block in a terabyte
 * makes a bad cell.
 */
static unsigned
cell_badness(char status)
{
	static const char order[] = { OUTSIDE, FINISHED, UNTRIED, CLAIMED,
		UNTRIMMED, UNSCRAPED, BAD };
	const char *at = memchr(order, status, sizeof(order));

	return at != NULL ? (unsigned)(at - order) + 1 : 0;
}

void
cells_fill(char *cell, size_t n, const struct seg *seg, size_t n_seg,
    uint64_t length)
{
	size_t i, at, last;

	memset(cell, 0, n);
	for (i = 0; i < n_seg; i++) {
		const struct seg *s = &seg[i];

		if (s->len == 0 || s->off >= length)
			continue;
		last = number_part(s->off + s->len - 1, n, length);
		if (length < n)		/* up to where the next byte begins */
			last = number_part(s->off + s->len, n, length) - 1;
		for (at = number_part(s->off, n, length); at <= last && at < n;
		    at++)
			if (cell_badness((char)s->status) >
			    cell_badness(cell[at]))
				cell[at] = (char)s->status;
	}
	for (at = 0; at < n; at++)
		if (cell[at] == 0)
			cell[at] = UNTRIED;
}

enum {
	LINE = 256,		/* enough for all pieces in flight */
	NAME = 20,		/* characters of a name shown in full */
	PART = 8 * NAME + 40,	/* bytes of one part */
	HOURS_MOST = 100,	/* beyond this, no exact time is shown */
	MARKS_MOST = 2048,	/* enough for all pieces in flight */
};

static const double live_interval = 0.25, usual_interval = 10;	/* seconds */
static const double map_interval = 1;

/* in the order of the line */
enum progress_part {
	NAMES, BYTES, PERCENT, RATE, MEAN, ELAPSED, LEFT, AGAIN, LOST,
	DIFFERS, SILENCE, READER, PHASE, PARTS
};

struct progress_parts {
	char	text[PARTS][PART];	/* what is shown; empty: nothing */
	char	less[PARTS][PART];	/* a shorter form, or empty: there is
					 * none */
};

void
progress_begin(struct progress *pr, const struct plan *p, const struct tally *t)
{
	const struct opts *o = p->opts;
	bool wanted = (o->status & (SHOW_PROGRESS | SHOW_MAP)) != 0;

	*pr = (struct progress){ .p = p, .how = NO_LINE, .samples = 1 };
	pr->sample[0].seconds = t->seconds;
	pr->sample[0].bytes = (double)t->passed;
	if ((o->status & SHOW_NONE) != 0 || o->progress == 0)
		return;
	if ((wanted || o->status == 0) && isatty(STDERR_FILENO) != 0)
		pr->how = LIVE_LINE;
	else if (wanted || o->progress > 0)
		pr->how = LINES;
	pr->interval = pr->how == LIVE_LINE ? live_interval :
	    o->progress > 0 ? (double)o->progress : usual_interval;
	pr->next = t->seconds + pr->interval;
}

int
progress_wait(const struct progress *pr, double seconds)
{
	if (pr->how == NO_LINE)
		return -1;
	return seconds >= pr->next ? 0 : (int)((pr->next - seconds) * 1e3) + 1;
}

/* Bytes per second; sample 0 is the start. */
static double
progress_rate(struct progress *pr, const struct tally *t)
{
	unsigned most = pr->how == LINES ? 1 : PROGRESS_SAMPLES - 1;
	unsigned back = pr->samples < most ? pr->samples : most;
	unsigned last = pr->samples % PROGRESS_SAMPLES;
	unsigned first = (pr->samples - back) % PROGRESS_SAMPLES;
	double span;

	pr->sample[last].seconds = t->seconds;
	pr->sample[last].bytes = (double)t->passed;
	pr->samples++;
	span = pr->sample[last].seconds - pr->sample[first].seconds;
	if (span <= 0)
		return 0;
	return (pr->sample[last].bytes - pr->sample[first].bytes) / span;
}

static void
progress_duration(char *to, double seconds, const char *what)
{
	unsigned long s = (unsigned long)seconds;

	if (s >= 3600)
		snprintf(to, PART, "%lu:%02lu:%02lu%s", s / 3600, s / 60 % 60,
		    s % 60, what);
	else
		snprintf(to, PART, "%lu:%02lu%s", s / 60, s % 60, what);
}

/* Nothing if it would be wrong: too early, or no progress. */
static void
time_left(char *to, const struct tally *t, double bytes, double r)
{
	double seconds = r > 0 ? bytes / r : 0;

	if (r <= 0 || t->seconds < 1) {
		snprintf(to, PART, "time left unknown");
		return;
	}
	if (seconds >= HOURS_MOST * 3600.0) {
		snprintf(to, PART, "more than %d h left", HOURS_MOST);
		return;
	}
	progress_duration(to, seconds + 0.5, " left");
}

/* "1.2 of 4.0 GB"; the short form lacks the total. */
static void
tally_done(const struct tally *t, struct progress_parts *parts)
{
	char si[32], whole[32], *unit, *of;

	number_si(si, sizeof(si), (double)t->passed);
	strlcpy(parts->text[BYTES], si, PART);
	if (t->whole == 0 || t->guessed)
		return;
	strlcpy(parts->less[BYTES], si, PART);
	number_si(whole, sizeof(whole), (double)t->whole);
	unit = strchr(si, ' ');
	of = strchr(whole, ' ');
	if (unit != NULL && of != NULL && strcmp(unit, of) == 0)
		*unit = '\0';
	snprintf(parts->text[BYTES], PART, "%s of %s", si, whole);
}

/*
 * A printable name: the last part of a long one, or empty if that is long too.
 */
static const char *
progress_name(char to[4 * NAME + 1], const struct endpoint *ep, bool whole)
{
	const char *name = ep->name;

	if (!whole || strlen(name) > NAME)
		name = path_base(name);
	escape_line(to, strlen(name) <= NAME ? name : "");
	return to;
}

/* "2 of 3 targets (sdc is slowest)" */
static void
progress_targets(char *to, size_t room, const struct plan *p, bool whole)
{
	unsigned left = tee_left(p->dst);
	char slow[4 * NAME + 1];
	size_t n;

	n = (size_t)(left < p->targets ? snprintf(to, room, "%u of %u targets",
	    left, p->targets) : snprintf(to, room, "%u targets", left));
	progress_name(slow, tee_slowest(p->dst), false);
	if (whole && left > 1 && strlen(slow) <= NAME)
		snprintf(to + n, room - n, " (slowest: %.*s)", NAME, slow);
}

static void
progress_names(char *to, const struct plan *p, bool whole)
{
	char a[4 * NAME + 1], b[4 * NAME + 1];

	progress_name(a, p->src, whole);
	if (p->targets > 1)
		progress_targets(b, sizeof(b), p, whole);
	else
		progress_name(b, p->dst, whole);
	if (a[0] != '\0' && b[0] != '\0')
		snprintf(to, PART, "%s to %s", a, b);
}

/* An end that has not answered for some seconds; then rates mean nothing. */
static void
progress_silence(const struct silence *s, struct progress_parts *parts)
{
	char name[4 * NAME + 1];

	if (s->end == NULL)
		return;
	silence_text(parts->text[SILENCE], PART, s,
	    progress_name(name, s->end, true));
	silence_text(parts->less[SILENCE], PART, s, "");
	parts->text[RATE][0] = parts->text[MEAN][0] = '\0';
	parts->text[LEFT][0] = '\0';
	if (s->flush)
		parts->text[PHASE][0] = '\0';
}

/*
 * The parts that every phase has; 100 % is shown only when everything is done.
 */
static void
progress_state(const struct plan *p, const struct tally *t, bool live,
    struct progress_parts *parts)
{
	char si[32];

	memset(parts, 0, sizeof(*parts));
	if (live) {
		progress_names(parts->text[NAMES], p, true);
		progress_names(parts->less[NAMES], p, false);
	}
	tally_done(t, parts);
	progress_duration(parts->text[ELAPSED], t->seconds, "");
	if (t->whole > 0)
		snprintf(parts->text[PERCENT], PART, "%d %%",
		    (int)(tally_part(t) * 100));
	if (t->phase == PHASE_COPYING || t->phase == PHASE_COMPARING)
		snprintf(parts->text[MEAN], PART, "mean %s/s", number_si(si,
		    sizeof(si), t->seconds > 0 ?
		    (double)(t->passed - t->had) / t->seconds : 0));
	if (t->differing > 0)
		snprintf(parts->text[DIFFERS], PART, "%s differ",
		    number_si(si, sizeof(si), (double)t->differing));
	if (t->again > 0)
		snprintf(parts->text[AGAIN], PART, "%s to be tried again",
		    number_si(si, sizeof(si), (double)t->again));
	if (t->view.waiting > 0)
		snprintf(parts->text[READER], PART, "a reader waits at %s",
		    number_si(si, sizeof(si), (double)(p->src_off +
		    t->view.at)));
	if (t->lost > t->again)
		snprintf(parts->text[LOST], PART, "%s unreadable",
		    number_si(si, sizeof(si), (double)(t->lost - t->again)));
}

static void
progress_compose(struct progress *pr, const struct tally *t,
    struct progress_parts *parts)
{
	const struct plan *p = pr->p;
	char si[32];
	double r = progress_rate(pr, t);
	bool after = t->twice && p->verify != VERIFY_STREAM;

	progress_state(p, t, pr->how == LIVE_LINE, parts);
	strlcpy(parts->text[PHASE], phase_name(t->phase), PART);
	if (after && t->phase != PHASE_FLUSHING)
		strlcat(parts->text[PHASE], t->phase == PHASE_COPYING ?
		    " (1 of 2)" : " (2 of 2)", PART);
	if (t->phase != PHASE_FLUSHING) {
		snprintf(parts->text[RATE], PART, "%s/s",
		    number_si(si, sizeof(si), r));
		if (t->whole > 0)
			time_left(parts->text[LEFT], t, (1 - tally_part(t)) *
			    (double)t->whole * (after ? 2 : 1), r);
	}
	progress_silence(&t->silence, parts);
	if (t->stopping) {
		parts->text[LEFT][0] = '\0';
		snprintf(parts->text[PHASE], PART, "stopping%s", t->phase ==
		    PHASE_FLUSHING && !t->silence.flush ? ", flushing" : "");
	}
}

/* --- the map ------------------------------------------------------------ */

/* Mark where workers read, or where the pass stands. */
static void
mark_claims(char *cell, size_t n, struct map *map, uint64_t length)
{
	struct seg s = { .off = 0 };
	uint64_t at = 0;
	unsigned marks;

	for (marks = 0; marks < MARKS_MOST && map_next(map, at, CLAIMED, &s);
	    marks++, at = s.off + s.len)
		cell[number_part(s.off, n, length)] = '>';
}

/* The map in one line of so many characters; "" if there is none to show. */
static void
map_line(char *line, struct map *map, size_t most)
{
	struct map_totals t = map_totals(map);
	struct seg *seg;
	size_t n = map_copy(map, &seg), i;

	line[0] = '\0';
	if (n > 0 && t.end > 0) {
		cells_fill(line, most, seg, n, t.end);
		for (i = 0; i < most; i++)
			if (line[i] == OUTSIDE)
				line[i] = ' ';
		mark_claims(line, most, map, t.end);
		line[most] = '\0';
	}
	free(seg);
}

/* Draw the map below the live line, and return the cursor to that. */
static void
put_map(struct progress *pr, struct map *map, double seconds, size_t most)
{
	if ((pr->p->opts->status & SHOW_MAP) == 0)
		return;
	if (seconds >= pr->map_next) {
		map_line(pr->map, map, most < sizeof(pr->map) ? most :
		    sizeof(pr->map) - 1);
		pr->map_next = seconds + map_interval;
	}
	print_raw("\n%.*s\033[K\033[A", (int)most, pr->map);
	pr->two = true;
}

/* --- the line ----------------------------------------------------------- */

/* A line as long as the terminal is wide would wrap. */
static size_t
progress_width(const struct progress *pr)
{
	size_t columns;

	if (pr->how == LINES)
		return LINE - 1;
	columns = print_screen(stderr).columns;
	if (columns < 2)
		return 79;
	return columns < LINE ? columns - 1 : LINE - 1;
}

static size_t
progress_length(const struct progress_parts *parts)
{
	size_t n = 0, i;

	for (i = 0; i < PARTS; i++)
		if (parts->text[i][0] != '\0')
			n += (n > 0 ? 2 : 0) + strlen(parts->text[i]);
	return n;
}

/*
 * While the line is too long, leave out the least important part, in this
 * order.  A part that is listed twice is shortened first; "keep" is never left
 * out.
 */
static void
progress_shorten(struct progress_parts *parts, enum progress_part keep,
    size_t most)
{
	static const enum progress_part orders[PARTS][PARTS + 1] = {
		[PERCENT] = { MEAN, NAMES, NAMES, ELAPSED, PHASE, BYTES, RATE,
		    LEFT, BYTES, AGAIN, READER, LOST, DIFFERS },
		[PHASE] = { MEAN, NAMES, NAMES, ELAPSED, BYTES, RATE, LEFT,
		    BYTES, PERCENT, AGAIN, READER, LOST, DIFFERS },
		[SILENCE] = { NAMES, NAMES, ELAPSED, BYTES, BYTES, AGAIN,
		    READER, LOST, DIFFERS, PHASE, SILENCE, PERCENT },
	};
	const enum progress_part *order = orders[keep];
	size_t i;

	for (i = 0; i < PARTS && progress_length(parts) > most; i++) {
		memcpy(parts->text[order[i]], parts->less[order[i]], PART);
		parts->less[order[i]][0] = '\0';
	}
}

/* The part that even the narrowest terminal shows. */
static enum progress_part
first_of_all(const struct tally *t)
{
	if (t->silence.end != NULL)
		return SILENCE;
	return t->phase == PHASE_FLUSHING || t->stopping ? PHASE : PERCENT;
}

static void
progress_join(const struct progress_parts *parts, char *line, size_t most)
{
	bool named = parts->text[NAMES][0] != '\0';
	size_t n = 0, i;

	line[0] = '\0';
	for (i = 0; i < PARTS; i++)
		if (parts->text[i][0] != '\0')
			n += (size_t)snprintf(line + n, LINE - n, "%s%s",
			    n == 0 ? "" : i == BYTES && named ? ": " : ", ",
			    parts->text[i]);
	if (n > most)
		line[most] = '\0';
}

/*
 * A new phase has a rate of its own, from the last line on; its bytes may start
 * from 0.
 */
static void
progress_change(struct progress *pr, const struct tally *t)
{
	double last = pr->sample[(pr->samples - 1) % PROGRESS_SAMPLES].bytes;

	pr->phase = t->phase;
	pr->sample[0].seconds = pr->next - pr->interval;
	pr->sample[0].bytes = (double)t->passed < last ? 0 : last;
	pr->samples = 1;
}

void
progress_draw(struct progress *pr, struct map *map, const struct tally *t)
{
	char line[LINE];
	struct progress_parts parts;
	size_t most;

	if (pr->how == NO_LINE || t->seconds < pr->next)
		return;
	if (t->phase != pr->phase)
		progress_change(pr, t);
	pr->next = t->seconds + pr->interval;
	if (pr->how == LIVE_LINE && print_owned() == 0) {
		pr->drawn = pr->two = false;	/* the line is not ours now */
		return;
	}
	if (!print_room())
		return;
	most = progress_width(pr);
	progress_compose(pr, t, &parts);
	progress_shorten(&parts, first_of_all(t), most);
	progress_join(&parts, line, most);
	if (pr->how == LINES) {
		print_raw("pardd: %s\n", line);
		return;
	}
	print_raw("\r%s\033[K", line);
	put_map(pr, map, t->seconds, most);
	pr->drawn = true;
}

static void
clear_map(struct progress *pr)
{
	if (pr->two)
		print_raw("\n\033[K\033[A");
	pr->two = false;
}

void
progress_clear(struct progress *pr)
{
	if (pr->drawn && print_room()) {
		clear_map(pr);
		print_raw("\r\033[K");
	}
	pr->drawn = false;
}

void
progress_end(struct progress *pr, const struct tally *t)
{
	struct tally end = *t;
	char line[LINE];
	struct progress_parts parts;
	size_t most;

	if (!pr->drawn || !print_room())
		return;
	most = progress_width(pr);
	if (pr->p->work != WORK_COMPARE && pr->p->work != WORK_RESCUE)
		end.passed = t->written + t->spared;
	end.phase = PHASE_COPYING;
	end.twice = false;
	end.other = 0;
	progress_state(pr->p, &end, true, &parts);
	progress_shorten(&parts, PERCENT, most);
	progress_join(&parts, line, most);
	clear_map(pr);
	print_raw("\r%s\033[K\n", line);
	pr->drawn = false;
}
