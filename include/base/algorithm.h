/*
 * The digest algorithms: their names, sizes, and bits in hash=.
 */
#ifndef PARDD_ALGORITHM_H
#define PARDD_ALGORITHM_H

#include <stddef.h>

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

/* The algorithm whose name is these len bytes, or NULL. */
const struct algorithm *algorithm_named(const char *name, size_t len);

/* The algorithm of a value of expect=, or NULL if there is none. */
const struct algorithm *algorithm_expected(const char *expect);

#endif
