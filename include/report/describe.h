/*
 * An end of the copy as JSON.
 */
#ifndef PARDD_DESCRIBE_H
#define PARDD_DESCRIBE_H

#include <stdint.h>

#include "end/endpoint.h"

/* An end, whose first byte is at off, as JSON, which is the caller's. */
struct json_t *describe_end(const struct endpoint *, uint64_t off);

/* One that was not opened, or not to its purpose; the name may be NULL. */
struct json_t *describe_unknown(const char *name);

#endif
