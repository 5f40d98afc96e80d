/*
 * The digest algorithms.
 */
#include "base/algorithm.h"

#include <string.h>

#include "base/status.h"

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

int
algorithm_expect(const char *expect, unsigned *bits, struct fault *f)
{
	const struct algorithm *a;
	size_t len, digits;

	if (expect == NULL)
		return 0;
	len = strcspn(expect, ":");
	a = algorithm_expected(expect);
	if (expect[len] == '\0' || a == NULL)
		return fault_set(f, STATUS_USAGE, "expect=%s: it takes "
		    "ALG:HEX, with an algorithm of hash=, or @FILE", expect);
	digits = strspn(expect + len + 1, "0123456789abcdefABCDEF");
	if (digits != 2 * a->size || expect[len + 1 + digits] != '\0')
		return fault_set(f, STATUS_USAGE, "expect=%s: a digest of %s "
		    "has %zu hexadecimal digits", expect, a->name,
		    2 * a->size);
	*bits |= a->bit;
	return 0;
}
