/*
 * NTFS: shared by the readers of records (fsntfs_record.c), and of the bitmap
 * and names (fsntfs.c).
 */
#ifndef PARDD_FSNTFS_H
#define PARDD_FSNTFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fsread.h"

enum {				/* offsets and values in a record of $MFT, and
				 * in attributes */
	NTFS_RECORD_MOST = 4096, NTFS_STRIDE = 512,
	R_FIX = 4, R_FIXES = 6, R_SEQUENCE = 16, R_ATTRIBUTES = 20,
	R_FLAGS = 22, R_BASE = 32,
	R_IN_USE = 1, R_DIR = 2,
	A_LENGTH = 4, A_OUTSIDE = 8, A_NAMED = 9,
	A_VALUE_SIZE = 16, A_VALUE = 20, A_INSIDE_SIZE = 24,
	A_FIRST = 16, A_RUNS = 32, A_SIZE = 48, A_VALID = 56,
	A_OUTSIDE_SIZE = 64,
	AT_LIST = 0x20, AT_NAME = 0x30, AT_LABEL = 0x60, AT_VOLUME = 0x70,
	AT_DATA = 0x80, AT_INDEX_ROOT = 0x90, AT_INDEX = 0xa0,
};

enum {				/* numbers of the first records */
	N_MFT, N_MIRROR, N_LOG, N_VOLUME, N_ROOT = 5, N_BITMAP, N_BAD = 8,
	N_SYSTEM = 12,		/* how many there are */
	N_MIRRORED = 4,
	N_FIRST = 16,		/* the first of all others */
};

struct ntfs_part {		/* part of $MFT: bytes */
	uint64_t first;		/* in its contents */
	uint64_t at, len;	/* on the volume */
};

struct ntfs {
	struct fs_io	*io;
	uint64_t	 cluster;	/* bytes */
	uint64_t	 clusters;
	bool		 longer;	/* there should be more */
	uint64_t	 end;		/* byte of the second boot sector */
	unsigned char	 boot[69];	/* the geometry, as in the first */
	uint64_t	 mft, mirror;	/* bytes */
	uint32_t	 record;	/* bytes */
	uint64_t	 lost;		/* bytes of $Bitmap */
	uint32_t	 index;		/* bytes, of a block of names */
	unsigned char	*buf;		/* FS_PIECE */
	struct ntfs_part *part;		/* all of $MFT, once known */
	size_t		 parts;
};

struct ntfs_run {		/* of clusters */
	const unsigned char *at, *end;	/* the rest, still encoded */
	uint64_t lcn, n;
	bool	 hole;
};

/*
 * Find the boot sector or, unless only proof counts, its backup at the end,
 * which makes the file system doubtful.  Returns false if there is none.
 */
bool ntfs_boot(void *state);

/*
 * Whether a second boot sector is where the volume ends, and has the geometry
 * of the first.  One that spans several disks has it elsewhere.
 */
bool ntfs_boot_copy(struct ntfs *);

/* Undo the fix-ups; false if it was not written completely. */
bool ntfs_mend(unsigned char *, size_t size, const char *magic);

/* The next attribute of a kind (0: any) after "a", or NULL. */
const unsigned char *ntfs_attribute(const struct ntfs *,
    const unsigned char *record, const unsigned char *a, uint32_t kind);

/* Whether "a" is the last one (NULL: there is none), and nothing is lost. */
bool ntfs_over(const struct ntfs *, const unsigned char *record,
    const unsigned char *a);

/* The value of a resident attribute of at least "size" bytes. */
const unsigned char *ntfs_value(const unsigned char *a, size_t size,
    size_t *has);

/* The runs of a non-resident attribute. */
struct ntfs_run ntfs_runs(const unsigned char *a);

/*
 * The next run; false at the end, or if it leaves the volume, where ->at stays.
 */
bool ntfs_next(const struct ntfs *, struct ntfs_run *);

/* The position of a byte of an attribute's contents, or UINT64_MAX. */
uint64_t ntfs_place(const struct ntfs *, const unsigned char *a, uint64_t off);

/* Read one of the first records, by the runs of $MFT itself. */
bool ntfs_system_record(struct ntfs *, unsigned number, unsigned char *r);

/*
 * Call "take" with each record that has attributes of a kind, according to the
 * attribute list of record r.  Returns false if one cannot be read, or "take"
 * returns false.
 */
typedef bool ntfs_take(struct ntfs *, const unsigned char *record, void *arg);
bool ntfs_others(struct ntfs *, const unsigned char *r, uint64_t number,
    uint32_t kind, ntfs_take *take, void *arg);

/*
 * Locate all of $MFT: n->part, malloc'ed, the caller frees it.  Returns false
 * if part of it is unknown.
 */
bool ntfs_mft(struct ntfs *);

/*
 * The position of a byte of $MFT, and how many follow contiguously; UINT64_MAX:
 * unknown.
 */
uint64_t ntfs_mft_place(const struct ntfs *, uint64_t off, uint64_t *row);

/* Read any record, by these parts; false if that is not possible. */
bool ntfs_record(struct ntfs *, uint64_t number, unsigned char *r);

#endif
