/*
 * What operands say against each other.
 */
#ifndef PARDD_CONFLICTS_H
#define PARDD_CONFLICTS_H

#include "cli/opts.h"

/*
 * Why no copy can be what these operands say together, or what is wrong with
 * the text of one, for who wrote them; NULL when nothing is.
 */
const char *conflict(const struct opts *o);

#endif
