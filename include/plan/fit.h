/*
 * Whether the copy fits on the file system of its target.
 */
#ifndef PARDD_FIT_H
#define PARDD_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

struct fit {
	uint64_t need;		/* bytes that are certainly needed */
	uint64_t room;		/* bytes available */
};

/*
 * fit_never: whether it cannot fit even if that file system were empty.
 * fit_not_now: whether it does not fit at present, counting the target's own
 * blocks as free.  If so, *fit has the numbers.  What is unknown is no
 * objection: the length of the source, zeros that become holes, what used= and
 * bmap= leave out, shared blocks, compression.
 */
bool fit_never(const struct plan *, struct fit *);
bool fit_not_now(const struct plan *, struct fit *);

#endif
