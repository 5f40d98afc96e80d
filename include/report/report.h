/*
 * Everything that is printed, except for the live line.
 */
#ifndef PARDD_REPORT_H
#define PARDD_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fault.h"
#include "copy/outcome.h"
#include "end/endpoint.h"
#include "map/map.h"
#include "part/damage.h"
#include "part/remarks.h"
#include "plan/plan.h"
#include "rescue/pattern.h"

struct events;

/* Print an error on one line, say a refusal or a usage error. */
void report_fault(const struct fault *, const struct opts *);

/* Print what went wrong with json= and log= since the last call. */
void report_trouble(struct events *);

/*
 * Whether errors are printed in red: on a terminal with colours, without
 * status= and json=.
 */
bool report_coloured(const struct opts *, FILE *);

/* Print the plan as key=value lines. */
void report_plan(FILE *, const struct plan *);

/*
 * Print the plan as a page for people, with what a map says about the copy, or
 * NULL.  Reads the contents of both ends, but not the source of a rescue.
 * Returns 0, or -1 with *f.
 */
int report_page(FILE *, const struct plan *, const struct map_totals *,
    struct fault *f);

/*
 * The next operand of the command line behind the word *at, 0 at first, that is
 * not among those told otherwise; NULL if there is none.  REPORT_TOLD are those
 * that both plans tell, or that say what is shown; verify= is told unless it
 * only says no.
 */
#define REPORT_TOLD	" if of of2 skip seek iseek oseek count ipart opart " \
	"sync used status progress time verbose deb "
const char *report_given(const struct plan *, int *at, const char *told);

/* Print what a map says about the copy before it begins, as key=value lines. */
void report_known(FILE *, const struct map_totals *);

/*
 * Describe the border of a range: "512 bytes into partition 1".  Returns text.
 */
const char *report_border(char *text, size_t room, const struct border *,
    bool begins);

/*
 * What stays in a target file that is longer than a copy of so many bytes.
 * False if it is not longer, or that is meant.
 */
bool report_longer(const struct plan *, uint64_t length, char *text,
    size_t room);

/* The nth remark on the ends, in one sentence; false if there are no more. */
bool report_remark(const struct plan *, unsigned n, char *text, size_t room);

/*
 * Print that page and wait for "yes" at the terminal.  Returns false with a
 * refusal in *f after any other answer, or without a terminal.
 */
bool report_ask(const struct plan *, const struct map_totals *known,
    struct fault *f);

/*
 * Print what users should know before the first byte moves; "begun": a part was
 * copied by an earlier run, so nothing is lost now.
 */
void report_begin(const struct plan *, bool begun);

/*
 * io_uring is not available, because of err (an errno value).  With verbose=.
 */
void report_threads(const struct plan *, int err);

/*
 * Print the record counts and the rate so far, and for a rescue how much is
 * finished: the answer to SIGUSR1.
 */
void report_so_far(const struct plan *, const struct tally *);

/*
 * verify= has found the first difference, at byte off of the map, or something
 * that cannot be read back.
 */
void report_differs(const struct plan *, uint64_t off, bool unread);

/* One of several targets was dropped, and why; "left" others go on. */
void report_dropped(const struct fault *why, unsigned left);

/* The bad ranges form a pattern. */
void report_pattern(const struct plan *, const struct pattern *);

/* The source is too warm, and the copy waits; or goes on. */
void report_warmth(const struct plan *, bool warm, double celsius);

/* A signal was received; requests in flight are being finished. */
void report_stopping(int signo);

/* A file cannot be opened yet, for this reason. */
void report_waiting(const struct fault *, const struct opts *);

/* The copy is over, but this takes long: "writing the files of the run". */
void report_settling(const struct plan *, const char *what);

/* wait=: the source has gone, and the copy waits; the source is back. */
void report_gone(const struct plan *, const struct outcome *);
void report_back(const struct plan *);

/* The last words when requests are still in flight. */
void report_abandoned(const struct plan *, struct outcome *);

/* Print unreadable ranges, totals and verdict, as status= allows. */
void report_end(const struct plan *, struct outcome *);

/*
 * The live line on stderr, or a progress line now and then.
 */

enum { PROGRESS_SAMPLES = 32 };

struct progress {
	const struct plan *p;
	enum { NO_LINE, LIVE_LINE, LINES } how;
	bool	 drawn;		/* there is a line to erase */
	double	 interval;	/* seconds */
	double	 next;		/* s, time of the next line */
	struct {
		double	seconds, bytes;
	}	 sample[PROGRESS_SAMPLES];	/* for the recent rate */
	unsigned samples;
	enum phase phase;	/* that the samples belong to */
	char	 map[256];	/* the second line, as last made */
	double	 map_next;	/* s, when to make it again */
	bool	 two;		/* the second line is drawn */
};

/*
 * Decide whether and how to report progress, and prepare it, starting with this
 * tally.
 */
void progress_begin(struct progress *, const struct plan *,
    const struct tally *);

/* How long the main thread may sleep, in ms; -1 without a line. */
int progress_wait(const struct progress *, double seconds);

/* Draw the line if it is time; with status=map also the map below it. */
void progress_draw(struct progress *, struct map *, const struct tally *);

/* Erase the line, so that something else can be printed. */
void progress_clear(struct progress *);

/* Leave the final state on the screen, if there was a line. */
void progress_end(struct progress *, const struct tally *);

/*
 * A map of any length as a number of cells to be drawn.
 */

/*
 * Give each of n cells the worst status (enum seg_status) in its part of
 * "length" bytes. seg has n_seg segments, in order and without gaps, as
 * map_copy returns them.  If the map has fewer bytes than cells, several cells
 * stand for one byte.
 */
void cells_fill(char *cell, size_t n, const struct seg *seg, size_t n_seg,
    uint64_t length);

/*
 * Describing an end of the copy for people.
 */

/*
 * Its name, in at most "most" bytes and a NUL; of a long name the end, where
 * names differ.  Not yet escaped.  Returns text.
 */
const char *wording_name(char *text, size_t room, const struct endpoint *,
    size_t most);

/* A description: "block device, 500 GB, Samsung SSD 870, serial S5Y1". */
const char *wording_end(char *text, size_t room, const struct endpoint *);

/* Model and serial number: "Samsung SSD 870, S5Y1"; or the kind of end. */
const char *wording_who(char *text, size_t room, const struct endpoint *);

/*
 * What distinguishes it, to be put after its name: ", Samsung SSD 870, 500 GB,
 * serial S5Y1", as far as known.
 */
const char *wording_brief(char *text, size_t room, const struct endpoint *);

/* What was lost, as a sentence without its full stop; "" if unknown. */
const char *wording_loss(char *text, size_t room, const struct loss *);

#endif
