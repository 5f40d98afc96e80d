/*
 * profile=FILE.svg: a picture of the profile.
 */
#ifndef PARDD_CHART_H
#define PARDD_CHART_H

#include <stdio.h>

#include "report/profile.h"

/*
 * Draw the sums of all series that have requests, for a copy of so many
 * seconds.  Write errors are left in out.
 */
void chart_draw(FILE *out, const struct profile *,
    const struct gauge sum[SERIES_MOST], double seconds);

#endif
