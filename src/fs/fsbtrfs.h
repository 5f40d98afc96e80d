/*
 * btrfs: what its superblock and its trees look like.
 */
#ifndef PARDD_FSBTRFS_H
#define PARDD_FSBTRFS_H

enum {				/* offsets in the superblock */
	SUPER = 4096,
	S_CSUM = 0x20,		/* checksum of what follows it */
	S_PLACE = 0x30, S_FLAGS = 0x38, S_MAGIC = 0x40, S_GENERATION = 0x48,
	S_ROOT = 0x50, S_CHUNK_ROOT = 0x58, S_LOG_ROOT = 0x60,
	S_USED = 0x78, S_DEVICES = 0x88, S_SECTOR = 0x90, S_NODE = 0x94,
	S_CHUNKS_SIZE = 0xa0, S_CHUNK_GENERATION = 0xa4, S_COMPAT_RO = 0xb4,
	S_INCOMPAT = 0xbc, S_CSUM_TYPE = 0xc4,
	S_ROOT_LEVEL = 0xc6, S_CHUNK_LEVEL = 0xc7,
	S_DEVICE = 0xc9, S_DEVICE_TOTAL = 0xd1, S_DEVICE_USED = 0xd9,
	S_LABEL = 0x12b, S_CHUNKS = 0x32b,
	LABEL = 128, CHUNKS_MOST = 2048,
	CRC32C = 0, XXHASH = 1,
	INCOMPAT_KNOWN = 0x10fff,	/* not zoned, no newer trees */
	RO_KNOWN = 0xf,		/* none of them moves a chunk */
	FLAGS_KNOWN = 0x3,	/* no error, no seed, no dump */
};

enum {				/* offsets in a node of a tree */
	N_PLACE = 0x30, N_GENERATION = 0x50, N_ITEMS = 0x60, N_LEVEL = 0x64,
	N_HEAD = 101,
	KEY = 17, K_TYPE = 8, K_OFFSET = 9,
	ITEM = 25, I_OFFSET = 17, I_SIZE = 21,
	LINK = 33, L_PLACE = 17, L_GENERATION = 25,
	LEVELS = 8,
};

#endif
