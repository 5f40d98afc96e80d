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

/*
 * Whether nothing is left of what the device lies on; then all of its blocks
 * are alike.
 */
bool below_gone(dev_t node);

/*
 * Check that the first "end" bytes of the device are those of what it lies on.
 * A loop device may read as zeros (Linux before 6.10) where its file was
 * truncated, or its disk has shrunk or was removed, without an error.  Returns
 * 0, or -1 with *f, also for lack of descriptors or memory.
 */
int below_kept(dev_t node, uint64_t end, struct fault *f);

enum { BELOW_LOOPS = 8 };

struct below_place {		/* where the first "end" bytes lie */
	uint64_t end;
	bool	 stacked;	/* on something else; else that is all */
	uint64_t places;	/* a number for them, and for their media, */
	uint64_t devices;	/* and one without files, */
	bool	 silent;	/* of which one does not answer */
	unsigned loops;		/* the first loop devices among them: */
	int	 offset[BELOW_LOOPS];	/* open attributes of sysfs, */
	uint64_t offsets;	/* and a number for what they said */
};

/*
 * Note where the first "end" bytes of a device lie.  Returns 0, or an errno
 * value if that cannot be asked for lack of descriptors or memory; below_forget
 * closes what it opened, in any case.  below_elsewhere tells whether they have
 * come to lie elsewhere since (1) or not (0), or returns -1 with errno for the
 * same lack.  Where they are only known to be somewhere on the members of a
 * device, as of multipath and RAID, those may change while the bytes stay, and
 * do not count; nor does a file that does not answer, or did not: then its loop
 * device is the same if its medium has the same number.
 */
int below_locate(dev_t node, uint64_t end, struct below_place *);
int below_elsewhere(dev_t node, const struct below_place *was);
void below_forget(struct below_place *);

/*
 * Whether a loop device among them begins elsewhere now; asked after each
 * transfer, because it may be set back before the end.
 */
bool below_shifted(const struct below_place *);

/*
 * Open the file that a loop device, or a partition of one, lies on, even
 * through other loop devices; the descriptor is for queries only.  *start is
 * the byte in the file where the device begins.  Returns -1 if there is no such
 * file, or it cannot be found by its name; errno says which call failed.
 */
int below_file(dev_t node, uint64_t *start);

/* Whether there is such a file, and its st_dev and st_ino. */
struct stat;
bool below_has_file(dev_t node, struct stat *);

/*
 * How many writes and discards the loop devices above that file have done.  If
 * the file changes and this number does not, someone else wrote to the file.
 */
uint64_t below_writes(dev_t node);

/*
 * Call fn for each node that a dm or md device lies on, directly or through
 * others, with its kernel name, until it returns something other than 0; that
 * is returned.  An errno value if there may be more nodes, which could not be
 * looked up for lack of a descriptor or of memory.
 */
int below_each(dev_t node, int (*fn)(dev_t node, const char *name, void *arg),
    void *arg);

#endif
