/*
 * Which disks a file lies on when st_dev does not tell: btrfs and overlayfs
 * make up a number (major 0) that belongs to no device.
 */
#ifndef PARDD_FILESYSTEM_H
#define PARDD_FILESYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * A file with its st_dev: "name" in "directory", or "directory" itself if that
 * is "".
 */
struct located {
	int		 directory;	/* a descriptor, or AT_FDCWD */
	const char	*name;
	dev_t		 dev;
	ino_t		 ino;		/* must still be the same */
};

/*
 * List the block devices that a file's bytes may lie on; none if they are in
 * memory or on another machine.  Returns 0 or an errno value; E2BIG if there
 * are more than "room".
 */
int filesystem_disks(const struct located *, dev_t *node, size_t room,
    size_t *n);

/*
 * Whether the node is a disk of the btrfs that the mount table lists under
 * another, "source".
 */
bool filesystem_has(const char *source, dev_t node);

#endif
