/*
 * JSON values: how each type is written, and that without memory none is
 * written in part.
 */
#include "test.h"

#include <jansson.h>

#include "base/value.h"

enum { PLENTY = 10000 };

static int left = PLENTY;	/* allocations before one fails */

static void *
scarce(size_t n)
{
	return left-- == 0 ? NULL : malloc(n);
}

static int
begin(void **state)
{
	json_set_alloc_funcs(scarce, free);
	return 0;
}

ONCE(begin, NULL)

/* The text of a value, which is used up. */
static void
is_text(json_t *o, const char *text)
{
	assert_true(json_is_string(o));
	assert_string_equal(json_string_value(o), text);
	assert_int_equal(json_string_length(o), strlen(text));
	json_decref(o);
}

static void
is_null(json_t *o)
{
	assert_true(json_is_null(o));
	json_decref(o);
}

static void
is_number(json_t *o, int64_t n)
{
	assert_true(json_is_integer(o));
	assert_int_equal(json_integer_value(o), n);
	json_decref(o);
}

CASE(tells_text)
{
	static const struct { const char *from, *to; } cases[] = {
		{ "", "" }, { "abc", "abc" }, { "a\nb\x1b[m", "a\nb\x1b[m" },
		{ "\x7f", "\x7f" },
		/* the first and the last of each length */
		{ "\xc2\x80", "\xc2\x80" }, { "\xdf\xbf", "\xdf\xbf" },
		{ "\xe0\xa0\x80", "\xe0\xa0\x80" },
		{ "\xed\x9f\xbf", "\xed\x9f\xbf" },
		{ "\xee\x80\x80", "\xee\x80\x80" },
		{ "\xef\xbf\xbf", "\xef\xbf\xbf" },
		{ "\xf0\x90\x80\x80", "\xf0\x90\x80\x80" },
		{ "\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf" },
		/* none */
		{ "\x80", "\\x80" }, { "\xff", "\\xFF" },
		{ "\xc0\xaf", "\\xC0\\xAF" }, { "\xc1\xbf", "\\xC1\\xBF" },
		{ "\xe0\x9f\xbf", "\\xE0\\x9F\\xBF" },
		{ "\xed\xa0\x80", "\\xED\\xA0\\x80" },
		{ "\xf0\x8f\xbf\xbf", "\\xF0\\x8F\\xBF\\xBF" },
		{ "\xf4\x90\x80\x80", "\\xF4\\x90\\x80\\x80" },
		{ "\xf5\x80\x80\x80", "\\xF5\\x80\\x80\\x80" },
		/* cut off, and in between */
		{ "\xc3", "\\xC3" }, { "\xe2\x82", "\\xE2\\x82" },
		{ "\xf0\x9f\x98", "\\xF0\\x9F\\x98" },
		{ "a\xff\xc3\xa4\xe2\x82z", "a\\xFF\xc3\xa4\\xE2\\x82z" },
		{ "\xc3\xa4\xc3", "\xc3\xa4\\xC3" },
	};

	EACH_OF(i, cases)
		is_text(value_text(cases[i].from), cases[i].to);
	is_null(value_text(NULL));
}

CASE(tells_what_is_known)
{
	is_text(value_known("x"), "x");
	is_null(value_known(""));
	is_null(value_known(NULL));
	is_number(value_count(0), 0);
	is_number(value_count(INT64_MAX), INT64_MAX);
	is_number(value_amount(0), 0);
	is_number(value_amount(INT64_MAX), INT64_MAX);
	is_null(value_amount(-1));
	is_null(value_amount(INT64_MIN));
}

CASE(tells_the_time)
{
	const struct timespec first = { .tv_sec = 0 };
	const struct timespec leap = { .tv_sec = 1709251199,
		.tv_nsec = 999999999 };

	is_text(value_time(&first), "1970-01-01T00:00:00.000Z");
	is_text(value_time(&leap), "2024-02-29T23:59:59.999Z");
}

/* As long as all else, so that a line that grows does so here, too. */
#define LONG "a_key_of_many_words_that_is_longer_than_all_that_stands_before_it"

static json_t *
sample(void)
{
	json_t *list = value_append(value_append(json_array(),
	    value_text("a\xff")), value_count(7));

	return value_merge(value_set(json_pack("{s:o}", "name",
	    value_text("\xc3\xa4\n")), "list", list), json_pack(
	    "{s:o, s:f, s:b}", "none", value_amount(-1), "part", 0.1, LONG, 1));
}

static const char line[] = "{\"name\":\"\\u00E4\\n\",\"list\":[\"a\\\\xFF\",7],"
    "\"none\":null,\"part\":0.1,\"" LONG "\":true}\n";

CASE(makes_a_line)
{
	size_t len;
	char *made;

	made = value_line(sample(), &len);
	assert_non_null(made);
	assert_int_equal(len, strlen(line));
	assert_memory_equal(made, line, len);
	free(made);
}

/* Whichever allocation fails. */
CASE(makes_a_whole_line_or_none)
{
	int n, none = 0;
	size_t len;
	char *made;

	for (n = 0; ; n++) {
		left = n;
		made = value_line(sample(), &len);
		if (left >= 0)
			break;		/* there was enough */
		left = PLENTY;
		if (made == NULL) {
			none++;
			continue;
		}
		assert_int_equal(len, strlen(line));
		assert_memory_equal(made, line, len);
		free(made);
	}
	left = PLENTY;
	assert_memory_equal(made, line, len);
	free(made);
	assert_true(none > 20);
}

CASE(uses_up_what_it_is_given)
{
	size_t len;
	json_t *kept = json_array();

	assert_null(value_line(NULL, &len));
	assert_null(value_append(NULL, json_incref(kept)));
	assert_null(value_set(NULL, "x", json_incref(kept)));
	assert_null(value_merge(NULL, json_incref(kept)));
	assert_null(value_append(json_incref(kept), NULL));
	assert_null(value_set(json_object(), "x", NULL));
	assert_null(value_merge(json_object(), NULL));
	assert_int_equal(kept->refcount, 1);
	json_decref(kept);
}
