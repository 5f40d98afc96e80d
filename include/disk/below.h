/*
 * What a block device lies on: the disk of a partition, the members of a dm or
 * md device, the file or disk of a loop device.
 */
#ifndef PARDD_BELOW_H
#define PARDD_BELOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

/* Whether it is, or is a part of, a device that lies on others or on a file. */
bool below_any(dev_t node);

/*
 * Whether nothing is left of what the device lies on, so that what it tells of
 * one block it would tell of all.
 */
bool below_gone(dev_t node);

/*
 * Whether the first "end" bytes of the device are those of what it lies on.  A
 * loop device may read as zeros (Linux before 6.10) where its file was cut off,
 * or its disk got smaller or was taken away, and no error tells of it.  Returns
 * 0, or -1 with *f.
 */
int below_kept(dev_t node, uint64_t end, struct fault *f);

/*
 * Open, to be asked, the file that a loop device, or a partition of one, lies
 * on, other loop devices between them or not; *start is where the device begins
 * in it, in bytes.  Returns a descriptor, or -1 where there is no such file, or
 * none by its name here.
 */
int below_file(dev_t node, uint64_t *start);

#endif
