/*
 * Digests of what is written, one per chunk of the copy: XXH3 of 128 bits, or
 * SHA-256.  The target is compared with them when it is read back.
 *
 * Chunk 0 ends at the first boundary of pieces (map.h), the others have the
 * same length, and the last one ends with the copy, including padding.  So a
 * piece of a plain copy is one chunk.  Offsets are bytes of the map.
 *
 * The table has its own lock, a leaf.
 */
#ifndef PARDD_DIGEST_TABLE_H
#define PARDD_DIGEST_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHECKS_USUAL = 1 << 22,	/* entries, 68 MiB: beyond this, chunks grow */
	CHECKS_MOST = 1 << 25,	/* entries, 544 MiB: if bpt= demands it */
};

enum check_state {
	CHECK_NONE,		/* not written, or not by this run */
	CHECK_COPIED,		/* written, not read back yet */
	CHECK_RIGHT,
	CHECK_DIFFERS,		/* or unreadable */
	CHECK_PART,		/* written in part; within the table only */
};

struct digester;		/* digester.h; NULL for XXH3 */

enum { DIGEST_WORDS = 4 };	/* of the longest digest */

struct digest {			/* most significant word first; XXH3 has two, */
	uint64_t	 word[DIGEST_WORDS];	/* the others are 0 */
};

struct check {			/* a copy of an entry */
	uint64_t	 off, len;	/* bytes: the range of the digest */
	struct digest	 digest;
	enum check_state state;
	bool		 whole;	/* reaches to the end of its chunk */
};

/* c: lock; I: set by digest_table_init, then const */
struct digest_table {
	pthread_mutex_t	 lock;
	uint64_t	 chunk;	/* I: bytes */
	uint64_t	 phase;	/* I: chunks end at multiples, less phase */
	const struct digester *by;	/* I */
	size_t		 words;	/* I: of a digest */
	uint64_t	*digest;	/* c */
	unsigned char	*state;	/* c: enum check_state */
	size_t		 n;	/* c: entries up to the last one used */
	size_t		 room;	/* c: entries */
	uint64_t	 end;	/* c: end of the last range added */
};

/*
 * Make a table for a copy of length bytes; 0: the length is unknown, and the
 * table grows.  The digester stays the caller's, and must outlive the table.
 * Returns 0 or ENOMEM. digest_table_free accepts a struct that is all zero.
 */
int digest_table_init(struct digest_table *, uint64_t length, uint64_t chunk,
    uint64_t phase, const struct digester *);
void digest_table_free(struct digest_table *);

/*
 * Add the digests of len bytes that are about to be written at off: of each
 * chunk from its start to its end, or to the end of the copy.  A later entry
 * replaces an earlier one.  Other parts get no digest.  Returns 0, ENOMEM, or
 * EFBIG beyond CHECKS_MOST entries.
 */
int digest_table_note(struct digest_table *, uint64_t off, const void *buf,
    size_t len);

/* Add the digest of a chunk of len bytes that another run has computed. */
void digest_table_put(struct digest_table *, uint64_t off, uint64_t len,
    const struct digest *);

/*
 * After the copy: its length is "end", and all chunks up to there get an entry.
 * Returns as digest_table_note.
 */
int digest_table_end(struct digest_table *, uint64_t end);

/* Set the state of a chunk that was read back. */
void digest_table_mark(struct digest_table *, size_t i, enum check_state);

/* The number of chunks; and a copy of entry i, false beyond the last. */
size_t digest_table_count(struct digest_table *);
bool digest_table_at(struct digest_table *, size_t i, struct check *);

#ifdef __x86_64__
/* XXH3 of len bytes, on a processor with AVX2. */
struct digest digest_avx2(const void *buf, size_t len);
#endif

/*
 * Compute a digest of len bytes; false without memory.  And whether two digests
 * are equal.
 */
bool digest_of(const struct digester *, const void *buf, size_t len,
    struct digest *);
bool digest_same(const struct digest *, const struct digest *);

#endif
