/*
 * Which names the files of a run may have.
 */
#ifndef PARDD_NAMES_H
#define PARDD_NAMES_H

#include "base/fault.h"
#include "base/newfile.h"
#include "plan/plan.h"

/*
 * Refuse a file opened by newfile_open if it, or its temporary name, is an end
 * of the copy or the file of another operand.  Returns 0, or -1 with *f.
 */
int names_newfile(const struct newfile *, const struct plan *,
    struct fault *f);

/*
 * The same for map= and the names of its previous versions.  An existing file
 * must be a map, so it need not be checked first.  Opens nothing.  Returns 0,
 * or -1 with *f.
 */
int names_map(const struct plan *, struct fault *f);

/*
 * Check view=, which need not exist; else it is an empty file.  Returns 0, or
 * -1 with *f.
 */
int names_view(const struct plan *, struct fault *f);

#endif
