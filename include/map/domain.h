/*
 * What is to be copied at all: ranges that a map leaves out, wherever they come
 * from: a file (domain=), or what file systems call free (used=).
 */
#ifndef PARDD_DOMAIN_H
#define PARDD_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "map/map.h"

/* Ranges to be left out, in bytes of the source; false at their end. */
struct domain_source {
	bool	       (*next)(void *arg, struct seg *);
	void		*arg;
};

/*
 * Make OUTSIDE what the source of ranges yields, in a map whose first byte is
 * "from" of the source.  Returns 0 or ENOMEM.
 */
int domain_apply(struct map *, uint64_t from, struct domain_source *);

#endif
