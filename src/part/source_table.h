/*
 * The partition table of a source, as clone_table.c needs it: raw, and with its
 * checksums proven.
 *
 * GPT: UEFI 2.10, 5.3; MBR: 5.2.
 */
#ifndef PARDD_SOURCE_TABLE_H
#define PARDD_SOURCE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "part/clone_table.h"
#include "part/parts.h"

enum {
	SECTOR = 512,		/* bytes of an MBR */
	SECTOR_MOST = 4096,	/* bytes of any sector */
	LINKS_MOST = 256,	/* logical partitions */

	H_SIZE = 12, H_CRC = 16, H_SELF = 24, H_OTHER = 32, H_FIRST = 40,
	H_LAST = 48, H_GUID = 56, H_ENTRIES = 72, H_COUNT = 80, H_EACH = 84,
	H_ENTRIES_CRC = 88,	/* offsets in a GPT header, */
	H_LEAST = 92,		/* and its least size */
	E_TYPE = 0, E_GUID = 16,			/* in an entry */
	E_FIRST = 32, E_LAST = 40,
	GUID = 16,		/* bytes */

	M_SIGNATURE = 440, M_ENTRY = 446, M_EACH = 16,	/* in an MBR, */
	M_TYPE = 4, M_START = 8, M_COUNT = 12,		/* and in its entry */
	M_GPT = 0xee,
};

struct gpt {			/* a valid one */
	unsigned char header[SECTOR_MOST];
	unsigned char *entries;	/* malloc'ed */
	size_t	 size;		/* bytes of them */
};

struct record {			/* a boot record of logical partitions */
	uint64_t at;		/* byte of the source */
	unsigned char sector[SECTOR_MOST];	/* what is there */
};

struct source_table {
	const char *name;	/* of the source */
	uint64_t size;		/* bytes of it */
	uint32_t sector;	/* bytes: the unit of the table */
	struct parts parts;	/* for people, and to find it */
	unsigned char mbr[SECTOR_MOST];	/* its first bytes */
	struct gpt gpt;		/* entries NULL: an MBR only */
	uint64_t backup;	/* byte of the valid backup at the source's end,
				 * or 0: there is none; it is */
	bool	 twice;		/* the same as the one at its start */
	unsigned char (*boot)[SECTOR];	/* starts of its partitions */
	struct record *record;	/* of logical partitions, in order */
	size_t	 records;
};

/* CRC-32 as a GPT has it. */
uint32_t gpt_crc(const unsigned char *, size_t len);

/* The i-th of four entries of a boot record. */
static inline unsigned char *
boot_entry(unsigned char *sector, unsigned i)
{
	return sector + M_ENTRY + (size_t)M_EACH * i;
}

/* Its entry for an extended partition, or NULL. */
unsigned char *boot_link(unsigned char *sector);

#endif
