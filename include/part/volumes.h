/*
 * What is copied, by partitions: where each lies, and its file system.
 */
#ifndef PARDD_VOLUMES_H
#define PARDD_VOLUMES_H

#include <stddef.h>
#include <stdint.h>

#include "map/map.h"
#include "plan/plan.h"

struct volume_row {
	unsigned number;	/* the partition's; 0: there are none */
	uint64_t off, len;	/* bytes of the source */
	char	 type[32];	/* as blkid(8) says; "" when not known */
	char	 label[128];	/* as it comes; "" without */
};

struct volumes {
	char	 table[8];	/* "gpt", "dos"; "": there is none */
	struct volume_row *row;	/* volumes_free frees them */
	size_t	 n;
};

/*
 * Look at the source.  Fills *v, with nothing where that has no contents of its
 * own, cannot be read, or there is no memory.
 */
void volumes_of_source(struct volumes *v, const struct plan *);

/*
 * The same of a rescue, whose source is left alone: the target tells what the
 * map says was read.  Nothing where the copy does not begin at the first byte
 * of both ends.
 */
void volumes_rescued(struct volumes *v, const struct plan *, struct map *);
void volumes_free(struct volumes *v);

#endif
