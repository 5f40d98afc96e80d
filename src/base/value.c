/*
 * JSON values. jansson is only given valid UTF-8 (escape_json), because it
 * reports invalid text and lack of memory in the same way.
 */
#include "base/value.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

json_t *
value_text(const char *from)
{
	json_t *o;
	char *safe;

	if (from == NULL)
		return json_null();
	safe = malloc(4 * strlen(from) + 1);
	if (safe == NULL)
		return NULL;
	escape_json(safe, from);
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
 * The length is measured first: json_dumps leaves out a key if it has no memory
 * for it (jansson 2.14).
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

json_t *
value_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return value_time(&t);
}
