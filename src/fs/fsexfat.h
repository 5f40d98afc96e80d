/*
 * exFAT: its structures, as fsexfat.c reads them.
 */
#ifndef PARDD_FSEXFAT_H
#define PARDD_FSEXFAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fsread.h"

enum { EXFAT_BOOT = 512, EXFAT_ROOT = 96 };	/* bytes; offset of the root */

enum {				/* directory entries */
	EXFAT_ENTRY = 32,	/* bytes */
	E_USED = 0x80, E_BELONGS = 0x40,	/* belongs to the entry
						 * before */
	E_BITMAP = 0x81, E_UPCASE = 0x82, E_LABEL = 0x83, E_FILE = 0x85,
	E_STREAM = 0xc0,
	E_KIND = 4, DIRECTORY = 0x10,
	E_FLAGS = 1, TOGETHER = 2,	/* flag of a stream: not in the FAT */
	E_FIRST = 20, E_SIZE = 24,
};

struct exfat_dir {
	uint32_t first, clusters;	/* 0: along the FAT */
};

struct exfat {
	struct fs_io	*io;
	unsigned char	 boot[EXFAT_BOOT];
	uint32_t	 sector;	/* bytes */
	uint64_t	 cluster;	/* bytes */
	uint64_t	 fat, fat_size;	/* bytes */
	uint64_t	 heap;		/* byte of cluster 2 */
	uint64_t	 clusters;
	uint64_t	 bitmap, bitmap_size;	/* cluster; bytes */
	uint64_t	 upcase, upcase_size;	/* of the table of capitals */
	uint64_t	 lost;		/* sectors of the bitmap */
	unsigned char	*seen;		/* a bit per cluster */
	struct exfat_dir	*waiting;
	size_t		 n;
	bool		 file;		/* the last entry is of a directory */
	unsigned char	*buf;		/* FS_PIECE */
};

#endif
