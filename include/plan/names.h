/*
 * Which names the files of a run may have.
 */
#ifndef PARDD_NAMES_H
#define PARDD_NAMES_H

#include "base/fault.h"
#include "base/newfile.h"
#include "plan/plan.h"

/*
 * Whether a file that was opened (newfile_open), or the name it is first
 * written under, is an end of the copy, or what another operand names.  Returns
 * 0, or -1 with *f.
 */
int names_newfile(const struct newfile *, const struct plan *,
    struct fault *f);

/*
 * The same of map=, with what the map before is called.  It need not be the
 * first: a file that is there is taken for a map.  Opens nothing.  Returns 0,
 * or -1 with *f.
 */
int names_map(const struct plan *, struct fault *f);

#endif
