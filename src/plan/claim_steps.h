/*
 * The steps of a claim: a single node, the disk of the target, and whatever
 * lies below it or shares its bytes.  Each returns 0, or -1 with *f
 * (STATUS_REFUSED); what was claimed before stays in *c.
 */
#ifndef PARDD_CLAIM_STEPS_H
#define PARDD_CLAIM_STEPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "disk/disk.h"
#include "disk/usage.h"
#include "plan/claim.h"
#include "plan/plan.h"

struct range {			/* of a disk or partition */
	uint64_t from, to;	/* bytes; "to" is exclusive */
};

/* claim_node.c: the kinds of use that force= allows. */
unsigned claim_passed_over(const struct plan *);

/*
 * Refuse because "node" is in use as *use says, or because that could not be
 * looked up.  Both return -1.
 */
int claim_in_use(struct fault *, const char *name, const char *node,
    const struct usage *use);
int claim_not_known(struct fault *, const char *name, const char *node,
    const struct usage *use);

/*
 * Open a node by its usual name, or the target by the name it was given; "how"
 * has flags besides O_RDONLY.  Returns -1 with errno.
 */
int claim_open_node(const struct claims *, dev_t node, const char *kernel_name,
    int how);

/* Refuse if the node is in use, or may be, in a way that is not allowed. */
int claim_check_node(const struct claims *, dev_t node,
    const char *kernel_name, struct fault *f);

/* The same for locked ranges of a file or node: see usage_of_locks. */
int claim_check_ranges(const struct claims *, int fd, const char *name,
    struct fault *f);

/*
 * Check that nobody else has locked a partition.  It is not kept open, because
 * it may be removed.
 */
int claim_check_lock(const struct claims *, const struct disk_part *,
    struct fault *);

/* Claim and lock a node, unless it is held already. */
int claim_node(struct claims *, dev_t node, const char *kernel_name,
    struct fault *f);

/*
 * Keep a node open whose bytes are claimed through another one: its page cache
 * may hold data to be written back.
 */
void claim_keep_node(struct claims *, const struct disk_part *);

/* Lock a node that is not claimed, unless it is locked already. */
int claim_lock(struct claims *, dev_t node, const char *name, struct fault *f);

/*
 * claim_disk.c: claim a disk or partition in which the range is written.
 * Partitions may overlap: everything that shares these bytes is claimed.
 */
int claim_disk(struct claims *, const struct disk *, struct range,
    struct fault *f);

/*
 * Refuse a disk because sysfs cannot say, with err, what it belongs to or which
 * partitions it has, so that their users are unknown.
 */
int claim_unknown(struct claims *, const struct disk *, int err,
    struct fault *f);

/*
 * claim_below.c: other paths to the disk; and the disk with these, with all
 * that lies below it, and with what else lies there.
 */
int claim_paths(struct claims *, const struct disk *, struct range,
    struct fault *f);
int claim_bytes(struct claims *, const struct disk *, struct range,
    struct fault *f);

/*
 * The same for each disk that the server of the target has open to write, if it
 * is a process of this machine; refuse if a file that it has open is in use.
 */
int claim_served(struct claims *, struct fault *f);

/*
 * Check that nobody has locked a range of the file; such locks belong to the
 * file, whatever its name.  Does nothing if the name leads to another file than
 * *is (device and inode), as the name of a loop device's file may.
 */
int claim_check_path(const struct claims *, const char *path,
    const struct stat *is, const char *what, struct fault *f);

#endif
