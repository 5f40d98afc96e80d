/*
 * JSON values, for everything that programs read.  The caller owns what these
 * return; it is NULL when there is no memory.
 */
#ifndef PARDD_VALUE_H
#define PARDD_VALUE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct json_t;			/* jansson's */

/* A string, which may come from outside (see escape_json); null for NULL. */
struct json_t *value_text(const char *);

/* The same; null also for "", which stands for "not known". */
struct json_t *value_known(const char *);

/* A number. */
struct json_t *value_count(uint64_t);

/* The same; null for a negative one, which stands for "not known". */
struct json_t *value_amount(int64_t);

/*
 * Add an item to a list, a member to an object, or the members of "more" to an
 * object.  Both arguments are consumed.  Returns the list or object; or NULL,
 * with everything freed, if an argument was NULL or there is no memory: no
 * value is ever reported in part.
 */
struct json_t *value_append(struct json_t *list, struct json_t *item);
struct json_t *value_set(struct json_t *o, const char *key, struct json_t *);
struct json_t *value_merge(struct json_t *o, struct json_t *more);

/*
 * An object as one line of *len bytes, with its newline; the object is
 * consumed.  The caller frees the line.  NULL for NULL, or without memory.
 */
char *value_line(struct json_t *o, size_t *len);

/* A time in the form of RFC 3339, in UTC, to the millisecond. */
struct json_t *value_time(const struct timespec *);

/* The same of now. */
struct json_t *value_now(void);

#endif
