/*
 * SHA-256 of data in memory, by libcrypto.  One digester serves any number of
 * threads.
 */
#ifndef PARDD_DIGESTER_H
#define PARDD_DIGESTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "digest/digest_table.h"

struct digester;
struct digester_sum;		/* of data that comes in parts */

/*
 * Load the library; "what" needs it, for messages.  Returns 0, or -1 with *f
 * and *made NULL. digester_close accepts NULL.
 */
int digester_open(struct digester **made, const char *what, struct fault *f);
void digester_close(struct digester *);

/* Compute a digest; false without memory. */
bool digester_digest(const struct digester *, const void *buf, size_t len,
    struct digest *);

/*
 * Compute a digest in parts.  digester_begin returns NULL without memory;
 * digester_end frees the sum, and returns false if any part has failed.
 */
struct digester_sum *digester_begin(const struct digester *);
void digester_add(struct digester_sum *, const void *buf, size_t len);
bool digester_end(struct digester_sum *, struct digest *);

#endif
