/*
 * All that is printed, but for the live line, is put into words here.
 */
#ifndef PARDD_REPORT_H
#define PARDD_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"
#include "copy/outcome.h"
#include "part/remarks.h"
#include "plan/plan.h"
#include "rescue/pattern.h"

struct events;

/* An error by itself: a refusal, a usage error.  One line. */
void report_fault(const struct fault *, const struct opts *);

/* What went wrong with json= and log= since this was last called. */
void report_trouble(struct events *);

/*
 * Whether bad news is red: on a terminal with colours, unless status= or json=
 * is given.
 */
bool report_coloured(const struct opts *, FILE *);

/* The plan, as key=value lines. */
void report_plan(FILE *, const struct plan *);

/*
 * The plan as a page for a person, with what a map says of the copy, or NULL.
 * It looks at what lies on both ends, but for the source of a rescue.
 * Returns 0, or -1 with *f.
 */
int report_page(FILE *, const struct plan *, const struct map_totals *,
    struct fault *f);

/*
 * The ends once more by the keys that they had in 0.1, input and output, for
 * programs that read them.  To be left out after the next release.
 */
void report_plan_old(FILE *, const struct plan *);

/* What a map says of the copy before it begins, in the same way. */
void report_known(FILE *, const struct map_totals *);

/* Where a range begins or ends, as "512 bytes into partition 1". */
const char *report_border(char *text, size_t room, const struct border *,
    bool begins);

/*
 * The Nth thing about the ends that is seldom meant, in a sentence; false when
 * there are no more.
 */
bool report_remark(const struct plan *, unsigned n, char *text, size_t room);

/*
 * Show that page and wait for "yes" at the terminal.  False, with a refusal in
 * *f, for any other answer and where there is no terminal.
 */
bool report_ask(const struct plan *, const struct map_totals *known,
    struct fault *f);

/* What is to be known before the first byte moves. */
void report_begin(const struct plan *);

/* The kernel lets us have no io_uring; err is its errno.  With verbose=. */
void report_threads(const struct plan *, int err);

/* The record counts and the rate so far. */
void report_tally(const struct plan *, const struct tally *);

/* The same, and of a rescue what is finished in all: the answer to SIGUSR1. */
void report_so_far(const struct plan *, const struct tally *);

/* verify= has found the first byte (of the map) that differs. */
void report_differs(const struct plan *, uint64_t off);

/* One of several targets gets nothing more, and why. */
void report_dropped(const struct plan *, const struct fault *why);

/* There is a pattern in what is bad. */
void report_pattern(const struct plan *, const struct pattern *);

/* The source is too warm, and waited for; or not any more. */
void report_warmth(const struct plan *, bool warm, double celsius);

/* A signal was taken; what is in flight is being finished. */
void report_stopping(int signo);

/* wait=: the source has gone, and is waited for; it is back. */
void report_gone(const struct plan *, const struct outcome *);
void report_back(const struct plan *);

/* What is left to say when there are still requests in flight. */
void report_abandoned(const struct plan *, const struct outcome *);

/* Unreadable ranges, totals and verdict, as status= allows. */
void report_end(const struct plan *, struct outcome *);

#endif
