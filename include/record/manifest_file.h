/*
 * Writing manifests.
 */
#ifndef PARDD_MANIFEST_FILE_H
#define PARDD_MANIFEST_FILE_H

#include <stdint.h>

#include "base/fault.h"
#include "base/newfile.h"
#include "digest/digest_table.h"
#include "plan/plan.h"

/*
 * Write a table of digests; off is the byte of the target where its ranges
 * begin.  Returns 0, or -1 with *f.
 */
int manifest_write(struct newfile *, const struct plan *, struct digest_table *,
    uint64_t off, struct fault *f);

#endif
