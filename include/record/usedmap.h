/*
 * usedmap=: what file systems use, as a map that ddrescue and domain= accept as
 * a domain.
 */
#ifndef PARDD_USEDMAP_H
#define PARDD_USEDMAP_H

#include "base/fault.h"
#include "base/newfile.h"
#include "plan/plan.h"

/*
 * Write it, if requested: + is used, ? is free; positions are bytes of the
 * source.  Returns 0, or -1 with *f.
 */
int usedmap_write(struct newfile *, const struct plan *, struct fault *f);

#endif
