/*
 * XFS: its parts as tests reach them.
 */
#ifndef PARDD_FSXFS_H
#define PARDD_FSXFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fsread.h"

enum {
	XFS_BASIC = 512,	/* bytes: the unit of the log */
	XFS_SUPER = 4096,	/* bytes of a sector, at most */
	XFS_INODE = 2048,	/* bytes, at most */
	XFS_LEVELS = 9,		/* of a tree, at most */
	XFS_HEAD_4 = 16, XFS_HEAD_5 = 56,	/* bytes before the entries of a
						 * block */
};

enum {				/* offsets and values in an inode */
	XFS_D_MODE = 2, XFS_D_FORMAT = 5, XFS_D_BESIDE_AT = 82,
	XFS_D_FLAGS = 90,
	XFS_KIND = 0xf000, XFS_DIR = 0x4000, XFS_INSIDE = 1,
	XFS_ELSEWHERE = 1,	/* a flag: on the realtime device */
};

struct xfs_counts {
	uint64_t	 inodes, inodes_free, free;	/* blocks */
};

struct xfs {
	struct fs_io	*io;
	unsigned char	 super[XFS_SUPER];
	bool		 v5;		/* version 5, with checksums */
	bool		 sparse;	/* chunks of inodes may have holes */
	bool		 kinds;		/* directory entries have file types */
	uint64_t	 root;		/* its inode */
	uint32_t	 block;		/* bytes */
	uint32_t	 sector;	/* bytes */
	uint32_t	 inode;		/* bytes */
	uint32_t	 block_log, ag_log, inode_log;	/* bits */
	uint64_t	 blocks;
	bool		 longer;	/* there should be more */
	uint32_t	 ag_blocks, ags;
	uint64_t	 log;		/* its first block; 0: on another
					 * device */
	uint32_t	 log_blocks;
	uint32_t	 directory;	/* blocks of a directory block */
	uint32_t	 wrong;		/* groups that count as used */
	bool		 lazy;		/* counts are of a clean log only */
	struct xfs_counts sum, said;	/* of its groups; by its superblock */
	unsigned char	*nodes;		/* XFS_LEVELS blocks, twice: for trees
					 * of groups, and of files */
	unsigned char	*buf;		/* FS_PIECE */
};

/* A kind of tree, with its records. */
struct xfs_tree {
	char	 magic[2][5];	/* for versions 4 and 5 */
	uint32_t key, record;	/* bytes */
	bool	 leaves;	/* read the leaves too */
	/* Takes a record; false if the record, and so the tree, is wrong. */
	bool	 (*take)(void *arg, const unsigned char *record);
	void	*arg;
};

/* The same for a block number of the whole file system; UINT64_MAX: none. */
uint64_t xfs_place_of(const struct xfs *, uint64_t number);

/*
 * Visit a tree of a group: note its blocks as metadata, and take its records in
 * order.  Returns false if something is wrong.
 */
bool xfs_tree(struct xfs *, const struct xfs_tree *, uint32_t ag,
    uint32_t root, uint32_t levels);

/* Doubt the file system unless its log was closed. */
void xfs_judge_log(struct xfs *);

/*
 * Note the inodes of a group, found by its AGI, and indirect blocks of files.
 */
void xfs_inodes(struct xfs *, uint32_t ag);

/*
 * Visit the inodes of a group that are in use; one that cannot be read is all
 * zeros, and "at" is the byte where it lies.  Returns false if their tree is
 * invalid.  Uses x->buf.
 */
typedef void xfs_visit(struct xfs *, const unsigned char *inode,
    uint64_t number, uint64_t at, void *arg);
bool xfs_each(struct xfs *, uint32_t ag, xfs_visit *visit, void *arg);

/*
 * Call "take" for everything that a fork of an inode lies on, of its data or
 * what is kept "beside" them: blocks that lead to others, and "len" bytes from
 * its block "from" on.  Without "leaves", those of a tree are not read.
 * Returns false if part of it is invalid or lost.
 */
typedef void xfs_take(void *arg, uint64_t from, uint64_t at, uint64_t len,
    bool leads);
bool xfs_fork(struct xfs *, const unsigned char *inode, bool beside,
    bool leaves, xfs_take *, void *arg);

#endif
