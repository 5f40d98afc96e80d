/*
 * XFS: what its groups (fsxfs.c), log (fsxfs_log.c) and inodes (fsxfs_inode.c)
 * are read with.
 */
#ifndef PARDD_FSXFS_H
#define PARDD_FSXFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fskinds.h"

enum {
	XFS_BASIC = 512,	/* bytes; what the log counts in */
	XFS_LEVELS = 9,		/* of a tree, at most */
	XFS_HEAD_4 = 16, XFS_HEAD_5 = 56,	/* bytes, of its blocks */
};

struct xfs {
	struct fs_io	*io;
	bool		 v5;		/* it has checksums */
	uint32_t	 block;		/* bytes */
	uint32_t	 sector;	/* bytes */
	uint32_t	 inode;		/* bytes */
	uint32_t	 block_log, ag_log, inode_log;	/* bits */
	uint64_t	 blocks;
	bool		 longer;	/* these are not all */
	uint32_t	 ag_blocks, ags;
	uint64_t	 log;		/* its first block; 0: elsewhere */
	uint32_t	 log_blocks;
	uint32_t	 folder;	/* blocks of a folder's block */
	uint32_t	 wrong;		/* groups that count as used */
	unsigned char	*nodes;		/* XFS_LEVELS blocks, twice: the
					 * groups' trees, the files' */
	unsigned char	*buf;		/* FS_PIECE */
};

/* A tree of a group, or of all, with records of a size. */
struct xfs_tree {
	char	 magic[2][5];	/* of version 4 and 5 */
	uint32_t key, record;	/* bytes */
	bool	 leaves;	/* they are to be read */
	/* A record; false where it is wrong, and so is the tree. */
	bool	 (*take)(void *arg, const unsigned char *record);
	void	*arg;
};

/* The byte where a block of a group begins, and its blocks. */
uint64_t xfs_place(const struct xfs *, uint32_t ag, uint64_t block);
uint32_t xfs_ag_length(const struct xfs *, uint32_t ag);

/* The same of a number that counts through all groups; UINT64_MAX: none. */
uint64_t xfs_place_of(const struct xfs *, uint64_t number);

/*
 * Go through a tree of a group: its blocks are noted as structures, its records
 * taken in order.  False where something of it is wrong.
 */
bool xfs_tree(struct xfs *, const struct xfs_tree *, uint32_t ag,
    uint32_t root, uint32_t levels);

/* Whether the log was closed; else the file system is doubted. */
void xfs_judge_log(struct xfs *);

/* Note the inodes of a group, by its AGI, and what leads to files. */
void xfs_inodes(struct xfs *, uint32_t ag);

#endif
