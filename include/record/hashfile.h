/*
 * Digests as lines that sha256sum and similar tools read; printed, and for
 * hashfile=.
 */
#ifndef PARDD_HASHFILE_H
#define PARDD_HASHFILE_H

#include <stdint.h>

#include "base/fault.h"
#include "base/newfile.h"
#include "copy/outcome.h"
#include "digest/hash.h"
#include "plan/plan.h"

/*
 * The line of a digest, without a newline; malloc'ed, the caller frees it.
 * NULL without memory.  Several digests have tags.
 */
char *hashfile_line(const struct plan *, const struct hash_sum *);

/*
 * Write the file if the copy was read completely, with a comment if the digests
 * are not those of the whole named file.  Returns 0, or -1 with *f.
 */
int hashfile_write(struct newfile *, const struct plan *,
    const struct outcome *, struct fault *f);

#endif
