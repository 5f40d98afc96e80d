/*
 * Manifests: the digests of the ranges of a copy, as a file.
 */
#ifndef PARDD_MANIFEST_H
#define PARDD_MANIFEST_H

#include <stdint.h>

#include "base/fault.h"
#include "digest/digest_table.h"
#include "digest/digester.h"

#define MANIFEST_SCHEMA	"pardd-manifest/1"

struct manifest {		/* as read from a file */
	struct digest_table digests;	/* CHECK_NONE: could not be read */
	struct digester	*by;	/* of these digests; NULL for xxh128 */
	uint64_t	 off;	/* bytes; start of the copy on the target */
	uint64_t	 length;	/* bytes covered by ranges */
	char		*serial[2];	/* of source and target, or NULL */
};

/*
 * Read the file.  Returns 0, or -1 with *f: a refusal if it is not a manifest,
 * or not complete. manifest_free accepts a struct that is all zero.
 */
int manifest_load(struct manifest *, const char *path, struct fault *f);
void manifest_free(struct manifest *);

#endif
