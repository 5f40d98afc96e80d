/*
 * Shared by all readers of file systems: reading with errors, byte orders,
 * lists of extents, checksums, and the judgement.
 */
#ifndef PARDD_FSREAD_H
#define PARDD_FSREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/fsmap.h"

enum { FS_PIECE = 256 << 10 };	/* bytes per read, at most */

enum fs_by {			/* what a file system is found by: */
	FS_BY_ANY,
	FS_BY_START,		/* its superblock or boot sector */
	FS_BY_COPY,		/* a copy of that */
};

struct fs_io {			/* one examination */
	const struct fs_source *src;
	struct fs_map *map;
	unsigned how;		/* enum fs_how */
	enum fs_by by;
	uint64_t budget;	/* bytes that may still be read; 0 only after a
				 * failure */
	bool	 whole;		/* the whole cannot be trusted */
	bool	 no_memory;	/* out of memory */
	bool	 failed;	/* a read has failed, or there was too much to
				 * read */
};

/*
 * Read a range.  Returns 0 or an errno value: ERANGE if it leaves the
 * partition; EFBIG if the budget is used up, or after ETIMEDOUT.
 */
int fs_get(struct fs_io *, uint64_t off, void *buf, size_t len);

/*
 * Read "n" consecutive units in one request, or one by one if that fails; fill
 * those that cannot be read with "filler".  Returns how many these were.
 */
size_t fs_get_units(struct fs_io *, uint64_t off, unsigned char *buf,
    size_t unit, size_t n, int filler);

/*
 * Allocate zeroed memory.  NULL is recorded in *io; the reader simply returns.
 */
void *fs_alloc(struct fs_io *io, size_t bytes);

/* Note a range as free, or as metadata. */
void fs_note_free(struct fs_io *, uint64_t off, uint64_t len);
void fs_note_meta(struct fs_io *, uint64_t off, uint64_t len);

/*
 * Note as free the units whose bits are not set: bits from "first" to "last",
 * the lowest of each byte first.  Bit 0 is at "off", each stands for "unit"
 * bytes.
 */
void fs_note_bits(struct fs_io *, const unsigned char *bits, uint64_t first,
    uint64_t last, uint64_t off, uint64_t unit);

/*
 * The file system as a whole is not proven: it is dirty, damaged or unknown,
 * and why.  The first reason is kept.
 */
void fs_doubt(struct fs_io *, enum fs_state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Part of it is damaged, and counts as used. */
void fs_hurt(struct fs_io *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Set the label, in bytes as they are or in UTF-16, up to the first 0. */
void fs_label(struct fs_io *, const unsigned char *, size_t bytes);
void fs_label_utf16(struct fs_io *, const unsigned char *, size_t units);

/*
 * Convert UTF-16 to UTF-8, up to the first 0, as much as fits; an unpaired
 * surrogate becomes a question mark.
 */
void fs_utf8(char *to, size_t room, const unsigned char *, size_t units);

/* Sort both lists, and remove metadata from "free". */
void fs_settle(struct fs_io *);

/* Whether metadata lies in ranges noted as free, which is impossible. */
bool fs_contradicts(struct fs_io *);

/* The first extent of a list that ends after a byte. */
size_t fs_behind(const struct fs_extents *, uint64_t off);

/* For qsort: extents by their place. */
int fs_extents_order(const void *, const void *);

/* Remove the ranges noted as free from "off" on. */
void fs_take_back(struct fs_io *, uint64_t off);

/* Whether metadata without a fixed place is wanted too. */
static inline bool
fs_deep(const struct fs_io *io)
{
	return (io->how & FS_DEEP) != 0;
}

/* How many of n units the partition holds; *less: not all. */
uint64_t fs_clamp(const struct fs_io *, uint64_t n, uint64_t unit, bool *less);

/* Record the doubt about a file system that is longer than its partition. */
static inline void
fs_too_long(struct fs_io *io)
{
	fs_doubt(io, FS_DAMAGED, "it is longer than what it lies in");
}

/* Whether only proof counts. */
static inline bool
fs_exact(const struct fs_io *io)
{
	return (io->how & FS_ORDER) == 0;
}

/* Whether a file system may be found by its start. */
static inline bool
fs_by_start(const struct fs_io *io)
{
	return io->by != FS_BY_COPY;
}

/* The same by a copy of that, which never proves anything. */
static inline bool
fs_by_copy(const struct fs_io *io)
{
	return io->by != FS_BY_START && !fs_exact(io);
}

/* CRC-32C (Castagnoli, reflected), without the final inversion. */
uint32_t fs_crc32c(uint32_t crc, const void *, size_t);

/* Numbers of 1 to 8 bytes, little or big endian. */
uint64_t fs_le(const unsigned char *, int bytes);
uint64_t fs_be(const unsigned char *, int bytes);

/* Whether n is a power of two; 0 is none. */
static inline bool
fs_power_of_two(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

struct fs_hits;

/*
 * A kind of file system.  Its state begins with a struct fs_io *, the rest is 0
 * before "open".
 */
struct fs_kind {
	const char	*type[3];	/* as in libblkid; "open" may choose */
	size_t		 bytes;		/* of its state */
	/* Whether it is one; if not, nothing is noted. */
	bool		(*open)(void *state);
	/* Read label, state, free space, metadata and volumes. */
	void		(*read)(void *state);
	/* Find the names of files that contain lost bytes; or NULL. */
	void		(*names)(void *state, struct fs_hits *);
	/* Free what the state has, also if "open" did not like it; or NULL. */
	void		(*close)(void *state);
};

extern const struct fs_kind fs_ext, fs_xfs, fs_btrfs, fs_ntfs, fs_fat, fs_exfat,
    fs_swap, fs_lvm, fs_md, fs_luks;

/* Room for names, which fs_names_free frees; false: no memory. */
bool fs_names_open(struct fs_io *, struct fs_names *);

/*
 * Doubt a file system after a search for files that have what it calls free: of
 * "hits", and perhaps "more", and none at all if something could not be read.
 * "differ" says what differs then, and which tool repairs it.
 */
void fs_doubt_files(struct fs_io *, size_t hits, bool more, const char *differ);

#endif
