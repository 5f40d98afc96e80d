/*
 * What a device mapper device consists of, in simple cases.
 */
#ifndef PARDD_DM_H
#define PARDD_DM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dm_piece {		/* bytes */
	uint64_t start, length;	/* this range of the device */
	dev_t	 node;		/* lies on this node, */
	uint64_t off;		/* from here on */
};

/*
 * Get the pieces of a device that is linear throughout, as logical volumes
 * usually are.  Returns 0 or an errno value: ENOTSUP for other targets, E2BIG
 * if there are more than "room".
 */
int dm_pieces(dev_t node, struct dm_piece *, size_t room, size_t *n);

/*
 * Get the ranges of other nodes, from off on, that a device of linear and
 * striped targets lies on, without regard to which of its bytes are where.
 * Returns as dm_pieces.
 */
int dm_ranges(dev_t node, struct dm_piece *, size_t room, size_t *n);

#endif
