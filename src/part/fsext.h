/*
 * ext2, ext3, ext4: what their groups (fsext.c) and inodes (fsext_inode.c)
 * are read with.
 */
#ifndef PARDD_FSEXT_H
#define PARDD_FSEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fskinds.h"

enum { EXT_DEPTH = 6 };	/* of a tree, with its leaves */

enum {				/* of an inode */
	EXT_I_MODE = 0x0, EXT_I_SIZE = 0x4, EXT_I_LINKS = 0x1a,
	EXT_I_FLAGS = 0x20, EXT_I_BLOCK = 0x28, EXT_I_ACL = 0x68,
	EXT_I_ACL_HI = 0x76, EXT_I_LEAST = 128,
	EXT_I_BLOCK_SIZE = 60,
	EXT_MODE_KIND = 0xf000, EXT_MODE_FOLDER = 0x4000,
	EXT_MODE_FILE = 0x8000, EXT_MODE_LINK = 0xa000,
	EXT_FLAG_SECRET = 0x800, EXT_FLAG_EXTENTS = 0x80000,
	EXT_FLAG_INLINE = 0x10000000,
	EXT_INO_ROOT = 2, EXT_INO_RESIZE = 7, EXT_INO_FIRST = 11,
};

struct ext {
	struct fs_io	*io;
	unsigned char	 super[1024];
	uint32_t	 incompat, ro;
	bool		 meta_csum;	/* checksums everywhere, CRC-32C */
	bool		 desc_csum;	/* of the descriptors at least */
	bool		 backup;	/* the superblock is a copy */
	uint32_t	 seed;		/* of the checksums */
	uint32_t	 block;		/* bytes */
	uint32_t	 ratio;		/* blocks of a cluster, a bit each */
	uint32_t	 first;		/* block of the first group */
	uint64_t	 blocks;
	bool		 longer;	/* these are not all */
	uint32_t	 per_group;	/* blocks */
	uint32_t	 groups;
	uint32_t	 desc_size;	/* bytes */
	uint32_t	 desc_per, desc_blocks;	/* in a block; blocks of them */
	uint32_t	 inodes_per;	/* of a group */
	uint32_t	 inode_size;	/* bytes */
	uint32_t	 journal;	/* its inode, or 0 */
	uint32_t	 table;		/* blocks of a group's inodes */
	uint64_t	 free;		/* clusters, found */
	uint32_t	 wrong;		/* groups that count as used */
	unsigned char	*descs;		/* a block, of which this: */
	uint32_t	 descs_of;	/* number, from 1, or 0 */
	unsigned char	*bits;		/* FS_PIECE */
	unsigned char	*nodes;		/* EXT_DEPTH blocks, of a tree */
};

struct ext_group {
	uint32_t	 number;
	uint64_t	 bitmap, inodes, table;	/* blocks */
	uint64_t	 free;		/* clusters */
	uint64_t	 unused;	/* inodes at the end of the table */
	uint32_t	 csum, csum_mask;	/* of the bitmap */
	bool		 empty;		/* the bitmap was never written */
	bool		 sound;		/* the descriptor is */
};

/*
 * Find the superblock, or, where it need not be exact, a copy of it, and get
 * the buffers, which ext_close frees in any case.  False where there is none,
 * or no memory.
 */
bool ext_open(struct ext *);
void ext_close(struct ext *);

/* What the descriptor of a group says; false where it cannot be read. */
bool ext_group(struct ext *, uint32_t number, struct ext_group *);

/*
 * Tell "take" of the blocks of an inode that lie in the file system: those that
 * lead to others, and with "data" of its contents, too.  Uses e->nodes.
 */
typedef void ext_take(void *arg, uint64_t block, uint64_t n, bool data);
void ext_blocks(struct ext *, const unsigned char *inode, bool data,
    ext_take *, void *arg);

/*
 * The block that an inode begins with, or 0: "index" counts in the table of
 * inodes that begins at the block "table".
 */
uint64_t ext_first_block(struct ext *, uint64_t table, uint32_t index);

/*
 * Note directories, the journal, and the blocks that lead to blocks, of the
 * inodes of n groups.  Uses e->bits.
 */
void ext_inodes(struct ext *, const struct ext_group *, size_t n);

#endif
