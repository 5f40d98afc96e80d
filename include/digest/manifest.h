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

struct manifest {		/* as it was read */
	struct digest_table digests;	/* CHECK_NONE: it could not be read */
	struct digester	*by;	/* of these, or NULL for xxh128 */
	uint64_t	 off;	/* bytes; where the copy began on the target */
	uint64_t	 length;	/* bytes that there are ranges for */
	char		*serial[2];	/* of the source, the target, or NULL */
};

/*
 * Read the file.  Returns 0, or -1 with *f, a refusal where it is no manifest,
 * or not a whole one.  manifest_free frees what was read; also one that is all
 * zero.
 */
int manifest_load(struct manifest *, const char *path, struct fault *f);
void manifest_free(struct manifest *);

#endif
