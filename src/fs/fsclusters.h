/*
 * FAT and exFAT: finding files with lost clusters, through all directories,
 * along the chains in the table of clusters.
 */
#ifndef PARDD_FSCLUSTERS_H
#define PARDD_FSCLUSTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fsread.h"

enum {
	FS_ENTRY = 32,			/* bytes of a directory entry */
	FS_ENTRY_LOST = 0xe5,		/* fills an entry that could not be
					 * read */
	FS_NAME_MOST = 255 * 3 + 1,	/* bytes of a name in UTF-8 */
};

struct clusters_file {
	uint64_t first;		/* cluster */
	uint64_t size;		/* bytes; UINT64_MAX: the whole chain */
	bool	 together;	/* contiguous: not in the table */
	bool	 directory;
};

struct clusters {
	struct fs_io	*io;
	const struct fs_extents *lost;
	struct fs_names	*to;
	uint64_t	 table[2];	/* bytes; second: the copy, or 0 */
	uint64_t	 table_size;	/* bytes */
	unsigned	 bits;		/* per entry: 12, 16, 32 */
	uint64_t	 mask, end;	/* of an entry; values >= end end a
					 * chain */
	uint32_t	 sector;	/* bytes */
	uint64_t	 first;		/* byte of cluster 2 */
	uint64_t	 cluster;	/* bytes */
	uint64_t	 clusters;
	uint64_t	 root, root_size;	/* bytes; 0: it is a chain */
	struct clusters_file top;	/* the root, if it is a chain */
	/* Parses a directory entry; false after the last. */
	bool		 (*entry)(struct clusters *, const unsigned char *,
			    bool begins);
	void		*arg;		/* private to "entry" */
	struct walk	*walk;		/* state of the search */
};

/* Visit all files, and report those that are hit. */
void clusters_search(struct clusters *);

/* Called by "entry" for each file it finds in the directory. */
void clusters_file(struct clusters *, const struct clusters_file *,
    const char *name);

#endif
