/*
 * What the process may still do once everything is decided.
 */
#ifndef PARDD_CONFINE_H
#define PARDD_CONFINE_H

#include "plan/plan.h"

enum confined {
	CONFINED_PRIVILEGES = 1 << 0,	/* no_new_privs */
	CONFINED_CAPABILITIES = 1 << 1,	/* only those that ends need */
	CONFINED_FILES = 1 << 2,	/* Landlock: only what the plan names */
	CONFINED_CALLS = 1 << 3,	/* seccomp: no program, no connection */
};

/*
 * Give up what the copy does not need: before there are threads, when all ends
 * and files of the run are open or known.  Returns what holds from now on; what
 * the kernel does not have is left out.
 */
unsigned confine(const struct plan *);

/* What would hold, as far as can be asked. */
unsigned confine_look(const struct plan *);

/* The i-th of them in words, if it is among those; NULL: there are no more. */
const char *confine_word(unsigned i, unsigned holds);

#endif
