/*
 * The partition table of an open end, and signatures on it, read from its
 * contents: images have them as well as disks.
 */
#ifndef PARDD_PARTS_H
#define PARDD_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/endpoint.h"
#include "map/map.h"

enum table {			/* what a rescue has of a table */
	TABLE_SOUND,
	TABLE_BACKUP,		/* the backup of a GPT only */
	TABLE_UNGUARDED,	/* a GPT without its protective MBR */
	TABLE_PART,		/* an MBR without some logical partitions */
	TABLE_LOST,
};

struct part {
	unsigned number;	/* as fdisk and the kernel count */
	uint64_t start, length;	/* bytes; perhaps beyond the disk */
	bool	 container;	/* extended: contains the logical ones */
	char	 type[40];	/* a GUID, or a number such as 0x83 */
	char	 name[112];	/* as it is on the disk, or "" */
};

struct parts {
	char	 type[8];	/* "gpt", "dos"; "": no table */
	uint32_t sector;	/* bytes: the unit of the table */
	uint64_t size;		/* bytes of the disk */
	enum table left;
	uint64_t at;		/* byte where the table was found */
	char	 wrong[96];	/* why it cannot be used, or "" */
	bool	 cut;		/* that is: because the disk is too small */
	struct part *part;	/* by number; parts_free frees them */
	size_t	 n;
};

struct sign {			/* a file system, RAID, table ... */
	uint64_t off;		/* byte of the whole end */
	bool	 table;		/* a partition table, of any kind */
	char	 type[32];
	char	 label[128];	/* as it is on the disk, or "" */
};

struct volume {			/* identified by its signature: */
	char	 type[32];	/* as blkid(8): ext4, ntfs ... or "" */
	char	 label[128];	/* as it is on the disk, or "" */
	uint64_t at;		/* byte of the end with the signature */
	uint64_t size;		/* bytes, as its first block has it; 0: not
				 * known */
	size_t	 signs;		/* number of signatures found, */
	char	 first[32];	/* and the most important type */
	bool	 read;		/* its ends could be read: */
	unsigned char head[HEAD_SEEN];	/* its first bytes, else zeros */
};

/* Whether the end can have a partition table. */
static inline bool
parts_possible(const struct endpoint *ep)
{
	return !ep->is.streamed && !ep->is.absent && ep->geo.size > 0 &&
	    endpoint_viewable(ep);
}

/*
 * Read the table.  Returns 0, also if there is none; or -1 with *f if the end
 * cannot be read.  The table is consistent in itself, but may be that of a
 * larger disk. parts_free frees it.
 */
int parts_read(struct endpoint *, struct parts *, struct fault *f);
void parts_free(struct parts *);

/*
 * The same for the target of a rescue that began at the first byte of both
 * ends: only what the map calls finished is trusted.  "whole" is the source.
 * Sets "left".
 */
int parts_rescued(struct endpoint *, const struct endpoint *whole,
    struct map *, struct parts *, struct fault *f);

/*
 * Whether an end has a GPT that says that its backup is elsewhere than in the
 * last block.  False if it cannot be read.
 */
bool parts_backup_astray(struct endpoint *);

/* The first byte after a partition. */
static inline uint64_t
part_end(const struct part *p)
{
	return p->start + p->length;
}

/*
 * Whether it holds a Windows dynamic disk (LDM), whose volumes span partitions
 * and disks: where a file system begins says nothing about where its other
 * blocks lie.
 */
bool part_spans(const struct part *);

/*
 * Limit an end to one of its partitions: sets base, size, room and end. number
 * < 0: leave it whole.  Returns 0, or -1 with *f (STATUS_REFUSED), which lists
 * the partitions.
 */
int parts_limit(struct endpoint *, int64_t number, struct fault *f);

/*
 * Identify the contents of a range by the signature near its start: a file
 * system, RAID and so on.  *to is empty if there is none, or the end cannot be
 * read.
 */
void parts_volume(struct endpoint *, uint64_t off, uint64_t length,
    struct volume *to);

/* The same for a file in memory, which need have only its ends. */
void parts_contents(int fd, uint64_t length, struct volume *to);

/*
 * Find the signatures in a range, of the whole disk and of its partitions.
 * Returns their number; *sign is malloc'ed, the caller frees it.
 */
size_t parts_signs(struct endpoint *, uint64_t from, uint64_t to,
    struct sign **sign);

/*
 * The same for what is found on a whole end once everything before "from" has
 * been overwritten: signatures near its end, and the backup of a GPT that was.
 */
size_t parts_remains(struct endpoint *, uint64_t from, struct sign **sign);

/*
 * The contents of an end as a descriptor for libblkid.
 */

enum {				/* bytes that may have */
	SIGNS_EDGE = 512 << 10,	/* signatures, at both ends; */
	TABLES_EDGE = 128 << 10,	/* a table, there; */
	ENTRIES_MOST = 4 << 20,	/* entries of a GPT */
};

struct view {
	struct endpoint *ep;
	int	 fd;
	bool	 sparse;	/* holds only what view_fill has read */
	bool	 cached;	/* leave the page cache alone */
	uint64_t size;		/* bytes of the whole end */
	uint64_t filled;	/* bytes up to which it can be read */
	uint64_t edge;		/* bytes at both ends that were read */
	uint32_t sector;	/* bytes; 0: unknown */
	struct map *map;	/* what to trust, or NULL: everything */
	int	 from;		/* target of a rescue; or -1: a SCSI end */
};

/*
 * Open a view of an end that has contents (see struct backend).  Returns 0 or
 * an errno value; call view_close in either case.  That drops what was read
 * from the page cache, unless part of it was there before.
 */
int view_open(struct view *, struct endpoint *);
void view_close(struct view *);

/*
 * Read a range into the view.  If the view is sparse, this must precede every
 * access; otherwise it only saves requests.  Returns 0 or an errno value.
 */
int view_fill(const struct view *, uint64_t off, uint64_t len);

/* The same for "edge" bytes at both ends, which are not read again. */
int view_edges(struct view *, uint64_t edge);

/* Read a whole range; false if that is not possible, or it exceeds the end. */
bool view_read(const struct view *, uint64_t off, unsigned char *buf,
    size_t len);

#endif
