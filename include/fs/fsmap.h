/*
 * What a file system uses: which bytes of a partition are provably free, where
 * its metadata lies, and whether it can be trusted.
 *
 * It is read block by block through a function of the caller.  It is never
 * mounted or written.  Every number is checked before use, and what cannot be
 * read counts as used.  Supported: ext2/3/4, XFS, btrfs, NTFS, FAT12/16/32,
 * exFAT, swap; and what has volumes with file systems of their own: LVM2,
 * md RAID1.  Of LUKS and BitLocker the header is.
 */
#ifndef PARDD_FSMAP_H
#define PARDD_FSMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fs_state {
	FS_CLEAN,		/* unmounted cleanly, without errors */
	FS_DIRTY,		/* in use, hibernated, or has a journal to
				 * replay */
	FS_DAMAGED,		/* something is wrong or unreadable */
	FS_UNKNOWN,		/* not supported, or what would identify it
				 * could not be read */
};

enum fs_how {			/* bits; 0: only what is proven */
	FS_ORDER = 1 << 0,	/* guess: "free" space may hold data, and is
				 * only read later */
	FS_META = 1 << 1,	/* list metadata at fixed places */
	FS_DEEP = 1 << 2,	/* and metadata found by reading that, such as
				 * directories: takes many reads */
	FS_TABLES = 1 << 3,	/* whole tables, including parts still unused,
				 * which a rescue does not need first */
};

struct fs_source {
	/*
	 * Read a whole range within the length; offset and length need not be
	 * aligned.  Returns 0 or an errno value.
	 */
	int	 (*read)(void *arg, uint64_t off, void *buf, size_t len);
	void	*arg;
	uint64_t length;	/* bytes of the partition */
};

struct fs_extent {
	uint64_t off, len;	/* bytes, from the start of the partition */
};

struct fs_extents {		/* sorted, disjoint, not empty */
	struct fs_extent *at;
	size_t	 n, room;
	bool	 mixed;		/* not yet sorted; never when returned */
	uint64_t grain;		/* bytes: smaller ones were left out, to save
				 * memory */
};

struct fs_piece {		/* of a volume; bytes */
	uint64_t at, len;	/* this range of it */
	uint64_t off;		/* lies here on what it is part of */
};

struct fs_volume {		/* may have a file system */
	char	 name[260];	/* "vg0/root", as it is on the disk; or "" */
	char	 reason[128];	/* why it cannot be looked into; or "" */
	struct fs_piece *piece;	/* in order, without gaps; unless "reason" */
	size_t	 n;
	uint64_t length;	/* bytes */
};

enum { FS_UUID = 32 };		/* characters */

struct fs_map {
	char	 type[20];	/* as blkid(8) has it; vfat: any FAT; or "" */
	char	 label[128];	/* as it is on the disk, or "" */
	enum fs_state state;
	char	 reason[128];	/* why it is not clean, for people; or "" */
	/*
	 * Everything else counts as used.  Unless FS_ORDER, this is proven
	 * free.  Empty if the file system as a whole cannot be trusted; local
	 * damage may leave some.
	 */
	struct fs_extents free;
	struct fs_extents meta;	/* as requested by FS_META, FS_DEEP */
	struct fs_volume *volume;	/* what lies in it, of several */
	size_t	 volumes;
	/* The UUID, without dashes, of the group that a physical volume is of;
	 * or "". */
	char	 container[FS_UUID + 1];
	uint64_t payload;	/* what is encrypted does not begin before; 0:
				 * nothing is */
	uint32_t stamp;		/* differs when these have changed */
	uint64_t end;		/* first byte behind it; 0: not known */
	uint64_t used, free_bytes;	/* add up to the length of the
					 * partition */
	uint64_t reads, bytes_read;	/* the effort */
};

/*
 * Examine a partition and fill *m, which fs_map_free frees.  "type" is the name
 * that libblkid gives it; NULL or "" means try all kinds, and with FS_ORDER
 * also the backups of a start that cannot be read.  Does not check whether it
 * is mounted; nothing is proven about a mounted file system.  "how" has bits of
 * enum fs_how.  Uses at most 64 MiB of memory, and reads at most 1/32 of the
 * partition, 1/8 with FS_DEEP, plus 16 MiB and the $MFT of an NTFS.
 *
 * Returns 0 or ENOMEM.  Errors in the file system, and when reading it, are not
 * a failure: see m->state and m->reason; such parts count as used.
 */
int fs_map_read(const char *type, const struct fs_source *, unsigned how,
    struct fs_map *m);
void fs_map_free(struct fs_map *m);

/* "clean", "dirty", "damaged", "unknown". */
const char *fs_state_name(enum fs_state);

/*
 * Which files of a file system contain given bytes.
 */

enum { FS_NAMES_MOST = 1000 };

struct fs_names {
	bool	 known;		/* a search was made; else ignore the rest */
	bool	 more;		/* there may be others: too many, or not all
				 * directories could be read */
	char	**name;		/* sorted paths such as "/home/a file",
				 * unescaped; without a leading slash if the
				 * path is incomplete, as in "<12>/a file" */
	size_t	 n;
};

/*
 * Find the files, directories and links that have a byte in "lost": of their
 * contents, of their block pointers, or of their inodes or records.  "type" is
 * the one in struct fs_map; all but swap, and a btrfs on several devices, are
 * supported.  A file with several names is listed by one of them.  As with
 * fs_map_read no number is trusted, and what cannot be read is skipped;
 * ETIMEDOUT ends the search.  Uses at most 64 MiB of memory, and reads at most
 * the size of the partition, plus 16 MiB.
 *
 * Fills *to, which fs_names_free frees.  Returns 0 or ENOMEM.
 */
int fs_names_read(const char *type, const struct fs_source *,
    const struct fs_extents *lost, struct fs_names *to);
void fs_names_free(struct fs_names *);

/* How many bytes of a list of extents are between "off" and "end". */
uint64_t fs_among(const struct fs_extents *, uint64_t off, uint64_t end);

/* CRC-32 of zlib, and of a GPT, without the inversions. */
uint32_t fs_crc32(uint32_t crc, const void *, size_t);

#endif
