/*
 * Block maps, versions 1.0 to 2.0: which blocks of an image hold data, and
 * their digests, as bmaptool(1) makes them.
 */
#ifndef PARDD_BMAP_H
#define PARDD_BMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/algorithm.h"
#include "base/fault.h"
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

#endif
