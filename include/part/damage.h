/*
 * What a rescue left unread, by partitions, and how to name the files hit.
 */
#ifndef PARDD_DAMAGE_H
#define PARDD_DAMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "map/map.h"
#include "part/fsmap.h"
#include "part/fsnames.h"
#include "plan/plan.h"

struct loss {			/* bytes of a file system that were lost, */
	bool	 known;		/* if there is one; together they are ->bytes */
	enum fs_state state;	/* but for clean, "free" is a guess */
	uint64_t free;		/* nothing was there */
	uint64_t structures;	/* its own: bitmaps, inodes, directories ... */
	uint64_t files;		/* all else */
};

struct damage_area {		/* a partition, or all of the source */
	unsigned number;	/* the partition's; 0: the whole, or */
	bool	 outside;	/* what lies in no partition */
	char	 type[32];	/* as blkid(8) says; "" when not known */
	char	 label[128];	/* as it comes; "" without */
	uint64_t off, len;	/* bytes of the source; 0, 0 for outside */
	uint64_t bytes, ranges;	/* of it, not read */
	struct loss loss;
	struct fs_names files;	/* hit */
	char	*command;	/* for a shell: names the files; or NULL */
	uint64_t more;		/* ranges that the command leaves out */
};

struct damage {
	struct damage_area *area;	/* only those that have any */
	size_t	 n;
	int	 table;	/* enum table, of parts.h: where they are from */
};

/*
 * Look at the target, which is whole where the source is not: its partition
 * table, or a GPT's backup, and the beginnings of its partitions, as far as the
 * map says that they were read.  Fills *d, with nothing when nothing is
 * missing, or when the copy does not begin where the source or its partition
 * does.  Before the target is closed.
 */
void damage_make(struct damage *d, const struct plan *, struct map *);
void damage_free(struct damage *d);

/* Whether all files hit are known by their names. */
bool damage_all_named(const struct damage_area *);

#endif
