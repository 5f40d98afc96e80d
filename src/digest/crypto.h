/*
 * libcrypto, loaded only when needed: linking with it would take longer than
 * the rest of the program's start.
 */
#ifndef PARDD_CRYPTO_H
#define PARDD_CRYPTO_H

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/fault.h"

#define TEXT(x)		#x
#define VERSION(x)	TEXT(x)
#define LIBCRYPTO	"libcrypto.so." VERSION(OPENSSL_SHLIB_VERSION)

#define CRYPTO_FUNCTIONS(X) \
	X(init, OPENSSL_init_crypto) X(fetch, EVP_MD_fetch) \
	X(free, EVP_MD_free) X(new, EVP_MD_CTX_new) X(end, EVP_MD_CTX_free) \
	X(begin, EVP_DigestInit_ex2) X(update, EVP_DigestUpdate) \
	X(final, EVP_DigestFinal_ex)

struct crypto {
#define MEMBER(member, name)	__typeof__(name) *member;
	CRYPTO_FUNCTIONS(MEMBER)
#undef MEMBER
};

/*
 * Load it; it stays loaded.  "what" needs it, for messages.  Returns 0, or -1
 * with *f (STATUS_REFUSED).
 */
int crypto_load(struct crypto *, const char *what, struct fault *f);

#endif
