/*
 * What the process may still do once everything is decided.
 */
#ifndef PARDD_CONFINE_H
#define PARDD_CONFINE_H

#include "plan/plan.h"

enum confined {
	CONFINED_PRIVILEGES = 1 << 0,	/* no_new_privs */
	CONFINED_CAPABILITIES = 1 << 1,	/* keep only those that the ends need */
	CONFINED_FILES = 1 << 2,	/* Landlock: only files of the plan */
	CONFINED_CALLS = 1 << 3,	/* seccomp: no exec, no connections */
};

/*
 * Give up every right that the copy does not need.  Call before there are
 * threads, when all ends and files of the run are open or known.  Returns what
 * is in force; features that the kernel lacks are left out.
 */
unsigned confine(const struct plan *);

/* What confine would return, as far as the kernel tells. */
unsigned confine_look(const struct plan *);

/* The word for the i-th bit that is set in "holds"; NULL: there are no more. */
const char *confine_word(unsigned i, unsigned holds);

#endif
