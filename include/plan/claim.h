/*
 * Holding the target: nobody mounts, swaps on or claims what is being written,
 * and what somebody has is not written.
 */
#ifndef PARDD_CLAIM_H
#define PARDD_CLAIM_H

#include <stddef.h>

#include "base/fault.h"
#include "plan/plan.h"

enum { CLAIMS_MOST = 256 };

struct claims {
	int	fd[CLAIMS_MOST];	/* nodes that are claimed with O_EXCL,
					 * or by another one here */
	dev_t	node[CLAIMS_MOST];	/* of those, */
	size_t	n;
	int	lock;			/* flock(2) on the whole disk, unless
					 * that is claimed; or -1 */
	dev_t	locked;			/* that node, */
	const struct claims *others;	/* of targets before, or NULL */
	unsigned over;			/* kinds of use that are passed over */
	const char *name;		/* of the target, in refusals */
};

/*
 * Claim what the plan writes of its target: the partitions that the range
 * touches, or the whole disk if it touches what belongs to no partition; the
 * same of the disk's other paths, of the disk that a loop device lies on, and
 * of other loop devices on those bytes.  What force= names is passed over.
 * What "others" (or NULL) hold is ours.  Returns 0, or -1 with *f
 * (STATUS_REFUSED) that names who has it, and then nothing is held.
 */
int claims_take(struct claims *, const struct claims *others,
    const struct plan *, struct fault *f);
void claims_release(struct claims *);

/*
 * What others have written by the nodes that are held, of the same bytes or
 * more, is in their page caches, and would be written over the copy later:
 * write it back now.  And when the copy has been made: drop what they have
 * cached, which is what was there before.
 */
void claims_settle(const struct claims *);
void claims_forget(const struct claims *);

#endif
