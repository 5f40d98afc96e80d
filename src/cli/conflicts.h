/*
 * Operands that contradict each other.
 */
#ifndef PARDD_CONFLICTS_H
#define PARDD_CONFLICTS_H

#include "cli/opts.h"

/*
 * The message for the first rule of conflicts.def that the operands break, or
 * NULL.  The string is constant.
 */
const char *conflict(const struct opts *o);

#endif
