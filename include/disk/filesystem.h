/*
 * What a file lies on, if st_dev does not tell: btrfs and overlayfs make up a
 * number (major 0) that is no device's.
 */
#ifndef PARDD_FILESYSTEM_H
#define PARDD_FILESYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What st_dev of a file is: a name in "folder" or, where that is "", itself. */
struct located {
	int		 folder;	/* a descriptor, or AT_FDCWD */
	const char	*name;
	dev_t		 dev;
	ino_t		 ino;		/* it must still be this file */
};

/*
 * The block devices that a file's bytes may lie on; none where they come from
 * memory or from another machine.  Returns an errno where that is not known,
 * E2BIG for more than there is room.
 */
int filesystem_disks(const struct located *, dev_t *node, size_t room,
    size_t *n);

/*
 * Whether the node is a disk of the btrfs that the table of mounts names by
 * another, "source".
 */
bool filesystem_has(const char *source, dev_t node);

#endif
