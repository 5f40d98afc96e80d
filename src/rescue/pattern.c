/*
 * A pattern is three or more bad runs, each about as long as the one before,
 * and about as far from it; not exactly, because tracks become shorter from
 * zone to zone.  Short runs do not count, because scratches and parts of failed
 * reads are alike too.
 *
 * The forecast.  Heads take turns, so the runs of a dead head have equal
 * lengths and equal distances, until the next zone of the disk has shorter
 * tracks: then both shrink in the same proportion.
 */
#include "rescue/pattern.h"

#include <stdlib.h>

enum {
	PATTERN_LEAST = 1 << 20,	/* bytes of a run that counts, */
	RUN_LEAST = 64 << 10,	/* and of one that is worth a forecast */
	ALIKE = 8,		/* lengths differ by 1/ALIKE at most, */
	EVEN = 32,		/* foretold distances by 1/EVEN, */
	WHOLE = 64,		/* or 1/WHOLE of a multiple */
	HEADS = 32,		/* no disk has more */
	ENOUGH = 2,		/* runs like the first one */
	MISSED = 6,		/* in a row: there is no pattern */
};

static bool
close_to(uint64_t a, uint64_t b, unsigned parts)
{
	return (a > b ? a - b : b - a) <= (a > b ? a : b) / parts;
}

/* Whether a segment was read, or is not wanted. */
static bool
pattern_harmless(const struct seg *s)
{
	return s->status == FINISHED || s->status == OUTSIDE;
}

/*
 * Replace the segments of a map by its long bad runs.  Returns how many there
 * are.
 */
static size_t
runs_of(struct seg *seg, size_t n)
{
	size_t i, runs = 0;
	struct seg run;

	for (i = 0; i < n; i++) {
		if (pattern_harmless(&seg[i]))
			continue;
		run = seg[i];
		for (; i + 1 < n && !pattern_harmless(&seg[i + 1]); i++)
			run.len += seg[i + 1].len;
		if (run.len >= PATTERN_LEAST)
			seg[runs++] = run;
	}
	return runs;
}

/* Whether the next three runs belong together. */
static bool
pattern_three(const struct seg *run)
{
	return close_to(run[0].len, run[1].len, ALIKE) &&
	    close_to(run[1].len, run[2].len, ALIKE) &&
	    close_to(run[1].off - run[0].off, run[2].off - run[1].off, ALIKE);
}

/* Whether run i is one of such three. */
static bool
pattern_is_part(const struct seg *run, size_t n, size_t i)
{
	return (i + 2 < n && pattern_three(&run[i])) ||
	    (i > 0 && i + 1 < n && pattern_three(&run[i - 1])) ||
	    (i > 1 && pattern_three(&run[i - 2]));
}

bool
pattern_find(struct map *map, struct pattern *p)
{
	uint64_t length = 0, distance = 0;
	size_t n, i, steps = 0;
	struct seg *run;

	*p = (struct pattern){ .runs = 0 };
	n = map_copy(map, &run);
	n = runs_of(run, n);
	for (i = 0; i < n; i++) {
		if (!pattern_is_part(run, n, i))
			continue;
		p->runs++;
		length += run[i].len;
		if (i > 0 && pattern_is_part(run, n, i - 1)) {
			distance += run[i].off - run[i - 1].off;
			steps++;
		}
	}
	free(run);
	if (steps == 0)
		return false;
	p->length = length / p->runs;
	p->period = distance / steps;
	p->share = (double)p->length / (double)p->period;
	return true;
}

/* --- the forecast --------------------------------------------------------- */

/* A run that a jump has just crossed may be a single block. */
static void
forecast_compare(struct forecast *f, const struct run *run)
{
	uint64_t length = run->end - run->off;
	uint64_t distance = run->off - f->last.off;

	if (!close_to(length, f->last.end - f->last.off, ALIKE))
		f->alike = 0;
	else if (f->alike > 0 && !close_to(distance, f->distance, EVEN))
		f->alike = 1;
	else
		f->alike += run->sure;
	f->last = *run;
	f->distance = distance;
}

bool
forecast_met(struct forecast *f, const struct run *run)
{
	uint64_t length = run->end - run->off;

	forecast_compare(f, run);
	return length >= RUN_LEAST && f->missed < MISSED &&
	    (f->alike >= ENOUGH ||
	    (f->length > 0 && close_to(length, f->length, ALIKE)));
}

/* The distance to the next run, if runs are as long as the last one. */
static uint64_t
period_of(const struct forecast *f, const struct run *run)
{
	uint64_t length = run->end - run->off, step = run->off - f->start;
	uint64_t heads;

	if (f->period == 0)
		return step;
	heads = (f->period + f->length / 2) / f->length;
	if (length != f->length &&
	    close_to(f->period, heads * f->length, WHOLE))
		return heads * length;
	return step < f->period || close_to(step, f->period, ALIKE) ? step :
	    f->period;
}

void
forecast_learn(struct forecast *f, const struct run *run)
{
	uint64_t length = run->end - run->off;

	if (length < RUN_LEAST)
		return;
	if (f->length == 0) {
		f->length = length;
	} else if (close_to(length, f->length, ALIKE)) {
		f->period = period_of(f, run);
		f->length = length;
	}
	f->start = run->off;
}

bool
forecast_next(const struct forecast *f, struct run *next)
{
	if (f->period <= f->length || f->period / HEADS > f->length)
		return false;
	next->off = f->start + f->period;
	next->end = next->off + f->length;
	return true;
}
