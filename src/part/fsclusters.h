/*
 * FAT and exFAT: whose clusters are lost, through all folders, by the chains
 * that the table of clusters has.
 */
#ifndef PARDD_FSCLUSTERS_H
#define PARDD_FSCLUSTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fskinds.h"

enum {
	FS_ENTRY = 32,			/* bytes, of a folder's entry */
	FS_ENTRY_LOST = 0xe5,		/* all of one that could not be read */
	FS_NAME_MOST = 255 * 3 + 1,	/* of a name, as UTF-8 */
};

struct clusters_file {
	uint64_t first;		/* cluster */
	uint64_t size;		/* bytes; UINT64_MAX: all of its chain */
	bool	 together;	/* it lies in a row: not in the table */
	bool	 folder;
};

struct clusters {
	struct fs_io	*io;
	const struct fs_extents *lost;
	struct fs_names	*to;
	uint64_t	 table[2];	/* bytes; the second: its copy, or 0 */
	uint64_t	 table_size;	/* bytes */
	unsigned	 bits;		/* of its entries: 12, 16, 32 */
	uint64_t	 mask, end;	/* of these; from which on one ends */
	uint32_t	 sector;	/* bytes */
	uint64_t	 first;		/* byte where cluster 2 begins */
	uint64_t	 cluster;	/* bytes */
	uint64_t	 clusters;
	uint64_t	 root, root_size;	/* bytes; 0: it is a chain */
	struct clusters_file top;	/* then, the root */
	/* Take an entry of a folder; false behind the last. */
	bool		 (*entry)(struct clusters *, const unsigned char *,
			    bool begins);
	void		*arg;		/* of its own */
	struct walk	*walk;		/* while it goes on */
};

/* Look at all files, and tell of those that are hit. */
void clusters_search(struct clusters *);

/* An entry of this folder, which "entry" has found. */
void clusters_file(struct clusters *, const struct clusters_file *,
    const char *name);

#endif
