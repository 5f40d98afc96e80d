/*
 * Whether what a copy writes has room on the file system of its target.
 */
#ifndef PARDD_FIT_H
#define PARDD_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

struct fit {
	uint64_t need;		/* bytes that are sure to take room there */
	uint64_t room;		/* bytes that there are for them */
};

/*
 * Whether it cannot fit, however empty that file system was; or not now, and
 * then the target's own blocks are room, too.  Fills *fit where so.  What is
 * not known is no reason: where the end of the source is, what is zeros and
 * becomes holes, what is shared, what a file system packs.
 */
bool fit_never(const struct plan *, struct fit *);
bool fit_not_now(const struct plan *, struct fit *);

#endif
