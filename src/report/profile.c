/*
 * The profile of a run: the records of all workers added up.
 */
#include "report/profile.h"

#include <stdlib.h>
#include <string.h>

enum { STREAM_WIDTH = 1 << 20 };	/* bytes per bin if the length is
					 * unknown */

int
profile_new(struct profile **pr, const struct plan *p)
{
	uint64_t width = p->length / PROFILE_BINS +
	    (p->length % PROFILE_BINS != 0);

	*pr = NULL;
	if (p->opts->profile == NULL && p->opts->time == 0)
		return 0;
	if (!p->bounded)
		width = STREAM_WIDTH;
	if (width < p->chunk)
		width = p->chunk;
	return gauge_new(pr, p, p->workers > p->queues ? p->workers :
	    p->queues, width, p->src_off, p->dst_off);
}

uint64_t
profile_extent(const struct gauge *r, const struct plan *p)
{
	unsigned i = PROFILE_BINS;

	if (p->bounded)
		return p->length;
	while (i > 1 && r->bin[i - 1].requests == 0)
		i--;
	return profile_end(r, p, i - 1);
}

const char *
profile_series(enum series s)
{
	static const char *const names[] = {
		[SERIES_SOURCE] = "source",
		[SERIES_TARGET] = "target",
		[SERIES_VERIFY] = "verify",
	};

	return names[s];
}

static int
profile_slower(const void *a, const void *b)
{
	const struct slow *x = a, *y = b;

	return (y->ns > x->ns) - (y->ns < x->ns);
}

bool
profile_sum(const struct profile *pr, enum series series, struct gauge *to)
{
	const struct gauge *one;
	unsigned i;

	memset(to, 0, sizeof(*to));
	for (i = 0; i < pr->workers; i++) {
		one = &pr->gauge[(size_t)i * SERIES_MOST + series];
		if (to->width == 0) {
			to->width = one->width;
			to->tick = one->tick;
		}
		if (one->all.requests > 0)
			gauge_merge(to, one);
	}
	qsort(to->slow, (size_t)to->slows, sizeof(to->slow[0]), profile_slower);
	return to->all.requests > 0;
}

double
profile_percentile(const struct gauge *r, double part)
{
	double want = part * (double)r->all.requests, before = 0, here;
	uint64_t from, to;
	unsigned i;

	for (i = 0; i < PROFILE_BUCKETS - 1; i++) {
		if (before + (double)r->latency[i] >= want && r->latency[i] > 0)
			break;
		before += (double)r->latency[i];
	}
	here = (double)r->latency[i];
	from = gauge_bucket(i);
	to = gauge_bucket(i + 1);
	from = from > r->least ? from : r->least;
	to = to < r->all.most ? to : r->all.most;
	if (here <= 0 || to <= from)
		return (double)r->all.most;
	return (double)from + (double)(to - from) * (want - before) / here;
}
