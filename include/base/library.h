/*
 * Libraries that are loaded when they are needed: to be linked with them would
 * cost each start of the program milliseconds.
 */
#ifndef PARDD_LIBRARY_H
#define PARDD_LIBRARY_H

#include <stddef.h>

#include "base/fault.h"

struct symbol {			/* a function, and where its address goes */
	const char	*name;
	size_t		 at;	/* bytes, in a table of pointers */
};

struct library {
	const char	*file;	/* what to load */
	const char	*package;	/* that has it, in Debian */
	const struct symbol *symbol;
	size_t		 n;	/* of these */
};

/*
 * Load it, and fill the table.  It stays loaded.  what needs it is for
 * messages.  Returns 0, or -1 with *f: it is not there, or too old.
 */
int library_load(const struct library *, void *table, const char *what,
    struct fault *f);

#endif
