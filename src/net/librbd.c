/*
 * Loading librbd, when needed: 9 MB and 30 ms.
 */
#include "config.h"

#ifdef HAVE_LIBRBD
#include "rbd_image.h"

#include <stddef.h>

#include "base/library.h"

static const struct symbol symbols[] = {
#define SYMBOL(name)	{ "rbd_" #name, offsetof(struct librbd, name) },
	LIBRBD_FUNCTIONS(SYMBOL)
#undef SYMBOL
#define SYMBOL(name) \
	{ "rados_" #name, offsetof(struct librbd, rados.name) },
	LIBRADOS_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

static const struct library library = {
	.file = "librbd.so.1", .package = "librbd1",
	.symbol = symbols, .n = sizeof(symbols) / sizeof(symbols[0]),
};

int
librbd_load(struct librbd *lib, const char *what, struct fault *f)
{
	return library_load(&library, lib, what, f);
}
#endif
