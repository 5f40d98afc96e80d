/*
 * What a device mapper's device is made of, where that is simple.
 */
#ifndef PARDD_DM_H
#define PARDD_DM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dm_piece {		/* bytes */
	uint64_t start, length;	/* of the device, */
	dev_t	 node;		/* lie on this one, */
	uint64_t off;		/* from here on */
};

/*
 * The pieces of a device that is linear throughout, as a logical volume mostly
 * is.  Returns an errno: ENOTSUP for another kind of target, E2BIG for more
 * pieces than there is room.
 */
int dm_pieces(dev_t node, struct dm_piece *, size_t room, size_t *n);

#endif
