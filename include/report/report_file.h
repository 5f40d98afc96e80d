/*
 * report=FILE.html or FILE.svg: a run on a page, for the shop, the examiner and
 * the ticket.  Written with each save of the map, and at the end.
 */
#ifndef PARDD_REPORT_FILE_H
#define PARDD_REPORT_FILE_H

#include "base/fault.h"
#include "copy/outcome.h"
#include "plan/plan.h"

struct report;			/* of a run; NULL: none is wanted */

/*
 * See that the file that opts name can be made; nothing is made yet.  *made is
 * NULL without report=.  Returns 0, or -1 with *f.  report_file_close frees it.
 */
int report_file_open(struct report **made, const struct plan *,
    struct fault *f);
void report_file_close(struct report *);

/*
 * The copy begins: hold the name, read the progress of runs before from what is
 * there, look at the ends.  Returns 0, or -1 with *f.
 */
int report_file_start(struct report *, struct fault *f);

/* Whom the rescue is to tell of each save, for plan->saved; NULL for NULL. */
const struct saved *report_file_saved(const struct report *);

/* The copy is over, and its ends are still open: what lies on them. */
void report_file_look(struct report *, struct outcome *);

/* Judged: write it for good.  Returns 0, or -1 with *f. */
int report_file_write(struct report *, struct outcome *, struct fault *f);

/* Left with workers running, who may just be writing it: not ours any more. */
void report_file_abandon(struct report *);

#endif
