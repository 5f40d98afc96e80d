/*
 * The profile of a copy, for time=1 and profile=: how long its requests took,
 * by position, by time and by latency.
 *
 * Times are ns of clock_ns(), positions are bytes of the end.
 */
#ifndef PARDD_PROFILE_H
#define PARDD_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/newfile.h"
#include "end/gauge.h"
#include "plan/plan.h"

/*
 * Make a profile for the workers of a plan; *pr is NULL if the plan wants none.
 * Returns 0 or ENOMEM. gauge_free frees it.
 */
int profile_new(struct profile **pr, const struct plan *);

/*
 * Add up a series into *to, once no request is recorded any more.  Returns
 * false if it has no requests.
 */
bool profile_sum(const struct profile *, enum series, struct gauge *to);

/*
 * The latency in ns that this part of the requests (0.5: half) did not exceed.
 */
double profile_percentile(const struct gauge *, double part);

/* Bytes per second; 0 if no time has passed. */
static inline double
profile_rate(uint64_t bytes, uint64_t ns)
{
	return ns > 0 ? (double)bytes * 1e9 / (double)ns : 0;
}

/* The byte of its end at which the bins of a series begin. */
static inline uint64_t
profile_first(const struct plan *p, enum series s)
{
	return s == SERIES_SOURCE ? p->src_off : p->dst_off;
}

/* Relative to that: the end of bin i. */
static inline uint64_t
profile_end(const struct gauge *r, const struct plan *p, unsigned i)
{
	uint64_t end = (i + 1) * r->width;

	return end < p->length ? end : p->length;
}

/* The same of the last bin: of the copy, or of those used if it is unknown. */
uint64_t profile_extent(const struct gauge *, const struct plan *);

/* "source", "target" or "verify". */
const char *profile_series(enum series);

/*
 * Write the file of profile=, opened by newfile_open; seconds is the duration
 * of the copy.  Does nothing without a profile or a name.  Returns 0, or -1
 * with *f and an existing file unchanged.
 */
int profile_write(const struct profile *, struct newfile *, double seconds,
    struct fault *f);

#endif
