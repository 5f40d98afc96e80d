/*
 * Values of JSON, for all that programs read.  Each is the caller's, or NULL
 * without memory.
 */
#ifndef PARDD_VALUE_H
#define PARDD_VALUE_H

#include <stddef.h>
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

/*
 * A list with one more item, an object with one more member, an object with
 * those of another; what is put in is used up.  Where either is NULL, and
 * without memory, all is, and so is the result: nothing is told by halves.
 */
struct json_t *value_append(struct json_t *list, struct json_t *item);
struct json_t *value_set(struct json_t *o, const char *key, struct json_t *);
struct json_t *value_merge(struct json_t *o, struct json_t *more);

/*
 * An object, which is used up, as a line of *len bytes, with its end.  It is
 * malloc'ed and the caller's; NULL for NULL, and without memory.
 */
char *value_line(struct json_t *o, size_t *len);

/* A time of day, to the millisecond: RFC 3339, UTC. */
struct json_t *value_time(const struct timespec *);

#endif
