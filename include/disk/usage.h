/*
 * Who uses a block device or a file, according to the kernel.
 */
#ifndef PARDD_USAGE_H
#define PARDD_USAGE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum usage_kind {			/* also as a set of bits */
	USE_NONE = 0,
	USE_MOUNTED = 1 << 0,
	USE_SWAP = 1 << 1,
	USE_HELD = 1 << 2,
	USE_LOOPED = 1 << 3,
};

/* In a set "but": loop devices that cannot write. */
#define USE_LOOPED_TO_READ	(1U << 4)

struct usage {
	enum usage_kind kind;
	bool	 writable;	/* mounted read-write */
	unsigned unknown;	/* kinds that could not be checked, */
	int	 err;		/* because of this errno value */
	char	 unread[64];	/* from this file */
	char	 by[PATH_MAX];	/* mount point, holder, loop device ... */
};

/*
 * Whether anybody uses this block node itself (not its partitions) in a way
 * that is not in the set "but", and who.  Does not see what programs have
 * opened, or mounts in other namespaces: that takes a claim.  A claim sees
 * holders too, so they are never unknown.
 */
bool usage_of_node(dev_t node, unsigned but, struct usage *);

/*
 * Whether anybody uses a regular file in a way that is not in the set "but",
 * and who: as swap space, by a loop device, or the kernel exports it.
 */
bool usage_of_file(dev_t dev, ino_t ino, unsigned but, struct usage *);

/*
 * Whether another program has locked a range of what is open as fd (fcntl), as
 * QEMU does while a guest uses an image: USE_HELD, also in unknown.  Locks
 * between copies are beyond any position in a file, and do not count.
 */
#define LOCKS_OF_COPIES	(UINT64_C(1) << 62)
bool usage_of_locks(int fd, struct usage *);

/*
 * The same for block nodes of which "is" is true, but by whatever inode they
 * were opened: a lock belongs to an inode, and libvirt makes nodes of its own
 * for each guest.  Only processes that /proc shows are seen.
 */
bool usage_of_locked(bool (*is)(dev_t node, void *arg), void *arg,
    struct usage *);

#endif
