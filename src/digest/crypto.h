/*
 * libcrypto, loaded only when needed: linking with it would cost more than all
 * the rest of starting the program.
 */
#ifndef PARDD_CRYPTO_H
#define PARDD_CRYPTO_H

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/fault.h"

#define TEXT(x)		#x
#define VERSION(x)	TEXT(x)
#define LIBCRYPTO	"libcrypto.so." VERSION(OPENSSL_SHLIB_VERSION)

struct crypto {			/* its functions */
	__typeof__(OPENSSL_init_crypto) *init;
	__typeof__(EVP_MD_fetch) *fetch;
	__typeof__(EVP_MD_free) *free;
	__typeof__(EVP_MD_CTX_new) *new;
	__typeof__(EVP_MD_CTX_free) *end;
	__typeof__(EVP_DigestInit_ex2) *begin;
	__typeof__(EVP_DigestUpdate) *update;
	__typeof__(EVP_DigestFinal_ex) *final;
};

/*
 * Load it; it stays loaded.  "what" needs it, for messages.  Returns 0, or -1
 * with *f.
 */
int crypto_load(struct crypto *, const char *what, struct fault *f);

#endif
