/*
 * compare=1: both ends are read, and it is told where they differ.  Used by
 * copy.c (begin), worker.c (run) and preview.c (look).
 */
#ifndef PARDD_COMPARE_H
#define PARDD_COMPARE_H

#include <stdatomic.h>

#include "base/fault.h"
#include "copy/job.h"
#include "end/endpoint.h"
#include "map/map.h"

struct compare {
	struct map	 differ;	/* BAD: differs; locks for itself */
	atomic_uint_fast64_t compared;	/* bytes, with holes */
	atomic_uint	 told;	/* ranges that differ, before any are joined */
	const struct endpoint *longer;	/* I, of streams under job.order */
};

/*
 * Whether map=, if it is given, can be made: one that could not be written, or
 * is there already, is refused.  Returns 0, or -1 with *f.
 */
int compare_look(const struct plan *, struct fault *f);

/*
 * Make ready for a job that has a map, after such a look; nothing is read yet.
 * Returns 0, or -1 with *f.
 */
int compare_begin(struct job *, struct fault *f);
void compare_free(struct compare *);

/*
 * The lead's: compare all, by all workers, and write what differs to map=.
 */
void compare_run(struct job *);

#endif
