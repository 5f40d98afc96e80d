/*
 * What a rescue could not read, by partition, and which files that hits.
 */
#ifndef PARDD_DAMAGE_H
#define PARDD_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/fsmap.h"
#include "map/map.h"
#include "plan/plan.h"

struct loss {			/* lost bytes of a file system */
	bool	 known;		/* there is one; the rest adds up to ->bytes */
	enum fs_state state;	/* unless FS_CLEAN, "free" is a guess */
	uint64_t free;		/* in free space */
	uint64_t structures;	/* in bitmaps, inodes, directories ... */
	uint64_t files;		/* everything else */
};

struct damage_area {		/* a partition, or the whole source */
	unsigned number;	/* partition; 0: the whole source, or */
	bool	 outside;	/* everything outside of partitions */
	char	 type[32];	/* as blkid(8) has it; "" if unknown */
	char	 label[128];	/* as it is on the disk, or "" */
	uint64_t off, len;	/* bytes of the source; 0, 0 for "outside" */
	uint64_t bytes, ranges;	/* not read, */
	uint64_t later;		/* bytes of these that may yet be */
	struct loss loss;
	struct fs_names files;	/* that are hit */
	bool	 closed;	/* some of it is encrypted, and not looked
				 * into */
	char	*command;	/* shell command to find the files; or NULL */
	uint64_t more;		/* ranges that do not fit into the command */
};

struct damage {
	struct damage_area *area;	/* only areas with losses */
	size_t	 n;
	int	 table;	/* enum table (parts.h): where areas are from */
};

/*
 * Examine the target, which has what was read: the partition table, or the
 * backup of a GPT, and the start of each partition, as far as the map says that
 * they were read.  *d is empty if nothing is missing, or if the copy does not
 * begin where the source or its partition does.  Call before the target is
 * closed.
 */
void damage_make(struct damage *d, const struct plan *, struct map *);
void damage_free(struct damage *d);

/* Whether the names of all files that are hit are known. */
static inline bool
damage_all_named(const struct damage_area *a)
{
	return a->files.known && !a->files.more;
}

#endif
