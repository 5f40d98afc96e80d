/*
 * Loading librbd: 9 MB, and 30 ms, of which other copies need nothing.
 */
#include "config.h"

#ifdef HAVE_LIBRBD
#include "librbd.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/status.h"

#define LIBRBD	"librbd.so.1"

struct symbol {
	const char	*name;
	size_t		 at;	/* in struct librbd */
};

static const struct symbol symbols[] = {
#define SYMBOL(name)	{ "rbd_" #name, offsetof(struct librbd, name) },
	LIBRBD_FUNCTIONS(SYMBOL)
#undef SYMBOL
#define SYMBOL(name) \
	{ "rados_" #name, offsetof(struct librbd, rados.name) },
	LIBRADOS_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

int
librbd_load(struct librbd *lib, const char *what, struct fault *f)
{
	void *so = dlopen(LIBRBD, RTLD_NOW | RTLD_LOCAL), *sym;
	size_t i;

	if (so == NULL)
		return fault_set(f, STATUS_REFUSED, "%s needs %s, which cannot "
		    "be loaded; Debian has it in librbd1", what, LIBRBD);
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		sym = dlsym(so, symbols[i].name);
		if (sym == NULL)
			return fault_set(f, STATUS_REFUSED, "%s needs a newer "
			    "%s, one with %s", what, LIBRBD, symbols[i].name);
		/* ISO C has no cast from an object to a function. */
		memcpy((char *)lib + symbols[i].at, &sym, sizeof(sym));
	}
	return 0;
}
#endif
