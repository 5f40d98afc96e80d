/*
 * The digests that there are: their names, sizes and bits in hash=.
 */
#ifndef PARDD_ALGORITHM_H
#define PARDD_ALGORITHM_H

#include <stddef.h>

#include "base/fault.h"

enum hash_word {		/* of hash= */
	HASH_SHA256 = 1 << 0,
	HASH_SHA512 = 1 << 1,
	HASH_SHA1 = 1 << 2,
	HASH_MD5 = 1 << 3,
	HASH_BLAKE2B512 = 1 << 4,
	HASH_SHA3_256 = 1 << 5,
	HASH_XXH128 = 1 << 6,
};

enum { ALGORITHMS = 7 };

struct algorithm {
	unsigned	 bit;
	const char	*name;		/* as in hash= */
	const char	*tag;		/* as in a line of cksum */
	const char	*crypto;	/* in libcrypto; NULL: it is XXH3 */
	size_t		 size;		/* bytes of a digest */
};

extern const struct algorithm algorithms[ALGORITHMS];

/* The one with this name, of len bytes, or NULL. */
const struct algorithm *algorithm_named(const char *name, size_t len);

/*
 * Whether what expect= was given, which may be NULL, can be read: a usage error
 * in *f, and -1, if not.  Adds its algorithm to the bits.
 */
int algorithm_expect(const char *expect, unsigned *bits, struct fault *f);

#endif
