/*
 * Loading libnbd.  It brings GnuTLS and libxml2, which takes 4 ms, so it is
 * loaded when needed instead of linked.
 */
#include "config.h"

#ifdef HAVE_LIBNBD
#include "nbd.h"

#include "base/library.h"

static const char *const functions[] = {
#define NAME(name)	"nbd_" #name,
	LIBNBD_FUNCTIONS(NAME) NULL
#undef NAME
};

static const struct library library = {
	.file = "libnbd.so.0", .package = "libnbd0",
	.function = functions,
};

int
libnbd_load(struct libnbd *lib, const char *what, struct fault *f)
{
	return library_load(&library, lib, what, f);
}
#endif
