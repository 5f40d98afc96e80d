/*
 * Claiming the target: nobody can mount it, swap on it or claim it while it is
 * being written, and nothing is written that someone uses.
 */
#ifndef PARDD_CLAIM_H
#define PARDD_CLAIM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "plan/plan.h"

enum { CLAIMS_MOST = 256 };

struct claims {
	int	fd[CLAIMS_MOST];	/* nodes claimed with O_EXCL, or through
					 * another one of them; and files,
					 * locked for other copies to see */
	dev_t	node[CLAIMS_MOST];	/* their numbers; (dev_t)-1: a file */
	size_t	n;
	int	lock;			/* flock(2) on the whole disk, unless
					 * that is claimed; or -1 */
	dev_t	locked;			/* the node of "lock" */
	const struct claims *others;	/* of earlier targets, or NULL */
	unsigned over;			/* kinds of use that force= allows */
	bool	server_locks;		/* its server has locked the target */
	const char *name;		/* of the target, for refusals */
	const struct plan *plan;	/* of the copy */
};

/*
 * Claim what the plan writes of its target: the partitions that the range
 * touches, or the whole disk if part of the range belongs to no partition.  The
 * same is done for other paths to the disk, for the disk below a loop device,
 * and for other loop devices on the same bytes; and for all that a server on
 * this machine has open to write, if the target is behind it.  Uses allowed by
 * force= are ignored, and what "others" (or NULL) hold counts as ours.  Returns
 * 0, or -1 with *f (STATUS_REFUSED), which names the user; then nothing is
 * held.
 */
int claims_take(struct claims *, const struct claims *others,
    const struct plan *, struct fault *f);
void claims_release(struct claims *);

/*
 * Before the copy: what others have written to the same bytes through the nodes
 * that are held may be in page caches, and would overwrite the copy later;
 * write it back.  When it has been copied: drop those caches, whose data is
 * old.
 */
void claims_settle(const struct claims *, bool copied);

/*
 * After a copy over the partition table of a disk: have the kernel read the new
 * one, where no udev does.  All claims are given up for that.  False if the
 * kernel keeps the partitions that the disk had before.
 */
bool claims_reread(struct claims *);

#endif
