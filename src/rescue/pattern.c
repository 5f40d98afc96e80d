/*
 * A pattern is three or more bad runs, each about as long as the one before,
 * and about as far from it; not exactly, because tracks become shorter from
 * zone to zone.  Short runs do not count, because scratches and parts of failed
 * reads are alike too.
 */
#include "rescue/pattern.h"

#include <stdlib.h>

enum {
	RUN_LEAST = 1 << 20,	/* bytes */
	ALIKE = 8,		/* lengths and distances differ by 1/ALIKE at
				 * most */
};

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
		if (run.len >= RUN_LEAST)
			seg[runs++] = run;
	}
	return runs;
}

static bool
pattern_alike(uint64_t a, uint64_t b)
{
	return a > b ? a - b <= a / ALIKE : b - a <= b / ALIKE;
}

/* Whether the next three runs belong together. */
static bool
pattern_three(const struct seg *run)
{
	return pattern_alike(run[0].len, run[1].len) &&
	    pattern_alike(run[1].len, run[2].len) &&
	    pattern_alike(run[1].off - run[0].off, run[2].off - run[1].off);
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
