/*
 * Remarks on a plan, from the contents of both ends.  They are printed, and
 * decide nothing.
 */
#ifndef PARDD_REMARKS_H
#define PARDD_REMARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "part/parts.h"
#include "plan/fit.h"
#include "plan/plan.h"
#include "scsi/scsi.h"

enum lies {			/* where a boundary of the range lies */
	LIES_DISK,		/* at the start or end of the disk */
	LIES_BORDER,		/* at the start or end of a partition */
	LIES_INSIDE,		/* elsewhere within a partition */
	LIES_OUTSIDE,		/* in no partition */
	LIES_OPEN,		/* unknown: where a stream ends */
};

struct border {
	enum lies lies;
	unsigned number;	/* of that partition */
	uint64_t bytes;		/* from the partition's own boundary */
};

struct span {			/* a range given by the user */
	bool	 odd;		/* not whole partitions or the disk */
	struct border from, to;
};

enum { BEYOND_MOST = 8 };

struct beyond {			/* partitions of the source that a copy cuts */
	unsigned number[BEYOND_MOST];	/* or leaves out: their numbers, */
	size_t	 n;			/* and how many there are */
	uint64_t end;			/* bytes: end of the last one */
};

enum slip {			/* probably a mistake */
	SLIP_NONE,
	SLIP_OVER_TABLE,	/* a file system goes onto a partitioned disk */
	SLIP_NESTED,		/* a partitioned disk goes into a partition */
	SLIP_BLANK,		/* zeros go onto a device with contents */
};

struct remarks {
	struct span src, dst;
	struct beyond beyond;
	char	 cut[CUT_ROOM];	/* the file system that the range cuts, and
				 * what to do first; or "" */
	char	 torn[384];	/* what the source is too short for, a file
				 * that is copied to its end; or "" */
	struct fit fit;		/* into the file system of the target */
	struct ata_hidden hidden;	/* in the source */
	enum slip slip;
	char	 kind[32];	/* SLIP_OVER_TABLE: the file system */
	const struct packing *packed;	/* what the source is, and goes as it is
					 * onto a device, or into a file that
					 * is not named so; NULL */
	const struct packing *misnamed;	/* what the target is called, and will
					 * not be; NULL */
	/* For the clone of a disk, once complete: */
	bool	 backup_astray;	/* its backup GPT is not at its end */
	uint32_t table_sector;	/* sector size of its table, if that of */
				/* the target differs; else 0 */
	struct sign *rest;	/* what is still found behind the copy */
	size_t	 rests;
	struct sign *sign;	/* what will be overwritten */
	size_t	 signs;
};

/*
 * Collect remarks, for each target of the plan; the source is looked at once.
 * Reads only if it may matter: the target is a device, the
 * user gave a range, a disk is cloned to another kind of disk, or (thorough)
 * the report says what is overwritten.  An end that cannot be read yields none.
 */
void remarks_make(struct remarks *const found[], const struct plan *,
    bool thorough);

/*
 * After the copy: what was not known before, because the source is a stream.
 * The target is still open.
 */
void remarks_of_stream(struct remarks *, const struct plan *);

/*
 * Whether the copy is probably a slip, and would overwrite something: an empty
 * source, a file system onto partitions, a range that cuts one of these.
 */
bool remarks_doubtful(const struct plan *);

/*
 * If the source does not fit: the bytes that would contain all its partitions,
 * or its file system; then "cut" says what less would cut.  Else 0.  May read
 * the start of the source.
 */
uint64_t remarks_needed(const struct plan *, char cut[CUT_ROOM]);
void remarks_free(struct remarks *);

/* Say what the source is, with the command to use instead. */
void packed_tell(const struct packing *, const struct plan *, char *text,
    size_t room);

/* Say that the target is not what its name says, and how to make that. */
void packed_tell_misnamed(const struct packing *, const struct plan *,
    char *text, size_t room);

#endif
