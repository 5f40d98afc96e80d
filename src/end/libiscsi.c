/*
 * Loading libiscsi: it brings libibverbs and its drivers, which take six
 * milliseconds, so that it is loaded by who needs it and linked with nothing.
 */
#include "config.h"

#ifdef HAVE_LIBISCSI
#include "libiscsi.h"

#include <stddef.h>

#include "base/library.h"

static const struct symbol symbols[] = {
#define SYMBOL(name)	{ #name, offsetof(struct libiscsi, name) },
	LIBISCSI_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const struct library library = {
	.file = "libiscsi.so.7", .package = "libiscsi7",
	.symbol = symbols, .n = sizeof(symbols) / sizeof(symbols[0]),
};

int
libiscsi_load(struct libiscsi *lib, const char *what, struct fault *f)
{
	return library_load(&library, lib, what, f);
}
#endif
