/*
 * ext2, ext3, ext4: what an inode looks like.
 */
#ifndef PARDD_FSEXT_H
#define PARDD_FSEXT_H

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

#endif
