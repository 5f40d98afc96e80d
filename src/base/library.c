/*
 * Loading a library.
 */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/status.h"

int
library_load(const struct library *l, void *table, const char *what,
    struct fault *f)
{
	void *so = dlopen(l->file, RTLD_NOW | RTLD_LOCAL), *sym;
	const struct symbol *s;

	if (so == NULL)
		return fault_set(f, STATUS_REFUSED, "%s needs %s, which cannot "
		    "be loaded; Debian has it in %s", what, l->file,
		    l->package);
	for (s = l->symbol; s < l->symbol + l->n; s++) {
		sym = dlsym(so, s->name);
		if (sym == NULL)
			return fault_set(f, STATUS_REFUSED, "%s needs a newer "
			    "%s, one with %s", what, l->file, s->name);
		/*
		 * ISO C has no cast from object pointers to function pointers.
		 */
		memcpy((char *)table + s->at, &sym, sizeof(sym));
	}
	return 0;
}
