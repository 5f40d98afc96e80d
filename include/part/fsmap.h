/*
 * What a file system uses: which bytes of a partition it can prove to be free,
 * where its own structures lie, and whether it can be believed.
 *
 * It is read by a function of the caller's, block by block, and never mounted,
 * written, or trusted: no number from it leads anywhere but into the partition,
 * and what cannot be read counts as used.  Known: ext2/3/4, XFS, btrfs, NTFS,
 * FAT12/16/32, exFAT, swap.
 */
#ifndef PARDD_FSMAP_H
#define PARDD_FSMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fs_state {
	FS_CLEAN,		/* it was left in good order */
	FS_DIRTY,		/* a journal to replay, in use, hibernated */
	FS_DAMAGED,		/* something of it is wrong, or unreadable */
	FS_UNKNOWN,		/* no file system that we can read */
};

enum fs_how {			/* bits; 0 is the exact way */
	FS_ORDER = 1 << 0,	/* guess: what is "free" may hold data, so it
				 * must be read, but it may be read later */
	FS_META = 1 << 1,	/* list structures that have a fixed place */
	FS_DEEP = 1 << 2,	/* and those found by reading these, such as
				 * directories: takes many reads */
	FS_TABLES = 1 << 3,	/* tables whole, as they lie: also what nothing
				 * is in yet and no rescue needs first */
};

struct fs_source {
	/*
	 * Read all of a range, which lies within the length.  Returns 0 or an
	 * errno value.  Neither offset nor length need be a multiple of
	 * anything.
	 */
	int	 (*read)(void *arg, uint64_t off, void *buf, size_t len);
	void	*arg;
	uint64_t length;	/* bytes, of the partition */
};

struct fs_extent {
	uint64_t off, len;	/* bytes, from the partition's first one */
};

struct fs_extents {		/* sorted, apart from each other, not empty */
	struct fs_extent *at;
	size_t	 n, room;
	bool	 mixed;		/* not sorted yet; false once it is told */
	uint64_t grain;		/* bytes: too many, so nothing finer is noted */
};

struct fs_map {
	char	 type[16];	/* as blkid(8) says; vfat is all FATs; or "" */
	char	 label[128];	/* as it comes; "" without */
	enum fs_state state;
	char	 reason[128];	/* why it is not clean, for people; or "" */
	/*
	 * All else counts as used.  Of the exact way: proven free.  There is
	 * nothing if the file system as a whole cannot be believed; one that
	 * is damaged here and there may have some.
	 */
	struct fs_extents free;
	struct fs_extents meta;	/* as asked for by FS_META, FS_DEEP */
	uint64_t used, free_bytes;	/* together the partition's length */
	uint64_t reads, bytes_read;	/* what it took to find out */
};

/*
 * Read what a partition holds into *m, which fs_map_free frees.  "type" is what
 * libblkid calls it; with NULL or "" we look ourselves, and with FS_ORDER also
 * at the copies that a file system has of a lost beginning.  Who mounts it is
 * not looked up: of a mounted one nothing is proven.  "how" are bits of enum
 * fs_how.  Takes no more than 64 MiB of memory, and reads no more than 1/32 of
 * the partition, with FS_DEEP 1/8, and 16 MiB.
 *
 * Returns 0, or ENOMEM.  What is wrong with the file system, or cannot be read
 * of it, is no error: m->state and m->reason tell, and it counts as used.
 */
int fs_map_read(const char *type, const struct fs_source *, unsigned how,
    struct fs_map *m);
void fs_map_free(struct fs_map *m);

/* "clean", "dirty", "damaged", "unknown". */
const char *fs_state_name(enum fs_state);

#endif
