/*
 * Digests of what the target was given, one for each chunk of the copy: XXH3,
 * 128 bits, or SHA-256.  They are what the target is held against when it is
 * read back.
 *
 * Chunk 0 ends at the first border of pieces (map.h), the others are
 * plan->chunk bytes long, the last one ends where the copy does, padding and
 * all.  So a piece of a plain copy is one chunk.  Offsets are bytes of the map.
 *
 * Every function locks for itself; the lock is a leaf.
 */
#ifndef PARDD_DIGEST_TABLE_H
#define PARDD_DIGEST_TABLE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CHECKS_USUAL = 1 << 22,	/* entries: 68 MiB, a chunk grows before that */
	CHECKS_MOST = 1 << 25,	/* entries: 544 MiB, where bpt= wants that */
};

enum check_state {
	CHECK_NONE,		/* no digest: not written, or not from here */
	CHECK_COPIED,		/* written, not yet read back */
	CHECK_RIGHT,
	CHECK_DIFFERS,		/* or cannot be read back */
	CHECK_PART,		/* written in part; in a table only */
};

struct digester;		/* digester.h; NULL for XXH3 */

enum { DIGEST_WORDS = 4 };	/* of the longest */

struct digest {			/* the most significant word first; of XXH3 */
	uint64_t	 word[DIGEST_WORDS];	/* two, and the rest is 0 */
};

struct check {			/* an entry as it is told */
	uint64_t	 off, len;	/* bytes; what it is a digest of */
	struct digest	 digest;
	enum check_state state;
	bool		 whole;	/* to the end of its chunk */
};

/* c: lock; I: set by digest_table_init, then const */
struct digest_table {
	pthread_mutex_t	 lock;
	uint64_t	 chunk;	/* I: bytes */
	uint64_t	 phase;	/* I: a chunk ends at a multiple - phase */
	const struct digester *by;	/* I */
	size_t		 words;	/* I: of a digest */
	uint64_t	*digest;	/* c */
	unsigned char	*state;	/* c: enum check_state */
	size_t		 n;	/* c: entries up to the last one noted */
	size_t		 room;	/* c: entries */
	uint64_t	 end;	/* c: behind the last byte that was noted */
};

/*
 * Make a table for a copy of length bytes, or of a length that is not known
 * (0), and then it grows as it is filled.  Who makes the digests stays the
 * caller's, for as long as there is the table.  Returns 0 or ENOMEM.
 * digest_table_free frees it; also one that was never made, if it is all zero.
 */
int digest_table_init(struct digest_table *, uint64_t length, uint64_t chunk,
    uint64_t phase, const struct digester *);
void digest_table_free(struct digest_table *);

/*
 * The target is being given len bytes for off: from the beginning of a chunk to
 * its end, or to the end of the copy.  What is noted twice counts as noted
 * last.  Other ranges get no digest.  Returns 0, ENOMEM, or EFBIG where the
 * table would have more than CHECKS_MOST entries.
 */
int digest_table_note(struct digest_table *, uint64_t off, const void *buf,
    size_t len);

/* The digest of a chunk, of len bytes, that was made in another run. */
void digest_table_put(struct digest_table *, uint64_t off, uint64_t len,
    const struct digest *);

/*
 * The copy is over, and was of end bytes: there are entries up to there, noted
 * or not.  Returns as digest_table_note.
 */
int digest_table_end(struct digest_table *, uint64_t end);

/* A chunk was read back. */
void digest_table_mark(struct digest_table *, size_t i, enum check_state);

/* The number of chunks, and entry i; false behind the last. */
size_t digest_table_count(struct digest_table *);
bool digest_table_at(struct digest_table *, size_t i, struct check *);

#ifdef __x86_64__
/* XXH3 of len bytes, on a processor with AVX2. */
struct digest digest_avx2(const void *buf, size_t len);
#endif

/*
 * The digest of len bytes: false without memory.  And whether two are equal.
 */
bool digest_of(const struct digester *, const void *buf, size_t len,
    struct digest *);
bool digest_same(const struct digest *, const struct digest *);

#endif
