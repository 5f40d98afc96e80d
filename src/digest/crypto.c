/*
 * Loading libcrypto.
 */
#include "crypto.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"

/* ISO C has no cast from object pointers to function pointers. */
static bool
find(void *lib, const char *name, void *function, size_t size)
{
	void *sym = dlsym(lib, name);

	memcpy(function, &sym, size);
	return sym != NULL;
}

#define FIND(member, name)	find(lib, #name, &c->member, sizeof(c->member))

/*
 * Do not read its configuration, which could replace implementations, and
 * register no exit handler.
 */
int
crypto_load(struct crypto *c, const char *what, struct fault *f)
{
	void *lib = dlopen(LIBCRYPTO, RTLD_NOW | RTLD_LOCAL);

	if (lib == NULL)
		return fault_set(f, STATUS_FILE, "%s needs %s, which cannot be "
		    "loaded; Debian has it in libssl3", what, LIBCRYPTO);
	if (FIND(init, OPENSSL_init_crypto) && FIND(fetch, EVP_MD_fetch) &&
	    FIND(free, EVP_MD_free) && FIND(new, EVP_MD_CTX_new) &&
	    FIND(end, EVP_MD_CTX_free) && FIND(begin, EVP_DigestInit_ex2) &&
	    FIND(update, EVP_DigestUpdate) && FIND(final, EVP_DigestFinal_ex) &&
	    c->init(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT,
	    NULL) == 1)
		return 0;
	return fault_set(f, STATUS_FILE, "%s: %s does not do what it is "
	    "needed for", what, LIBCRYPTO);
}
