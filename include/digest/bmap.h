/*
 * Block maps, versions 1.0 to 2.0: which blocks of an image hold data, and
 * their digests, as bmaptool(1) makes them.
 */
#ifndef PARDD_BMAP_H
#define PARDD_BMAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/fault.h"
#include "digest/digest_table.h"
#include "digest/digester.h"
#include "digest/hash.h"

enum {
	BMAP_FILE_MOST = 1 << 30,	/* bytes of a file to be read */
	BMAP_RANGES_MOST = 1 << 23,	/* each takes memory, with its
					 * SHA-256 */
};

struct bmap {
	uint64_t size;		/* bytes of the image */
	uint64_t block;		/* bytes; ranges are multiples of it */
	const struct algorithm *algorithm;	/* of its digests, or NULL */
	struct hash_range *range;	/* in order, with their digests */
	size_t	 n, room;
};

/*
 * Read a block map.  Its own checksum is verified first, and every value is
 * checked before use.  Returns 0, or -1 with *f and nothing to free: a refusal,
 * also if libexpat is missing. bmap_free accepts a struct that is all zero.
 */
int bmap_load(struct bmap *, const char *path, struct fault *f);
void bmap_free(struct bmap *);

/*
 * The pieces of a block map and their digests, collected during the copy in any
 * order.  Has its own lock, a leaf.
 */

struct bmap_piece {
	uint64_t	 off, len;	/* bytes of the image */
	struct digest	 digest;
	size_t		 order;		/* in which it was added */
};

/* c: lock; I: set by bmap_table_init, then const */
struct bmap_table {
	pthread_mutex_t	 lock;
	const struct digester *by;	/* I */
	struct bmap_piece *piece;	/* c */
	size_t		 n, room;	/* c */
};

/*
 * The digester stays the caller's, and must outlive the table. bmap_table_free
 * accepts a struct that is all zero.
 */
void bmap_table_init(struct bmap_table *, const struct digester *);
void bmap_table_free(struct bmap_table *);

/*
 * Add a piece of len bytes that is about to be written at off; a later entry
 * replaces an earlier one.  Returns 0, ENOMEM, or EFBIG if no reader would
 * accept so large a map.
 */
int bmap_table_note(struct bmap_table *, uint64_t off, const void *buf,
    size_t len);

/*
 * After the copy: sort the pieces.  Returns false if some overlap, because then
 * their digests say nothing.
 */
bool bmap_table_settle(struct bmap_table *);

#endif
