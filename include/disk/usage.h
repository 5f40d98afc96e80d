/*
 * Who uses a block device or a file, as the kernel's tables tell.
 */
#ifndef PARDD_USAGE_H
#define PARDD_USAGE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum usage_kind {			/* and sets of them */
	USE_NONE = 0,
	USE_MOUNTED = 1 << 0,
	USE_SWAP = 1 << 1,
	USE_HELD = 1 << 2,
	USE_LOOPED = 1 << 3,
};

struct usage {
	enum usage_kind kind;
	bool	 writable;	/* mounted read-write */
	unsigned unknown;	/* kinds that could not be looked up, */
	int	 err;		/* for this errno, */
	char	 unread[64];	/* in this file */
	char	 by[PATH_MAX];	/* mount point, holder, loop device ... */
};

/*
 * Whether somebody uses this block node itself (not its partitions), in another
 * way than those in the set "but", and who.  What is opened by a program, or
 * mounted elsewhere, is not seen: that takes a claim.  A claim tells of
 * holders, too, so they are never unknown.
 */
bool usage_of_node(dev_t node, unsigned but, struct usage *);

/* The same for a regular file: swap space, a loop device's medium, exported. */
bool usage_of_file(dev_t dev, ino_t ino, unsigned but, struct usage *);

/*
 * Whether another program has a range of what is open as fd locked (fcntl), as
 * QEMU does for as long as a guest has an image: USE_HELD.  The locks by which
 * copies know each other lie behind all that a file may have, and are no such
 * range.
 */
#define LOCKS_OF_COPIES	(UINT64_C(1) << 62)
bool usage_of_locks(int fd, struct usage *);

#endif
