/*
 * What a file says that the target has is not copied again.  Before that is
 * believed some of it is read: is this the target, and the source, that the
 * file was made with?
 */
#ifndef PARDD_TRUST_H
#define PARDD_TRUST_H

#include <stdatomic.h>

#include "base/fault.h"
#include "digest/digest_table.h"
#include "map/map.h"
#include "plan/plan.h"

/*
 * Read some ranges of the target, and hold them against their digests, as base=
 * has them.  Returns 0, or -1 with *f: a refusal where one differs.  What
 * cannot be read says nothing.
 */
int trust_base(const struct plan *, struct digest_table *, struct fault *f);

/*
 * The same of the source, and of those ranges that are FINISHED: it says that
 * they are as they were when the base was written.
 */
int trust_unchanged(const struct plan *, struct digest_table *,
    struct map *same, struct fault *f);

enum { TRUST_BLOCKS = 16 };

struct agreed {			/* blocks of both ends that are no zeros */
	uint64_t at[TRUST_BLOCKS];	/* bytes of the source */
	size_t	 n;
};

/*
 * The same for blocks of both ends that the map calls finished; *a is what they
 * were.  stop may be NULL; once it is set no more are read.
 */
int trust_map(const struct plan *, struct map *, const atomic_bool *stop,
    struct agreed *a, struct fault *f);

#endif
