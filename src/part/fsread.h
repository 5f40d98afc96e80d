/*
 * What the readers of file systems share: reading with errors, numbers as they
 * stand on a disk, lists of extents, checksums, and what they come to believe.
 */
#ifndef PARDD_FSREAD_H
#define PARDD_FSREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "part/fsmap.h"

enum { FS_PIECE = 256 << 10 };	/* bytes of a read, at most */

struct fs_io {			/* one reading */
	const struct fs_source *src;
	struct fs_map *map;
	unsigned how;		/* enum fs_how */
	uint64_t budget;	/* bytes that may still be read */
	bool	 whole;		/* nothing of it is proven */
	bool	 poor;		/* there was no memory */
	bool	 failed;	/* something was not read */
};

/*
 * Read a range: 0, or an errno value: ERANGE where it leaves the partition,
 * EFBIG when it has been too much, which it is from then on, and behind
 * ETIMEDOUT.
 */
int fs_get(struct fs_io *, uint64_t off, void *buf, size_t len);

/*
 * Read "n" units that follow each other, by one request, or one by one where
 * that fails; those that could not be read become "filler".  Returns how many
 * that were.
 */
size_t fs_get_units(struct fs_io *, uint64_t off, unsigned char *buf,
    size_t unit, size_t n, int filler);

/* malloc, zeroed; NULL is noted in *io, and the reader just leaves. */
void *fs_alloc(struct fs_io *io, size_t bytes);

/* Note a range as free, or as a structure of the file system. */
void fs_note_free(struct fs_io *, uint64_t off, uint64_t len);
void fs_note_meta(struct fs_io *, uint64_t off, uint64_t len);

/*
 * Note as free what has no bit set: bits from "first" to "last", the lowest of
 * a byte first.  Bit 0 is at "off", each is "unit" bytes.  Returns how many
 * those are.
 */
uint64_t fs_note_bits(struct fs_io *, const unsigned char *bits,
    uint64_t first, uint64_t last, uint64_t off, uint64_t unit);

/*
 * The file system as a whole is not proven: dirty, damaged or unknown, and why.
 * The first reason stays.
 */
void fs_doubt(struct fs_io *, enum fs_state, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A part of it is damaged, and that part counts as used. */
void fs_hurt(struct fs_io *, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A label in bytes (as it comes), or in UTF-16, up to its first 0. */
void fs_label(struct fs_io *, const unsigned char *, size_t bytes);
void fs_label_utf16(struct fs_io *, const unsigned char *, size_t units);

/*
 * UTF-16 as UTF-8, up to its first 0 or as much as there is room for; what is
 * half of a pair becomes a question mark.
 */
void fs_utf8(char *to, size_t room, const unsigned char *, size_t units);

/* Both lists in order, the structures of the file system not in "free". */
void fs_settle(struct fs_io *);

/*
 * Whether a structure of the file system is in what was noted as free, which
 * none can be.
 */
bool fs_contradicts(struct fs_io *);

/* What was noted as free from "off" on is not proven: it is taken back. */
void fs_take_back(struct fs_io *, uint64_t off);

/* Whether the structures that are not at a fixed place are asked for, too. */
bool fs_deep(const struct fs_io *);

/* As many of n units as the partition holds; whether it holds less. */
uint64_t fs_clamp(const struct fs_io *, uint64_t n, uint64_t unit, bool *less);

/* The doubt about a file system that is longer than its partition. */
void fs_too_long(struct fs_io *);

/* Whether only what is proven counts. */
bool fs_exact(const struct fs_io *);

/* CRC-32C (Castagnoli, reflected), without a final inversion. */
uint32_t fs_crc32c(uint32_t crc, const void *, size_t);

/* Numbers of 1 to 8 bytes, least or most significant byte first. */
uint64_t fs_le(const unsigned char *, int bytes);
uint64_t fs_be(const unsigned char *, int bytes);

bool fs_power_of_two(uint64_t);		/* 0 is none */

#endif
