/*
 * FAT12, FAT16, FAT32: what their tables (fsfat.c) and names (fsfat_names.c)
 * are read with.
 */
#ifndef PARDD_FSFAT_H
#define PARDD_FSFAT_H

#include <stdbool.h>
#include <stdint.h>

#include "fskinds.h"

enum { FAT_BOOT = 512 };	/* bytes, of the boot sector */

enum {				/* of an entry of a folder */
	FAT_ENTRY = 32, FAT_DELETED = 0xe5,
	FAT_FOLDER = 0x10, FAT_VOLUME = 0x08, FAT_KINDS = 0x3f,	/* bits */
	FAT_LONG = 0x0f,	/* a part of a long name */
};

struct fat {
	struct fs_io	*io;
	unsigned char	 boot[FAT_BOOT];
	unsigned	 bits;		/* of an entry: 12, 16, 32 */
	uint32_t	 sector;	/* bytes */
	uint64_t	 cluster;	/* bytes */
	uint64_t	 fat, fat_size;	/* bytes: where the first one lies */
	unsigned	 fats;
	bool		 alone;		/* only one of two is in use: */
	unsigned	 active;	/* 0 or 1 */
	uint64_t	 root, root_size;	/* bytes; of FAT32: 0 */
	uint32_t	 first_root;	/* cluster, of FAT32 */
	uint64_t	 first;		/* byte where cluster 2 begins */
	uint64_t	 clusters;
	uint64_t	 lost;		/* sectors of a table */
	bool		 differ;	/* the tables do */
	unsigned char	*one, *two;	/* FS_PIECE */
};

/*
 * Find the boot sector, or, where it need not be exact, its copy, which is a
 * doubt.  False where there is none.
 */
bool fat_boot(struct fat *);

/* Tell of the files that have a byte of "lost"; ->name is the caller's. */
void fat_hits(const struct fat *, const struct fs_extents *lost,
    struct fs_names *);

#endif
