/*
 * The partition table of an opened end, and the signatures on it, read from
 * its own contents: an image has them like a disk.
 */
#ifndef PARDD_PARTS_H
#define PARDD_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/endpoint.h"
#include "map/map.h"

enum table {			/* what is left of one, after a rescue */
	TABLE_SOUND,
	TABLE_BACKUP,		/* a GPT's, at the end of the disk */
	TABLE_UNGUARDED,	/* a GPT, without the MBR before it */
	TABLE_PART,		/* an MBR, but not all that it leads to */
	TABLE_LOST,
};

struct part {
	unsigned number;	/* as fdisk and the kernel count */
	uint64_t start, length;	/* bytes; maybe beyond the disk's end */
	bool	 container;	/* extended: the logical ones lie in it */
	char	 type[40];	/* a GUID, or as in 0x83 */
	char	 name[112];	/* as it comes; "" without */
};

struct parts {
	char	 type[8];	/* "gpt", "dos"; "": there is none */
	uint32_t sector;	/* bytes; what the table counts in */
	uint64_t size;		/* bytes, of the disk */
	enum table left;
	uint64_t at;		/* bytes; where the table was found */
	char	 wrong[96];	/* what keeps it from being read, or "" */
	struct part *part;	/* by number; parts_free frees them */
	size_t	 n;
};

struct sign {			/* of a file system, RAID, table ... */
	uint64_t off;		/* bytes, on the whole end */
	char	 type[32];
	char	 label[128];	/* as it comes; "" without */
};

struct volume {			/* by what lies at its beginning: */
	char	 type[32];	/* as blkid(8) says: ext4, ntfs ... or "" */
	char	 label[128];	/* as it comes; "" without */
	uint64_t at;		/* bytes of the end: where the signature is */
	size_t	 signs;		/* that there are anywhere, and */
	char	 first[32];	/* the type that counts most of these */
	unsigned char head[2048];	/* its first bytes; zeros at need */
};

/* Whether the end can have a partition table at all. */
bool parts_possible(const struct endpoint *);

/*
 * Read the table.  Returns 0, also where there is none, or -1 with *f: the end
 * cannot be read.  A table that is read is consistent in itself, and may be
 * made for a larger disk.  parts_free frees it.
 */
int parts_read(struct endpoint *, struct parts *, struct fault *f);
void parts_free(struct parts *);

/*
 * The same of the target of a rescue that began at the first byte of both ends:
 * only what the map calls finished is believed.  "whole" is the source.  Fills
 * "left".
 */
int parts_rescued(struct endpoint *, const struct endpoint *whole,
    struct map *, struct parts *, struct fault *f);

/* The bytes behind the last one of a partition. */
uint64_t part_end(const struct part *);

/*
 * Limit an end to one of its partitions: base, size, room and end become the
 * partition's.  number < 0: leave it whole.  Returns 0, or -1 with *f
 * (STATUS_REFUSED) that says which partitions there are.
 */
int parts_limit(struct endpoint *, int64_t number, struct fault *f);

/*
 * What lies in a range of bytes: its file system, RAID or so, by the signature
 * near its beginning; *to is empty when there is none that is known, or when
 * the end cannot be read.
 */
void parts_volume(struct endpoint *, uint64_t off, uint64_t length,
    struct volume *to);

/*
 * The signatures that lie in a range of bytes, on the disk as a whole and in
 * its partitions.  Returns their number; *sign is malloc'ed and the caller's.
 */
size_t parts_signs(struct endpoint *, uint64_t from, uint64_t to,
    struct sign **sign);

#endif
