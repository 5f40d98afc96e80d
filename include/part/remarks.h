/*
 * What the partition tables of both ends say about a plan: to be told, not to
 * be decided by.
 */
#ifndef PARDD_REMARKS_H
#define PARDD_REMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "end/ata.h"
#include "part/parts.h"
#include "plan/fit.h"
#include "plan/plan.h"

enum lies {			/* a border of the range, among partitions */
	LIES_DISK,		/* at the first or last byte of the disk */
	LIES_BORDER,		/* at a partition's own first or last byte */
	LIES_INSIDE,		/* within a partition, not at its border */
	LIES_OUTSIDE,		/* in a gap */
	LIES_OPEN,		/* not known: where a stream ends */
};

struct border {
	enum lies lies;
	unsigned number;	/* of the partition */
	uint64_t bytes;		/* from the partition's like border */
};

struct span {			/* a range given by hand */
	bool	 odd;		/* it is neither partitions nor the disk */
	struct border from, to;
};

enum { BEYOND_MOST = 8 };

struct beyond {			/* partitions of the source that end behind */
	unsigned number[BEYOND_MOST];	/* the copy of another one: these, */
	size_t	 n;			/* or that many */
	uint64_t end;			/* bytes; of the last of all */
};

enum slip {			/* what is seldom meant */
	SLIP_NONE,
	SLIP_PACKED,		/* a compressed file goes onto a device as it
				 * is */
	SLIP_OVER_TABLE,	/* a file system, onto a disk with partitions */
	SLIP_NESTED,		/* a disk with partitions, into a partition */
	SLIP_BLANK,		/* zeros, onto a device that holds something */
};

struct remarks {
	struct span src, dst;
	struct beyond beyond;
	bool	 crowded;	/* the target's file system, for now: */
	struct fit fit;
	struct ata_hidden hidden;	/* what the source does not show */
	enum slip slip;
	char	 kind[32];	/* of SLIP_PACKED: what unpacks it; of
				 * SLIP_OVER_TABLE: the file system */
	/* Of the clone of a disk, when it is complete: */
	bool	 backup_astray;	/* its backup GPT is not at the disk's end */
	uint32_t table_sector;	/* bytes its table counts in, if the target */
				/* has sectors of another size; else 0 */
	struct sign *sign;	/* what will be overwritten */
	size_t	 signs;
};

/*
 * Look.  Reads nothing unless it matters: the target is a device, or the range
 * was given by hand, or a disk is cloned to another kind of disk, or (thorough)
 * what is overwritten is to be told.  An end that cannot be read says nothing.
 */
void remarks_make(struct remarks *, const struct plan *, bool thorough);

/*
 * The bytes of a clone that has all partitions, where the whole disk does not
 * fit; else 0.  Reads the source's table, where that is so.
 */
uint64_t remarks_needed(const struct plan *);
void remarks_free(struct remarks *);

#endif
