/*
 * Loading libiscsi.  It brings libibverbs and its drivers, which takes 6 ms, so
 * it is loaded when needed instead of linked.
 */
#include "config.h"

#ifdef HAVE_LIBISCSI
#include "iscsi_link.h"

static const char *const functions[] = {
	LIBISCSI_FUNCTIONS(LIBRARY_NAME) NULL
};

static const struct library library = {
	.file = "libiscsi.so.7", .package = "libiscsi7",
	.function = functions,
};

int
libiscsi_load(struct libiscsi *lib, const char *what, struct fault *f)
{
	return library_load(&library, lib, what, f);
}
#endif
