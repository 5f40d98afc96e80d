/*
 * The forecast.  Heads take turns, so the runs of a dead head have equal
 * lengths and equal distances, until the next zone of the disk has shorter
 * tracks: then both shrink in the same proportion.
 */
#include "rescue/forecast.h"

enum {
	RUN_LEAST = 64 << 10,	/* bytes; shorter ones are not worth it */
	ALIKE = 8,		/* lengths differ by 1/ALIKE at most, */
	EVEN = 32,		/* and distances by 1/EVEN, */
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
