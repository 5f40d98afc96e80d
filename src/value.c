/*
 * Values of JSON.  Text from outside that is no UTF-8 cannot stand there: each
 * byte of it that is no part of a character becomes \xNN, as on standard error.
 */
#include "value.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHARACTER = 4 };		/* bytes of UTF-8, at most */

/* The length of the character that begins here, 0 if none does. */
static size_t
character(const char *c)
{
	size_t n;

	for (n = 1; n <= CHARACTER && c[n - 1] != '\0'; n++) {
		json_t *one = json_stringn(c, n);

		if (one != NULL) {
			json_decref(one);
			return n;
		}
	}
	return 0;
}

json_t *
value_text(const char *from)
{
	json_t *o;
	char *safe, *to;
	size_t n;

	if (from == NULL)
		return json_null();
	o = json_string(from);
	if (o != NULL)
		return o;
	safe = malloc(4 * strlen(from) + 1);
	if (safe == NULL)
		return NULL;
	for (to = safe; *from != '\0'; from += n) {
		n = character(from);
		if (n > 0) {
			memcpy(to, from, n);
			to += n;
		} else {
			to += snprintf(to, 5, "\\x%02X",
			    (unsigned)(unsigned char)*from);
			n = 1;
		}
	}
	*to = '\0';
	o = json_string(safe);
	free(safe);
	return o;
}

json_t *
value_known(const char *from)
{
	return value_text(from != NULL && from[0] != '\0' ? from : NULL);
}

json_t *
value_count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

json_t *
value_amount(int64_t n)
{
	return n < 0 ? json_null() : json_integer(n);
}

json_t *
value_time(const struct timespec *t)
{
	char date[32];
	struct tm tm;

	gmtime_r(&t->tv_sec, &tm);
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	return json_sprintf("%s.%03ldZ", date, t->tv_nsec / 1000000);
}
