/*
 * Loading libiscsi.  It brings libibverbs and its drivers, which takes 6 ms, so
 * it is loaded when needed instead of linked.
 */
#include "config.h"

#ifdef HAVE_LIBISCSI
#include "iscsi_link.h"

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
