/*
 * An end of the copy as JSON.
 */
#ifndef PARDD_DESCRIBE_H
#define PARDD_DESCRIBE_H

#include <stdint.h>

#include "end/endpoint.h"

/*
 * Describe an end, whose copy begins at byte off; the caller frees the object.
 * NULL without memory.
 */
struct json_t *describe_end(const struct endpoint *, uint64_t off);

/* The same for an end that could not be opened; the name may be NULL. */
struct json_t *describe_unknown(const char *name);

#endif
