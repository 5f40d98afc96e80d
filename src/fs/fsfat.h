/*
 * FAT12, FAT16, FAT32: numbers of their structures.
 */
#ifndef PARDD_FSFAT_H
#define PARDD_FSFAT_H

enum { FAT_BOOT = 512 };	/* bytes of the boot sector */

enum {				/* offsets and values in a directory entry */
	FAT_ENTRY = 32, FAT_DELETED = 0xe5,
	FAT_DIR = 0x10, FAT_VOLUME = 0x08, FAT_KINDS = 0x3f,	/* bits */
	FAT_LONG = 0x0f,	/* part of a long name */
};

#endif
