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
#include "digest/bmap.h"
#include "digest/digest_table.h"
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

/*
 * Writing block maps.
 */

/*
 * Write the block map of an image of "size" bytes, in blocks of "block" bytes;
 * blocks without a piece are not mapped.  Returns 0, or -1 with *f.
 */
int bmap_write(struct newfile *, struct bmap_table *, uint64_t size,
    uint64_t block, struct fault *f);

/*
 * Writing manifests.
 */

struct json_t;

struct ends_told {		/* what a manifest says of the ends */
	struct json_t	*source, *target;	/* NULL: none, or no memory */
};

/* Describe the ends of a plan while they are open; manifest_forget frees it. */
void manifest_look(struct ends_told *, const struct plan *);
void manifest_forget(struct ends_told *);

/*
 * Write a table of digests; off is the byte of the target where its ranges
 * begin.  Returns 0, or -1 with *f.
 */
int manifest_write(struct newfile *, const struct plan *, struct digest_table *,
    uint64_t off, const struct ends_told *, struct fault *f);

/*
 * usedmap=: what file systems use, as a map that ddrescue and domain= accept as
 * a domain.
 */

/*
 * Write it, if requested: + is used, ? is free; positions are bytes of the
 * source.  Returns 0, or -1 with *f.
 */
int usedmap_write(struct newfile *, const struct plan *, struct fault *f);

#endif
