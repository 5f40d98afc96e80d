/*
 * Libraries that are loaded only when needed: linking with them would cost
 * every start of the program milliseconds.
 */
#ifndef PARDD_LIBRARY_H
#define PARDD_LIBRARY_H

#include "base/fault.h"

struct library {
	const char	*file;	/* what to load */
	const char	*package;	/* its Debian package */
	const char	*const *function;	/* their names, then NULL */
};

/*
 * Its functions are a list, #define LIBX_FUNCTIONS(X) X(x_open) X(x_close).  It
 * makes the table of pointers to them, and their names.  For one file,
 * LIBRARY_STATIC defines both: struct libx, and a const libx.
 */
#define LIBRARY_MEMBER(name)	__typeof__(name) *(name);
#define LIBRARY_NAME(name)	#name,
#define LIBRARY(so, debian, names)	{ .file = (so), .package = (debian), \
	.function = (const char *const []){ names NULL } }
#define LIBRARY_STATIC(libx, so, debian, functions) \
	struct libx { functions(LIBRARY_MEMBER) }; \
	static const struct library libx = \
	    LIBRARY(so, debian, functions(LIBRARY_NAME))

/*
 * Load the library and fill the table, a struct of nothing but pointers in the
 * order of the names.  It stays loaded.  "what" is the end or
 * operand that needs it, for messages.  Returns 0, or -1 with *f: it is missing
 * or too old, or cannot be loaded for another reason, such as a lack of
 * descriptors.
 */
int library_load(const struct library *, void *table, const char *what,
    struct fault *f);

#endif
