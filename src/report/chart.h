/*
 * profile=FILE.svg: the profile as a picture.
 */
#ifndef PARDD_CHART_H
#define PARDD_CHART_H

#include <stdio.h>

#include "report/profile.h"

/*
 * Draw the sums of all series (those without requests are left out), of a copy
 * that took so many seconds.  A write error is left in out.
 */
void chart_draw(FILE *out, const struct profile *,
    const struct gauge sum[SERIES_MOST], double seconds);

#endif
