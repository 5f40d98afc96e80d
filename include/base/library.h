/*
 * Libraries that are loaded only when needed: linking with them would cost
 * every start of the program milliseconds.
 */
#ifndef PARDD_LIBRARY_H
#define PARDD_LIBRARY_H

#include <stddef.h>

#include "base/fault.h"

struct symbol {			/* a function, and where to put its address */
	const char	*name;
	size_t		 at;	/* bytes, in a table of pointers */
};

struct library {
	const char	*file;	/* what to load */
	const char	*package;	/* its Debian package */
	const struct symbol *symbol;
	size_t		 n;	/* of these */
};

/*
 * Load the library and fill the table.  It stays loaded.  "what" is the end or
 * operand that needs it, for messages.  Returns 0, or -1 with *f: it is missing
 * or too old, or cannot be loaded for another reason, such as a lack of
 * descriptors.
 */
int library_load(const struct library *, void *table, const char *what,
    struct fault *f);

#endif
