/*
 * SHA-256 of data in memory, by libcrypto.  One digester serves any number of
 * threads.
 */
#ifndef PARDD_DIGESTER_H
#define PARDD_DIGESTER_H

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "digest/digest_table.h"

struct digester;
struct digester_sum;		/* of data that comes in parts */

/*
 * Load the library; "what" needs it, for messages.  Returns 0, or -1 with *f
 * and *made NULL. digester_close accepts NULL.
 */
int digester_open(struct digester **made, const char *what, struct fault *f);
void digester_close(struct digester *);

/* Compute a digest; false without memory. */
bool digester_digest(const struct digester *, const void *buf, size_t len,
    struct digest *);

/*
 * Compute a digest in parts.  digester_begin returns NULL without memory;
 * digester_end frees the sum, and returns false if any part has failed.
 */
struct digester_sum *digester_begin(const struct digester *);
void digester_add(struct digester_sum *, const void *buf, size_t len);
bool digester_end(struct digester_sum *, struct digest *);

/*
 * libcrypto, loaded only when needed: linking with it would take longer than
 * the rest of the program's start.
 */

#define TEXT(x)		#x
#define VERSION(x)	TEXT(x)
#define LIBCRYPTO	"libcrypto.so." VERSION(OPENSSL_SHLIB_VERSION)

#define CRYPTO_FUNCTIONS(X) \
	X(init, OPENSSL_init_crypto) X(fetch, EVP_MD_fetch) \
	X(free, EVP_MD_free) X(new, EVP_MD_CTX_new) X(end, EVP_MD_CTX_free) \
	X(begin, EVP_DigestInit_ex2) X(update, EVP_DigestUpdate) \
	X(final, EVP_DigestFinal_ex)

struct crypto {
#define MEMBER(member, name)	__typeof__(name) *(member);
	CRYPTO_FUNCTIONS(MEMBER)
#undef MEMBER
};

/*
 * Load it; it stays loaded.  "what" needs it, for messages.  Returns 0, or -1
 * with *f (STATUS_REFUSED).
 */
int crypto_load(struct crypto *, const char *what, struct fault *f);

#endif
