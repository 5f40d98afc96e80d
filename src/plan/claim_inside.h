/*
 * What the two parts of the claims share: those of a disk (claim_disk.c), and
 * what else has the same bytes, and who uses a file (claim.c).
 */
#ifndef PARDD_CLAIM_INSIDE_H
#define PARDD_CLAIM_INSIDE_H

#include <stdint.h>

#include "disk/stack.h"
#include "disk/usage.h"
#include "plan/claim.h"

struct range {			/* of a disk or partition */
	uint64_t from, to;	/* bytes; "to" is exclusive */
};

struct beside {			/* what else lies on a place */
	struct claims	*c;
	const struct stack_place *place;
	struct fault	*f;
};

/* All of these return 0, or -1 with *f (STATUS_REFUSED). */

/*
 * Refuse "node" if it is used as *use says, or may be.  "used" is what looked
 * for that has returned.
 */
int claim_judge(const struct claims *, const char *node, bool used,
    const struct usage *use, struct fault *f);

/* Refuse if ranges of a file or node are locked: see usage_of_locks. */
int claim_check_ranges(const struct claims *, int fd, const char *name,
    struct fault *f);

/* Lock a node that is not claimed, unless it is locked already. */
int claim_lock(struct claims *, dev_t node, const char *name, struct fault *f);

/*
 * Refuse a disk because sysfs cannot say, with err, what it belongs to or which
 * partitions it has, so that their users are unknown.
 */
int claim_unknown(struct claims *, const struct disk *, int err,
    struct fault *f);

/*
 * Claim a disk or partition in which the range is written.  Partitions may
 * overlap: everything that shares these bytes is claimed.
 */
int claim_disk(struct claims *, const struct disk *, struct range,
    struct fault *f);

/*
 * A dm or md device holds its members, and so do others with the same members.
 * But on those bytes, place i of the stack, there may be devices that no claim
 * excludes: loop devices, overlapping partitions, and other dm devices.
 */
int claim_member(struct claims *, const struct stack *, size_t i,
    struct fault *f);

#endif
