/*
 * FAT12, FAT16, FAT32: their structures, as fsfat.c reads them.
 */
#ifndef PARDD_FSFAT_H
#define PARDD_FSFAT_H

#include <stdbool.h>
#include <stdint.h>

#include "fsread.h"

enum { FAT_BOOT = 512 };	/* bytes of the boot sector */

enum {				/* offsets and values in a directory entry */
	FAT_ENTRY = 32, FAT_DELETED = 0xe5,
	FAT_DIR = 0x10, FAT_VOLUME = 0x08, FAT_KINDS = 0x3f,	/* bits */
	FAT_LONG = 0x0f,	/* part of a long name */
};

struct fat {
	struct fs_io	*io;
	unsigned char	 boot[FAT_BOOT];
	unsigned	 bits;		/* per entry: 12, 16, 32 */
	uint32_t	 sector;	/* bytes */
	uint64_t	 cluster;	/* bytes */
	uint64_t	 fat, fat_size;	/* bytes; of the first table that is
					 * used */
	unsigned	 fats;		/* that are used: 1 or 2 */
	uint64_t	 root, root_size;	/* bytes; FAT32: 0 */
	uint32_t	 first_root;	/* FAT32: cluster */
	uint64_t	 first;		/* byte of cluster 2 */
	uint64_t	 clusters;
	uint64_t	 lost;		/* sectors of a table */
	bool		 differ;	/* the tables differ */
	unsigned char	*one, *two;	/* FS_PIECE */
};

#endif
