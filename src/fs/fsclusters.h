/*
 * FAT and exFAT: clusters, the chains of them in the table, and all
 * directories; what these list, and the files that have given bytes.
 */
#ifndef PARDD_FSCLUSTERS_H
#define PARDD_FSCLUSTERS_H

#include <stdbool.h>
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
	uint64_t	 top;		/* its first cluster, then */
	/*
	 * Parses a directory entry; false after the last.  An empty one that
	 * begins comes after all directories.  NULL: what they list does not
	 * matter.
	 */
	bool		 (*entry)(struct clusters *, const unsigned char *,
			    bool begins);
	void		*arg;		/* private to "entry" */
	bool		 note;		/* directories as metadata */
	/* Files with bytes of "lost" are added to "to"; NULL: none. */
	const struct fs_extents *lost;
	struct fs_names	*to;
	struct walk	*walk;		/* state of the search */
};

/*
 * Prepare to follow chains.  Returns false if there are too many clusters, or
 * no memory.  clusters_close frees what this has allocated, in either case.
 */
bool clusters_open(struct clusters *);
void clusters_close(struct clusters *);

/* Visit the root, and all directories that "entry" finds in each. */
void clusters_search(struct clusters *);

/* Called by "entry" for each file it finds in the directory. */
void clusters_file(struct clusters *, const struct clusters_file *,
    const char *name);

/*
 * Find names, as fs_names_read does.  And: note directories as metadata, as far
 * as that is wanted, and doubt a file system that calls free what a directory
 * or file has, if only proof counts.  "wrong" is what is said if a structure is
 * called free, "differ" if a file is.  What is free must have been noted in
 * order.
 */
void clusters_names(struct clusters *, const struct fs_extents *lost,
    struct fs_names *);
void clusters_check(struct clusters *, const char *wrong, const char *differ);

/* The place of a cluster, in bytes. */
static inline uint64_t
clusters_place(const struct clusters *c, uint64_t n)
{
	return c->first + (n - 2) * c->cluster;
}

/* Whether it is a cluster that nobody has visited yet. */
bool clusters_visit(struct clusters *, uint64_t n);

/* Follow a chain by one cluster. */
enum link { NEXT, END, WRONG, LOST } clusters_follow(struct clusters *,
    uint64_t *cluster);

#endif
