/*
 * Loading libiscsi: it brings libibverbs and its drivers, which take six
 * milliseconds, so that it is loaded by who needs it and linked with nothing.
 */
#include "config.h"

#ifdef HAVE_LIBISCSI
#include "libiscsi.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/status.h"

#define LIBISCSI	"libiscsi.so.7"

struct symbol {
	const char	*name;
	size_t		 at;	/* in struct libiscsi */
};

static const struct symbol symbols[] = {
#define SYMBOL(name)	{ #name, offsetof(struct libiscsi, name) },
	LIBISCSI_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

int
libiscsi_load(struct libiscsi *lib, const char *what, struct fault *f)
{
	void *so = dlopen(LIBISCSI, RTLD_NOW | RTLD_LOCAL), *sym;
	size_t i;

	if (so == NULL)
		return fault_set(f, STATUS_REFUSED, "%s needs %s, which "
		    "cannot be loaded; Debian has it in libiscsi7", what,
		    LIBISCSI);
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		sym = dlsym(so, symbols[i].name);
		if (sym == NULL)
			return fault_set(f, STATUS_REFUSED, "%s needs a newer "
			    "%s, one with %s", what, LIBISCSI, symbols[i].name);
		/* ISO C has no cast from an object to a function. */
		memcpy((char *)lib + symbols[i].at, &sym, sizeof(sym));
	}
	return 0;
}
#endif
