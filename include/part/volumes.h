/*
 * The partitions that are copied, and their file systems.
 */
#ifndef PARDD_VOLUMES_H
#define PARDD_VOLUMES_H

#include <stddef.h>
#include <stdint.h>

#include "map/map.h"
#include "plan/plan.h"

struct volume_row {
	unsigned number;	/* number; 0: no partitions */
	uint64_t off, len;	/* bytes of the source */
	char	 type[32];	/* as blkid(8) has it; "" if unknown */
	char	 label[128];	/* as it is on the disk, or "" */
};

struct volumes {
	char	 table[8];	/* "gpt", "dos"; "": no table */
	struct volume_row *row;	/* volumes_free frees them */
	size_t	 n;
};

/*
 * Examine the source.  *v is empty if it has no contents of its own, cannot be
 * read, or without memory. volumes_free frees it.
 */
void volumes_of_source(struct volumes *v, const struct plan *);

/*
 * The same for a rescue, whose source is left alone: uses what the target has
 * according to the map.  *v is empty unless the copy begins at the first byte
 * of both ends.
 */
void volumes_rescued(struct volumes *v, const struct plan *, struct map *);
void volumes_free(struct volumes *v);

#endif
