/*
 * Commands in words: base/escape.c.
 */
#include "test.h"

#include "base/escape.h"

#define END	((const char *)NULL)

/* The words of a command, up to END. */
static void
is(const char *command, ...)
{
	char **words = shell_split(command);
	const char *want;
	va_list ap;
	size_t i;

	assert_non_null(words);
	va_start(ap, command);
	for (i = 0; (want = va_arg(ap, const char *)) != NULL; i++) {
		assert_non_null(words[i]);
		assert_string_equal(words[i], want);
	}
	va_end(ap);
	assert_null(words[i]);
	free(words);
}

CASE(splits_at_blanks)
{
	is("", END);
	is("  \t\n", END);
	is("a", "a", END);
	is("[ ssh  root@host\tnbdkit ]", "[", "ssh", "root@host", "nbdkit",
	    "]", END);
	is("a b c d e f g h ", "a", "b", "c", "d", "e", "f", "g", "h", END);
}

CASE(keeps_what_is_quoted)
{
	is("'a b' \"c d\" e\\ f", "a b", "c d", "e f", END);
	is("a'b'\"c\"\\d", "abcd", END);
	is("'' \"\"", "", "", END);
	is("'a\\b' \"a\\b\"", "a\\b", "a\\b", END);
	is("\"\\\"\\\\\\$\\`\"", "\"\\$`", END);
	is("\"it's\" 'a\"b'", "it's", "a\"b", END);
	is("a\\", "a\\", END);
}

CASE(expands_nothing)
{
	is("$HOME `id` * ~ a>b; #c", "$HOME", "`id`", "*", "~", "a>b;", "#c",
	    END);
}

static void
fails(const char *command)
{
	errno = 0;
	assert_null(shell_split(command));
	assert_int_equal(errno, EINVAL);
}

CASE(wants_quotes_closed)
{
	fails("a 'b");
	fails("\"");
	fails("a \"b'c'");
	fails("\"a\\\"");
}
