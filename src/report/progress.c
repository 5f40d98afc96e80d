/*
 * The live line: bytes, per cent, rates, time left, what is unreadable, phase.
 * On a terminal four times a second, drawn over itself; elsewhere, if asked
 * for, a line every so many seconds.
 *
 * It is made of parts, and those that matter least are left out until the rest
 * is shorter than the terminal is wide: a line that wraps cannot be drawn over.
 * The width is asked for each time.  Where a narrower terminal has wrapped the
 * last line by itself, its first row stays; it may be somebody else's.
 *
 * Bytes are those the target has taken; in a rescue also those of runs before,
 * of which the rates know nothing.  The rate is that of the last samples, some
 * eight seconds, so that a disk that slows down shows.
 */
#include "report/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "base/say.h"

enum {
	LINE = 256,		/* bytes */
	PART = 48,		/* bytes, of one of its parts */
	HOURS_MOST = 100,	/* more are not told exactly */
};

static const double live_interval = 0.25, usual_interval = 10;	/* seconds */

/* In the order of the line. */
enum part {
	BYTES, PERCENT, RATE, MEAN, LEFT, LOST, DIFFERS, PHASE, PARTS
};

struct parts {
	char	text[PARTS][PART];	/* empty: not there */
};

void
progress_begin(struct progress *pr, const struct plan *p,
    const struct tally *t)
{
	const struct opts *o = p->opts;
	bool wanted = (o->status & SHOW_PROGRESS) != 0;

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

/* Bytes a second; sample 0 is the start. */
static double
rate(struct progress *pr, const struct tally *t)
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

/* Unknown rather than wrong: too early, or nothing goes on. */
static void
time_left(char *to, const struct tally *t, double bytes, double r)
{
	double seconds = r > 0 ? bytes / r : 0;
	unsigned s;

	if (r <= 0 || t->seconds < 1) {
		snprintf(to, PART, "time left unknown");
		return;
	}
	if (seconds >= HOURS_MOST * 3600.0) {
		snprintf(to, PART, "more than %d h left", HOURS_MOST);
		return;
	}
	s = (unsigned)(seconds + 0.5);
	if (s >= 3600)
		snprintf(to, PART, "%u:%02u:%02u left", s / 3600, s / 60 % 60,
		    s % 60);
	else
		snprintf(to, PART, "%u:%02u left", s / 60, s % 60);
}

/* What is true in every phase; 100 % is only said of all. */
static void
state(const struct plan *p, const struct tally *t, struct parts *parts)
{
	char si[32];
	double part = t->passed < t->whole ?
	    (double)t->passed / (double)t->whole * 100 : 100;

	*parts = (struct parts){ .text = { "" } };
	snprintf(parts->text[BYTES], PART, "%s",
	    number_si(si, sizeof(si), (double)t->passed));
	if (p->bounded && p->length > 0)
		snprintf(parts->text[PERCENT], PART, "%d %%", (int)part);
	if (t->phase == PHASE_COPYING || t->phase == PHASE_COMPARING)
		snprintf(parts->text[MEAN], PART, "mean %s/s", number_si(si,
		    sizeof(si), t->seconds > 0 ?
		    (double)(t->passed - t->had) / t->seconds : 0));
	if (t->differing > 0)
		snprintf(parts->text[DIFFERS], PART, "%s differ",
		    number_si(si, sizeof(si), (double)t->differing));
	if (t->lost > 0)
		snprintf(parts->text[LOST], PART, "%s unreadable",
		    number_si(si, sizeof(si), (double)t->lost));
}

static void
compose(struct progress *pr, const struct tally *t, struct parts *parts)
{
	const struct plan *p = pr->p;
	char si[32];
	double r = rate(pr, t);

	state(p, t, parts);
	snprintf(parts->text[PHASE], PART, "%s", phase_name(t->phase));
	if (t->phase == PHASE_FLUSHING) {
		parts->text[MEAN][0] = '\0';
		return;
	}
	snprintf(parts->text[RATE], PART, "%s/s",
	    number_si(si, sizeof(si), r));
	if (p->bounded && p->length > 0)
		time_left(parts->text[LEFT], t, t->whole > t->passed ?
		    (double)(t->whole - t->passed) : 0, r);
}

/* A line as long as the terminal is wide would wrap. */
static size_t
width(const struct progress *pr)
{
	struct winsize w;

	if (pr->how == LINES)
		return LINE - 1;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col < 2)
		return 79;
	return w.ws_col < LINE ? (size_t)w.ws_col - 1 : LINE - 1;
}

static size_t
length(const struct parts *parts)
{
	size_t n = 0, i;

	for (i = 0; i < PARTS; i++)
		if (parts->text[i][0] != '\0')
			n += (n > 0 ? 2 : 0) + strlen(parts->text[i]);
	return n;
}

/* Leave out what matters least, in this order, while the line is too long. */
static void
shorten(struct parts *parts, bool copying, size_t most)
{
	static const enum part orders[2][PARTS] = {
		{ MEAN, RATE, LEFT, BYTES, PERCENT, LOST, DIFFERS, PHASE },
		{ MEAN, PHASE, RATE, LEFT, BYTES, LOST, DIFFERS, PERCENT },
	};
	const enum part *order = orders[copying];
	size_t i;

	for (i = 0; i < PARTS - 1 && length(parts) > most; i++)
		parts->text[order[i]][0] = '\0';
}

static void
join(const struct parts *parts, char *line, size_t most)
{
	size_t n = 0, i;

	line[0] = '\0';
	for (i = 0; i < PARTS; i++)
		if (parts->text[i][0] != '\0')
			n += (size_t)snprintf(line + n, LINE - n, "%s%s",
			    n > 0 ? ", " : "", parts->text[i]);
	if (n > most)
		line[most] = '\0';
}

void
progress_draw(struct progress *pr, const struct tally *t)
{
	char line[LINE];
	struct parts parts;
	size_t most;

	if (pr->how == NO_LINE || t->seconds < pr->next)
		return;
	if (t->phase != pr->phase) {
		pr->phase = t->phase;	/* its bytes begin anew */
		pr->sample[0].seconds = t->seconds;
		pr->sample[0].bytes = (double)t->passed;
		pr->samples = 1;
	}
	pr->next = t->seconds + pr->interval;
	if (!say_room())
		return;
	most = width(pr);
	compose(pr, t, &parts);
	shorten(&parts, t->phase != PHASE_FLUSHING, most);
	join(&parts, line, most);
	if (pr->how == LINES) {
		fprintf(stderr, "pardd: %s\n", line);
		return;
	}
	fprintf(stderr, "\r%s\033[K", line);
	pr->drawn = true;
}

void
progress_clear(struct progress *pr)
{
	if (pr->drawn && say_room())
		fputs("\r\033[K", stderr);
	pr->drawn = false;
}

void
progress_end(struct progress *pr, const struct tally *t)
{
	struct tally end = *t;
	char line[LINE];
	struct parts parts;
	size_t most;

	if (!pr->drawn || !say_room())
		return;
	most = width(pr);
	if (pr->p->opts->compare == 0 && pr->p->opts->map == NULL)
		end.passed = t->written + t->spared;
	end.phase = PHASE_COPYING;
	state(pr->p, &end, &parts);
	shorten(&parts, true, most);
	join(&parts, line, most);
	fprintf(stderr, "\r%s\033[K\n", line);
	pr->drawn = false;
}
