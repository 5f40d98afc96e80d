/*
 * report=FILE.html or FILE.svg: a report of the run as a page.  Written with
 * each save of the map, and at the end.
 */
#ifndef PARDD_REPORT_FILE_H
#define PARDD_REPORT_FILE_H

#include <stdio.h>

#include "base/fault.h"
#include "copy/outcome.h"
#include "plan/plan.h"
#include "report/profile.h"

struct report;			/* of a run; NULL: no report */

/*
 * Check that the file of opts can be made; nothing is made yet.  *made is NULL
 * without report=.  Returns 0, or -1 with *f. report_file_close frees it.
 */
int report_file_open(struct report **made, const struct plan *,
    struct fault *f);
void report_file_close(struct report *);

/*
 * Before the copy: examine the ends.  They may not answer, so call this while
 * a signal still ends the program.
 */
void report_file_look_before(struct report *);

/*
 * When the copy begins: reserve the name, and read the progress of earlier runs
 * from an existing report.  Returns 0, or -1 with *f.
 */
int report_file_start(struct report *, struct fault *f);

/* What the rescue calls after each save, for plan->saved; NULL for NULL. */
const struct saved *report_file_saved(const struct report *);

/* After the copy, while its ends are open: examine their contents. */
void report_file_look(struct report *, struct outcome *);

/* After the verdict: write the final report.  Returns 0, or -1 with *f. */
int report_file_write(struct report *, struct outcome *, struct fault *f);

/* Leave it to workers that are still running; one may be writing it. */
void report_file_abandon(struct report *);

/*
 * Draw the sums of all series that have requests, for a copy of so many
 * seconds.  Write errors are left in out.
 */
void chart_draw(FILE *out, const struct profile *,
    const struct gauge sum[SERIES_MOST], double seconds);

#endif
