/*
 * Loading a library.
 */
#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"

/*
 * The loader says only in words why it failed.  Whether descriptors have run
 * out is found out by opening one.
 */
static int
library_fail(const struct library *l, const char *what, struct fault *f)
{
	int fd = open("/", O_PATH | O_CLOEXEC);

	if (fd < 0)
		return fault_errno(f, errno, "%s: loading %s", what, l->file);
	close(fd);
	return fault_set(f, STATUS_REFUSED, "%s needs %s, which cannot be "
	    "loaded; Debian has it in %s", what, l->file, l->package);
}

int
library_load(const struct library *l, void *table, const char *what,
    struct fault *f)
{
	void *so = dlopen(l->file, RTLD_NOW | RTLD_LOCAL), *sym;
	size_t i;

	if (so == NULL)
		return library_fail(l, what, f);
	for (i = 0; l->function[i] != NULL; i++) {
		sym = dlsym(so, l->function[i]);
		if (sym == NULL)
			return fault_set(f, STATUS_REFUSED, "%s needs a newer "
			    "%s, one with %s", what, l->file, l->function[i]);
		/*
		 * ISO C has no cast from object pointers to function pointers.
		 */
		memcpy((char *)table + i * sizeof(sym), &sym, sizeof(sym));
	}
	return 0;
}
