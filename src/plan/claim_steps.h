/*
 * The steps of a claim: one node, the disk that the target is on, and what
 * lies below it, or beside it on the same bytes.  Each returns 0, or -1 with
 * *f (STATUS_REFUSED); what was claimed until then stays in *c.
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

/* claim_node.c: the uses that force= passes over. */
unsigned claim_passed_over(const struct plan *);

/*
 * Refusals.  "node" is in use as *use says; or that could not be
 * looked up.  Both return -1.
 */
int claim_in_use(struct fault *, const char *name, const char *node,
    const struct usage *use);
int claim_not_known(struct fault *, const char *name, const char *node,
    const struct usage *use);

/* Whether somebody uses the node, or may use it, who is not passed over. */
int claim_check_node(const struct claims *, dev_t node,
    const char *kernel_name, struct fault *f);

/* The same of parts of a file or node that are locked, see usage_of_locks. */
int claim_check_ranges(const struct claims *, int fd, const char *name,
    struct fault *f);

/* Nobody else has a partition locked.  It is not kept open: it may go. */
int claim_check_lock(const struct claims *, const struct plan *,
    const struct disk_part *, struct fault *);

/* Claim and lock a node, unless it is held here already. */
int claim_node(struct claims *, const struct plan *, dev_t node,
    const char *kernel_name, struct fault *f);

/*
 * Open a node of bytes that are claimed by another one: what was written by it
 * may still lie in its page cache.
 */
void claim_keep_node(struct claims *, const struct plan *,
    const struct disk_part *);

/* Lock a node that is not claimed, unless it is locked here already. */
int claim_lock(struct claims *, const struct plan *, dev_t node,
    const char *name, struct fault *f);

/*
 * claim_disk.c: a disk, or partition, of which the bytes between from and to
 * are written.  Partitions may overlap: what shares the bytes is claimed, too.
 */
int claim_disk(struct claims *, const struct plan *, const struct disk *,
    uint64_t from, uint64_t to, struct fault *f);

/*
 * A disk of which sysfs does not tell, by err, what it is part of, or what its
 * parts are, and so not who uses those.
 */
int claim_unknown(struct claims *, const struct plan *, const struct disk *,
    int err, struct fault *f);

/*
 * claim_below.c: the disk by its other paths; what a loop device lies on, with
 * all other loop devices there; what a dm or md device is made of.
 */
int claim_paths(struct claims *, const struct plan *, const struct disk *,
    uint64_t from, uint64_t to, struct fault *f);
int claim_below(struct claims *, const struct plan *, const struct disk *,
    uint64_t from, uint64_t to, struct fault *f);
int claim_slaves(struct claims *, const struct plan *, const struct disk *,
    uint64_t from, uint64_t to, int depth, struct fault *f);

/*
 * Nobody has a part of the file locked: locks are the file's, whoever asks, by
 * whatever name.  If the name leads to another file than *is (of which the
 * device and the inode count), as that of a loop device's file may, nothing is
 * said of it.
 */
int claim_check_path(const struct claims *, const char *path,
    const struct stat *is, const char *what, struct fault *f);

#endif
