/*
 * The digest algorithms.
 */
#include "base/algorithm.h"

#include <string.h>

const struct algorithm algorithms[ALGORITHMS] = {
	{ HASH_SHA256, "sha256", "SHA256", "SHA2-256", 32 },
	{ HASH_SHA512, "sha512", "SHA512", "SHA2-512", 64 },
	{ HASH_SHA1, "sha1", "SHA1", "SHA1", 20 },
	{ HASH_MD5, "md5", "MD5", "MD5", 16 },
	{ HASH_BLAKE2B512, "blake2b512", "BLAKE2b", "BLAKE2B-512", 64 },
	{ HASH_SHA3_256, "sha3-256", "SHA3-256", "SHA3-256", 32 },
	{ HASH_XXH128, "xxh128", "XXH128", NULL, 16 },
};

const struct algorithm *
algorithm_named(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ALGORITHMS; i++)
		if (strlen(algorithms[i].name) == len &&
		    strncmp(algorithms[i].name, name, len) == 0)
			return &algorithms[i];
	return NULL;
}

const struct algorithm *
algorithm_expected(const char *expect)
{
	return expect == NULL ? NULL : algorithm_named(expect, strcspn(expect,
	    ":"));
}
