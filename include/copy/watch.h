/*
 * The main thread's eye on requests: who has not answered, and for how long.
 */
#ifndef PARDD_WATCH_H
#define PARDD_WATCH_H

#include "copy/outcome.h"

struct job;

/* In the order in which the copy would name them. */
enum watched { WATCH_SOURCE, WATCH_TARGET, WATCH_FLUSH, WATCHED };

struct watch {
	struct {
		unsigned ended;		/* requests, when last looked at */
		double	 since;		/* s; when there was an answer, or
					 * nothing to answer */
	}	 on[WATCHED];
};

/* Nothing is waited for yet. */
void watch_begin(struct watch *, double now);

/*
 * Look, at "now" (s): what the copy waits for, if there is such a thing.  How
 * exact the seconds are is how often this is called.
 */
struct silence watch_look(struct watch *, const struct job *, double now);

/* In a word, for programs: source, target, flush; NULL: nothing. */
const char *watch_word(const struct silence *, const struct plan *);

/*
 * In words, for an end that is called by that name, or by none: "no answer from
 * /dev/sda for 13 s".
 */
void watch_tell(char *to, size_t room, const struct silence *,
    const char *name);

#endif
