/*
 * Loading libnbd: to be linked with it costs every start of the program four
 * milliseconds, for it brings GnuTLS and libxml2.
 */
#include "config.h"

#ifdef HAVE_LIBNBD
#include "libnbd.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/status.h"

#define LIBNBD	"libnbd.so.0"

struct symbol {
	const char	*name;
	size_t		 at;	/* in struct libnbd */
};

static const struct symbol symbols[] = {
#define SYMBOL(name)	{ "nbd_" #name, offsetof(struct libnbd, name) },
	LIBNBD_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

int
libnbd_load(struct libnbd *lib, const char *what, struct fault *f)
{
	void *so = dlopen(LIBNBD, RTLD_NOW | RTLD_LOCAL), *sym;
	size_t i;

	if (so == NULL)
		return fault_set(f, STATUS_REFUSED, "%s needs %s, which cannot "
		    "be loaded; Debian has it in libnbd0", what, LIBNBD);
	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		sym = dlsym(so, symbols[i].name);
		if (sym == NULL)
			return fault_set(f, STATUS_REFUSED, "%s needs a newer "
			    "%s, one with %s", what, LIBNBD, symbols[i].name);
		/* ISO C has no cast from an object to a function. */
		memcpy((char *)lib + symbols[i].at, &sym, sizeof(sym));
	}
	return 0;
}
#endif
