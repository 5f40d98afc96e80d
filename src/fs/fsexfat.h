/*
 * exFAT: numbers of its structures.
 */
#ifndef PARDD_FSEXFAT_H
#define PARDD_FSEXFAT_H

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

#endif
