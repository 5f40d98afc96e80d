/*
 * The domain of a copy: ranges that the map leaves out, because a file says so
 * (domain=) or because a file system calls them free (used=).
 */
#ifndef PARDD_DOMAIN_H
#define PARDD_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "map/map.h"

/* Yields the ranges to leave out, in bytes of the source; false at the end. */
struct domain_source {
	bool	       (*next)(void *arg, struct seg *);
	void		*arg;
};

/*
 * Mark the ranges as OUTSIDE, in a map whose first byte is byte "from" of the
 * source.  Returns 0 or ENOMEM.
 */
int domain_apply(struct map *, uint64_t from, struct domain_source *);

#endif
