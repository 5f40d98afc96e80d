/*
 * compare=1: both ends are read, and differences reported.
 */
#ifndef PARDD_COMPARE_H
#define PARDD_COMPARE_H

#include <stdatomic.h>

#include "base/fault.h"
#include "copy/job.h"
#include "end/endpoint.h"
#include "map/map.h"

struct compare {
	struct map	 differ;	/* BAD: differs; has its own lock */
	atomic_uint_fast64_t compared;	/* bytes, with holes */
	atomic_uint	 told;	/* ranges that differ, before joining */
	const struct endpoint *longer;	/* I, of streams under job.order */
};

/*
 * Check that map=, if given, can be created: a file that exists already is
 * refused.  Returns 0, or -1 with *f.
 */
int compare_look(const struct plan *, struct fault *f);

/*
 * Prepare a job that has a map, after compare_look; nothing is read yet.
 * Returns 0, or -1 with *f.
 */
int compare_begin(struct job *, struct fault *f);
void compare_free(struct compare *);

/*
 * For the lead: compare everything with all workers, and write the differences
 * to map=.
 */
void compare_run(struct job *);

#endif
