/*
 * ext2, ext3, ext4: shared by the readers of groups and inodes (fsext.c)
 * and of names (fsext_names.c).
 */
#ifndef PARDD_FSEXT_H
#define PARDD_FSEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "fsread.h"

enum { EXT_DEPTH = 6 };	/* of an extent tree, with its leaves */

enum {				/* offsets and values in an inode */
	EXT_I_MODE = 0x0, EXT_I_SIZE = 0x4, EXT_I_LINKS = 0x1a,
	EXT_I_FLAGS = 0x20, EXT_I_BLOCK = 0x28, EXT_I_ACL = 0x68,
	EXT_I_ACL_HI = 0x76, EXT_I_LEAST = 128,
	EXT_I_BLOCK_SIZE = 60,
	EXT_MODE_KIND = 0xf000, EXT_MODE_DIR = 0x4000,
	EXT_MODE_FILE = 0x8000, EXT_MODE_LINK = 0xa000,
	EXT_FLAG_SECRET = 0x800, EXT_FLAG_EXTENTS = 0x80000,
	EXT_FLAG_INLINE = 0x10000000,
	EXT_INO_ROOT = 2, EXT_INO_RESIZE = 7, EXT_INO_FIRST = 11,
};

struct ext {
	struct fs_io	*io;
	unsigned char	 super[1024];
	uint32_t	 incompat, ro;
	bool		 meta_csum;	/* CRC-32C checksums everywhere */
	bool		 desc_csum;	/* at least in descriptors */
	bool		 backup;	/* the superblock is a backup */
	uint32_t	 seed;		/* of the checksums */
	uint32_t	 block;		/* bytes */
	uint32_t	 ratio;		/* blocks per cluster, which has one
					 * bit */
	uint32_t	 first;		/* first block of the first group */
	uint64_t	 blocks;
	bool		 longer;	/* there should be more */
	uint32_t	 per_group;	/* blocks */
	uint32_t	 groups;
	uint32_t	 desc_size;	/* bytes */
	uint32_t	 desc_per, desc_blocks;	/* per block; blocks of
						 * descriptors */
	uint32_t	 inodes_per;	/* per group */
	uint32_t	 inode_size;	/* bytes */
	uint32_t	 journal;	/* its inode, or 0 */
	uint32_t	 table;		/* blocks of inodes per group */
	uint64_t	 free;		/* clusters found free */
	uint32_t	 wrong;		/* groups that count as used */
	unsigned char	*descs;		/* one block of descriptors: */
	uint32_t	 descs_of;	/* its number, from 1; 0: none */
	unsigned char	*bits;		/* FS_PIECE */
	unsigned char	*nodes;		/* EXT_DEPTH blocks of a tree */
};

struct ext_group {
	uint32_t	 number;
	uint64_t	 bitmap, inodes, table;	/* block numbers */
	uint64_t	 free;		/* clusters */
	uint64_t	 unused;	/* inodes at the end of the table */
	uint32_t	 csum, csum_mask;	/* of the bitmap */
	bool		 empty;		/* the bitmap was never written */
	bool		 sound;		/* the descriptor is valid */
};

/* As in struct fs_kind; "state" is a struct ext. */
bool ext_open(void *state);
void ext_read(void *state);
void ext_close(void *state);

/* Read the descriptor of a group; false if that is not possible. */
bool ext_group(struct ext *, uint32_t number, struct ext_group *);

/*
 * Call "take" for the blocks of an inode that are in the file system: those
 * that lead to others and, with "data", those of its contents.  Returns false
 * if part of it is invalid or lost.  Uses e->nodes.
 */
typedef void ext_take(void *arg, uint64_t block, uint64_t n, bool data);
bool ext_blocks(struct ext *, const unsigned char *inode, bool data,
    ext_take *, void *arg);

#endif
