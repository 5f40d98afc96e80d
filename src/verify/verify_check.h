/*
 * Checking one entry of the digests at the target, or mending it: the tasks of
 * workers.
 */
#ifndef PARDD_VERIFY_CHECK_H
#define PARDD_VERIFY_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "copy/worker.h"
#include "digest/digest_table.h"
#include "verify/verify.h"

/* Read entry i back; false if the run is being stopped. */
bool verify_check(struct worker *, size_t i, const struct check *);

/*
 * Take the next entry that is not yet right, or that differs; false: none is
 * left.
 */
bool verify_check_next(struct worker *);
bool verify_mend_next(struct worker *);

/* Whether the source can be read again with the same result. */
bool verify_repeatable(const struct plan *);

#endif
