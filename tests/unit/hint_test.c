/*
 * How far a word is from one that is known: letters that are other, missing,
 * too many or swapped, and no more than HINT_MOST + 1 of them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "../../src/cli/hint.h"

static unsigned
distance(const char *a, const char *b)
{
	return hint_distance(a, strlen(a), b);
}

static void
counts_what_is_other(void **state)
{
	(void)state;
	assert_int_equal(distance("count", "count"), 0);
	assert_int_equal(distance("COUNT", "count"), 0);
	assert_int_equal(distance("coont", "count"), 1);
	assert_int_equal(distance("count", "ount"), 1);
	assert_int_equal(distance("ount", "count"), 1);
	assert_int_equal(distance("count", "coun"), 1);
	assert_int_equal(distance("coun", "count"), 1);
	assert_int_equal(distance("cuont", "count"), 1);
	assert_int_equal(distance("ocunt", "count"), 1);
	assert_int_equal(distance("counts", "cuont"), 2);
	assert_int_equal(distance("", "bs"), 2);
	assert_int_equal(distance("bs", ""), 2);
	assert_int_equal(distance("b", "xyb"), 2);
}

/* Also where the first letter only has been looked at. */
static void
is_far_from_another_word(void **state)
{
	(void)state;
	assert_int_equal(distance("x", "abc"), HINT_MOST + 1);
	assert_int_equal(distance("x", "abcdefgh"), HINT_MOST + 1);
	assert_int_equal(distance("xy", "abcdefgh"), HINT_MOST + 1);
	assert_int_equal(distance("abcdefgh", "x"), HINT_MOST + 1);
	assert_int_equal(distance("xyz", "abc"), HINT_MOST + 1);
}

/* The longest word that is compared, and one that is longer. */
static void
has_an_end(void **state)
{
	static const char a[] = "abcdefghijklmnopqrstuvwxyz";

	(void)state;
	assert_int_equal(hint_distance(a, 24, "abcdefghijklmnopqrstuvwx"), 0);
	assert_int_equal(hint_distance(a, 25, "abcdefghijklmnopqrstuvwx"),
	    HINT_MOST + 1);
	assert_int_equal(hint_distance(a, 24, "abcdefghijklmnopqrstuvwxy"),
	    HINT_MOST + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_what_is_other),
		cmocka_unit_test(is_far_from_another_word),
		cmocka_unit_test(has_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
