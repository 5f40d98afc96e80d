/*
 * The live line: bytes, per cent, rate, time left, phase.  On a terminal twice
 * a second, drawn over itself and no longer than the line; elsewhere, if asked
 * for, a line every ten seconds.
 *
 * The rate is that of the last samples, so that a disk that slows down shows;
 * bytes are those the target has taken.
 */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "number.h"

static const double terminal_interval = 0.5, file_interval = 10;

enum { LINE = 256 };

void
progress_begin(struct progress *pr, const struct plan *p)
{
	unsigned status = p->opts->status;

	*pr = (struct progress){ .p = p };
	pr->terminal = isatty(STDERR_FILENO) != 0;
	pr->on = (status & SHOW_PROGRESS) != 0 ||
	    (status == 0 && pr->terminal);
	pr->next = pr->terminal ? terminal_interval : file_interval;
}

int
progress_wait(const struct progress *pr)
{
	if (!pr->on)
		return -1;
	return pr->terminal ? 500 : 1000;
}

static double
rate(struct progress *pr, const struct tally *t)
{
	unsigned last = pr->samples % PROGRESS_SAMPLES, first;
	double span;

	first = pr->samples < PROGRESS_SAMPLES ? 0 :
	    (pr->samples + 1) % PROGRESS_SAMPLES;
	pr->sample[last].seconds = t->seconds;
	pr->sample[last].bytes = (double)t->written;
	if (pr->samples == 0)
		first = last;
	pr->samples++;
	span = pr->sample[last].seconds - pr->sample[first].seconds;
	if (span <= 0)
		return t->seconds > 0 ? (double)t->written / t->seconds : 0;
	return (pr->sample[last].bytes - pr->sample[first].bytes) / span;
}

static void
time_left(char *buf, size_t room, double seconds)
{
	unsigned s;

	if (seconds > 359999) {
		snprintf(buf, room, "more than 100 h left");
		return;
	}
	s = (unsigned)(seconds + 0.5);
	if (s >= 3600)
		snprintf(buf, room, "%u:%02u:%02u left", s / 3600, s / 60 % 60,
		    s % 60);
	else
		snprintf(buf, room, "%u:%02u left", s / 60, s % 60);
}

static void
compose(struct progress *pr, const struct tally *t, char *line, size_t room)
{
	const struct plan *p = pr->p;
	char si[32], speed[32], left[48] = "";
	double r = rate(pr, t), part = 0;

	number_si(si, sizeof(si), (double)t->written);
	number_si(speed, sizeof(speed), r);
	if (t->flushing) {
		snprintf(line, room, "%s, flushing", si);
		return;
	}
	if (!p->bounded || p->length == 0) {
		snprintf(line, room, "%s, %s/s, copying", si, speed);
		return;
	}
	part = (double)t->written / (double)p->length;
	if (r > 0)
		time_left(left, sizeof(left),
		    ((double)p->length - (double)t->written) / r);
	else
		snprintf(left, sizeof(left), "time left unknown");
	snprintf(line, room, "%s, %.0f %%, %s/s, %s, copying", si,
	    part < 1 ? part * 100 : 100, speed, left);
}

/* A line as long as the terminal is wide would wrap, and not be redrawn. */
static size_t
width(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col < 2)
		return 79;
	return (size_t)w.ws_col - 1;
}

void
progress_draw(struct progress *pr, const struct tally *t)
{
	char line[LINE];
	size_t most;

	if (!pr->on || t->seconds < pr->next)
		return;
	pr->next = t->seconds +
	    (pr->terminal ? terminal_interval : file_interval);
	compose(pr, t, line, sizeof(line));
	if (!pr->terminal) {
		fprintf(stderr, "pardd: %s\n", line);
		return;
	}
	most = width();
	if (strlen(line) > most)
		line[most] = '\0';
	fprintf(stderr, "\r%s\033[K", line);
	fflush(stderr);
	pr->drawn = true;
}

void
progress_clear(struct progress *pr)
{
	if (pr->drawn)
		fputs("\r\033[K", stderr);
	pr->drawn = false;
}
