/*
 * An entry of the digests and the target: held against each other, or made the
 * same again.  The steps of workers.
 */
#ifndef PARDD_VERIFY_CHECK_H
#define PARDD_VERIFY_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "copy/worker.h"
#include "digest/digest_table.h"
#include "verify/verify.h"

/* Read entry i back; false when the run is being stopped. */
bool verify_check(struct worker *, size_t i, const struct check *);

/* Take the next entry that is not right, or that differs; false: no more. */
bool verify_check_next(struct worker *);
bool verify_mend_next(struct worker *);

/* Whether the source can be read a second time, with the same result. */
bool verify_repeatable(const struct plan *);

#endif
