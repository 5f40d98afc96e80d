/*
 * Loading libnbd.  It brings GnuTLS and libxml2, which takes 4 ms, so it is
 * loaded when needed instead of linked.
 */
#include "config.h"

#ifdef HAVE_LIBNBD
#include "nbd.h"

#include <stddef.h>

#include "base/library.h"

static const struct symbol symbols[] = {
#define SYMBOL(name)	{ "nbd_" #name, offsetof(struct libnbd, name) },
	LIBNBD_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const struct library library = {
	.file = "libnbd.so.0", .package = "libnbd0",
	.symbol = symbols, .n = sizeof(symbols) / sizeof(symbols[0]),
};

int
libnbd_load(struct libnbd *lib, const char *what, struct fault *f)
{
	return library_load(&library, lib, what, f);
}
#endif
