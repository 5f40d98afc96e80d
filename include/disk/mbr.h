/*
 * Boot records: the MBR, and the records that describe logical partitions, each
 * of which links to the next one.  Numbers count sectors.
 */
#ifndef PARDD_MBR_H
#define PARDD_MBR_H

#include <bsd/sys/endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	MBR_SIZE = 512,		/* bytes of a record */
	MBR_ENTRIES = 446,	/* offset of the first of four entries, */
	MBR_ENTRY = 16,		/* and the bytes of one */
	MBR_LINKS_MOST = 256,	/* logical partitions */
	MBR_GPT = 0xee,		/* type of the entry that protects a GPT */
};

/* Whether it is one. */
static inline bool
mbr_is(const unsigned char *sector)
{
	return sector[510] == 0x55 && sector[511] == 0xaa;
}

/* The i-th entry. */
static inline const unsigned char *
mbr_entry(const unsigned char *mbr, size_t i)
{
	return mbr + MBR_ENTRIES + MBR_ENTRY * i;
}

/* Where the partition of an entry begins. */
static inline uint32_t
mbr_start(const unsigned char *entry)
{
	return le32dec(entry + 8);
}

/* How long it is; 0: there is none. */
static inline uint32_t
mbr_length(const unsigned char *entry)
{
	return le32dec(entry + 12);
}

/* Whether it has logical partitions, or in a record of one is the link. */
static inline bool
mbr_extended(const unsigned char *entry)
{
	return (entry[4] == 0x05 || entry[4] == 0x0f || entry[4] == 0x85) &&
	    mbr_length(entry) != 0;
}

/* The entry that is the link to the next record, or NULL. */
static inline const unsigned char *
mbr_link(const unsigned char *mbr)
{
	size_t i;

	for (i = 0; i < 4; i++)
		if (mbr_extended(mbr_entry(mbr, i)))
			return mbr_entry(mbr, i);
	return NULL;
}

#endif
