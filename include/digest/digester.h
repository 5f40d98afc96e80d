/*
 * SHA-256 of what lies in memory, by libcrypto; any number of threads at a time
 * by one digester.
 */
#ifndef PARDD_DIGESTER_H
#define PARDD_DIGESTER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fault.h"
#include "digest/digest_table.h"

struct digester;
struct digester_sum;		/* of what comes in parts */

/*
 * "what" is what wants it, for people.  Returns 0, or -1 with *f, and *made is
 * NULL.  digester_close takes NULL, too.
 */
int digester_open(struct digester **made, const char *what, struct fault *f);
void digester_close(struct digester *);

/* False without memory. */
bool digester_digest(const struct digester *, const void *buf, size_t len,
    struct digest *);

/* The same of parts: NULL without memory; the end frees it. */
struct digester_sum *digester_begin(const struct digester *);
void digester_add(struct digester_sum *, const void *buf, size_t len);
bool digester_end(struct digester_sum *, struct digest *);

#endif
