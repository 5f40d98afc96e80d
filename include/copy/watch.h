/*
 * How the main thread notices that an end does not answer, and for how long.
 */
#ifndef PARDD_WATCH_H
#define PARDD_WATCH_H

#include "copy/outcome.h"

struct endpoint;
struct job;

/* If several are silent, the first of these is named. */
enum watched { WATCH_SOURCE, WATCH_TARGET, WATCH_FLUSH, WATCHED };

struct watch {
	struct {
		unsigned ended;		/* requests, at the last call */
		double	 since;		/* s; time of the last answer, or when
					 * nothing was pending */
	}	 on[WATCHED];
	struct {
		unsigned call;		/* endpoint_inside, at the last call */
		double	 since;		/* s; when it was first seen */
	}	 inside[2];		/* of the source; of the target */
};

/* Start watching, with nothing pending. */
void watch_begin(struct watch *, double now);

/*
 * Find out, at time "now" in seconds, which end the copy waits for, if any.
 * The time that it returns is as exact as the calls are frequent.
 */
struct silence watch_look(struct watch *, const struct job *, double now);

/*
 * An end whose library has not returned within timeout=, or NULL.  Several
 * targets are never returned: those that hang are dropped.
 */
const struct endpoint *watch_stuck(struct watch *, const struct job *,
    double now);

/* The process was stopped for so many seconds: they do not count. */
void watch_stood(struct watch *, double seconds);

/* Its name in JSON: source, target or flush; NULL: nothing. */
const char *watch_word(const struct silence *, const struct plan *);

/*
 * That in words for people: "no answer from /dev/sda for 13 s", or without the
 * name if that is "".
 */
void watch_tell(char *to, size_t room, const struct silence *,
    const char *name);

#endif
