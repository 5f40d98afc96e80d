/*
 * A file (base=, map=) may say what the target has already, and that is not
 * copied again.  Before we trust it, we read samples: are this source and this
 * target those that the file was made with?
 */
#ifndef PARDD_TRUST_H
#define PARDD_TRUST_H

#include <stdatomic.h>

#include "base/fault.h"
#include "copy/junk.h"
#include "digest/digest_table.h"
#include "map/map.h"
#include "plan/plan.h"

/*
 * Read some ranges of the target and compare them with their digests from
 * base=.  Returns 0, or -1 with *f: a refusal if one differs.  Ranges that
 * cannot be read are passed over.
 */
int trust_base(const struct plan *, struct digest_table *, struct fault *f);

/*
 * The same for the source, and those ranges that are FINISHED in "same": the
 * source claims that they have not changed since the base was written.
 */
int trust_unchanged(const struct plan *, struct digest_table *,
    struct map *same, struct fault *f);

enum { TRUST_BLOCKS = 16 };

struct agreed {			/* equal blocks of both ends, not zeros */
	struct sample at[TRUST_BLOCKS];
	size_t	 n;
	struct sample last;	/* how the last read ended */
};

/*
 * The same for blocks that the map calls finished, at both ends; *a lists those
 * that agreed.  pos is the byte of the copy where the last run stood, or
 * NOWHERE if nothing can be missing that came last: blocks around it are read
 * first.  stop may be NULL; once it is set, no more are read.
 */
int trust_map(const struct plan *, struct map *, uint64_t pos,
    const atomic_bool *stop, struct agreed *a, struct fault *f);

#endif
