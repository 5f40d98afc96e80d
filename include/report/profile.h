/*
 * What the requests of a copy took, by position, by time and by latency, as it
 * is told: for time=1 and profile=.
 *
 * Times are ns of clock_ns(), positions bytes of the end.
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
 * A profile for the workers of a plan that asks for one.  *pr is NULL if it
 * does not.  Returns 0 or ENOMEM.  gauge_free frees it.
 */
int profile_new(struct profile **pr, const struct plan *);

/* Add up a series into *to, when nobody notes any more.  False: no requests. */
bool profile_sum(const struct profile *, enum series, struct gauge *to);

/* ns that a part of the requests (0.5: half of them) took at most. */
double profile_percentile(const struct gauge *, double part);

/* Bytes a second, 0 for no time. */
double profile_rate(uint64_t bytes, uint64_t ns);

/* The byte of its end where the bins of a series begin. */
uint64_t profile_first(const struct plan *, enum series);

/*
 * From there, where bin i ends, and where all end: with the copy, or if nobody
 * knew its length, with the last that has requests.
 */
uint64_t profile_end(const struct gauge *, const struct plan *, unsigned i);
uint64_t profile_extent(const struct gauge *, const struct plan *);

/* "source", "target" or "verify". */
const char *profile_series(enum series);

/*
 * Write what profile= names, as newfile_open found it; seconds is how long the
 * copy took.  Nothing if there is no profile or no name.  Returns 0, or -1 with
 * *f, and then what was there before is there still.
 */
int profile_write(const struct profile *, struct newfile *, double seconds,
    struct fault *f);

#endif
