/*
 * Values of JSON, for all that programs read.  Each is the caller's, or NULL
 * without memory.
 */
#ifndef PARDD_VALUE_H
#define PARDD_VALUE_H

#include <stdint.h>
#include <time.h>

struct json_t;			/* jansson's */

/* A text from outside; null for NULL. */
struct json_t *value_text(const char *);

/* A text; null for NULL and for "", by which we say that it is not known. */
struct json_t *value_known(const char *);

/* A number that is known. */
struct json_t *value_count(uint64_t);

/* A number; null for a negative one, by which we say that it is not known. */
struct json_t *value_amount(int64_t);

/* A time of day, to the millisecond: RFC 3339, UTC. */
struct json_t *value_time(const struct timespec *);

#endif
