/*
 * Digests as lines that sha256sum and its kin read, printed and in hashfile=.
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
 * The line of a digest of the run, without its newline; malloc'ed and the
 * caller's, NULL without memory.  Several digests are told apart by their tags.
 */
char *hashfile_line(const struct plan *, const struct hash_sum *);

/* The end that the lines name, and where the copy begins there; or NULL. */
const struct endpoint *hashfile_named(const struct plan *, uint64_t *off);

/*
 * Write the file if all of the copy was read, and a remark where the digests
 * are not those of the whole file that they name.  Returns 0, or -1 with *f.
 */
int hashfile_write(struct newfile *, const struct plan *,
    const struct outcome *, struct fault *f);

#endif
