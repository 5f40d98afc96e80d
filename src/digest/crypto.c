/*
 * Loading libcrypto.
 */
#include "crypto.h"

#include <stddef.h>

#include "base/library.h"
#include "base/status.h"

static const struct symbol symbols[] = {
#define SYMBOL(member, name)	{ #name, offsetof(struct crypto, member) },
	CRYPTO_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const struct library library = {
	.file = LIBCRYPTO, .package = "libssl3",
	.symbol = symbols, .n = sizeof(symbols) / sizeof(symbols[0]),
};

/*
 * Do not read its configuration, which could replace implementations, and
 * register no exit handler.
 */
int
crypto_load(struct crypto *c, const char *what, struct fault *f)
{
	if (library_load(&library, c, what, f) != 0)
		return -1;
	if (c->init(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT,
	    NULL) == 1)
		return 0;
	return fault_set(f, STATUS_REFUSED, "%s: %s does not do what it is "
	    "needed for", what, LIBCRYPTO);
}
