/*
 * Values of JSON.  Text from outside that is no UTF-8 cannot stand there: each
 * byte of it that is no part of a character becomes \xNN, as on standard error.
 */
#include "base/value.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The length of the character that begins here, 0 if none does.  Not asked of
 * jansson, which tells no difference between what is none and no memory.
 */
static size_t
character(const char *at)
{
	const unsigned char *c = (const unsigned char *)at;
	unsigned char least = c[0] == 0xe0 ? 0xa0 : c[0] == 0xf0 ? 0x90 : 0x80;
	unsigned char most = c[0] == 0xed ? 0x9f : c[0] == 0xf4 ? 0x8f : 0xbf;
	size_t n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 :
	    c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0, i;

	for (i = 1; i < n; i++) {
		if (c[i] < least || c[i] > most)
			return 0;
		least = 0x80;
		most = 0xbf;
	}
	return n;
}

json_t *
value_text(const char *from)
{
	json_t *o;
	char *safe, *to;
	size_t n;

	if (from == NULL)
		return json_null();
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
value_append(json_t *list, json_t *item)
{
	if (json_array_append_new(list, item) == 0)
		return list;
	json_decref(list);
	return NULL;
}

json_t *
value_set(json_t *o, const char *key, json_t *value)
{
	if (json_object_set_new(o, key, value) == 0)
		return o;
	json_decref(o);
	return NULL;
}

json_t *
value_merge(json_t *o, json_t *more)
{
	if (json_object_update_new(o, more) == 0)
		return o;
	json_decref(o);
	return NULL;
}

/*
 * Into room that was measured before: where json_dumps gets none for a key it
 * goes on without it (jansson 2.14).
 */
char *
value_line(json_t *o, size_t *len)
{
	size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII |
	    JSON_REAL_PRECISION(9);
	size_t n = json_dumpb(o, NULL, 0, flags);
	char *line = n > 0 ? malloc(n + 1) : NULL;

	if (line != NULL && json_dumpb(o, line, n, flags) != n) {
		free(line);
		line = NULL;
	}
	json_decref(o);
	if (line == NULL)
		return NULL;
	line[n] = '\n';
	*len = n + 1;
	return line;
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
