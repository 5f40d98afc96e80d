/*
 * Loading librbd, when needed: 9 MB and 30 ms.
 */
#include "config.h"

#ifdef HAVE_LIBRBD
#include "rbd_image.h"

#include "base/library.h"

static const char *const functions[] = {
#define NAME(name)	"rbd_" #name,
	LIBRBD_FUNCTIONS(NAME)
#undef NAME
#define NAME(name)	"rados_" #name,
	LIBRADOS_FUNCTIONS(NAME) NULL
#undef NAME
};

static const struct library library = {
	.file = "librbd.so.1", .package = "librbd1",
	.function = functions,
};

int
librbd_load(struct librbd *lib, const char *what, struct fault *f)
{
	return library_load(&library, lib, what, f);
}
#endif
