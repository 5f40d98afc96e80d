/*
 * How far a word is from a known one: letters that are wrong, missing, too many
 * or swapped, up to HINT_MOST + 1 of them.
 */
#include "test.h"

#include "../../src/cli/hint.h"
#define POOR_OF_ALL
#include "poor.h"

static unsigned
distance(const char *a, const char *b)
{
	return hint_distance(a, strlen(a), b);
}

CASE(counts_what_is_other)
{
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
	/* nothing before the word is looked at */
	assert_int_equal(hint_distance(&"ba"[1], 1, "ab"), 1);
	assert_int_equal(hint_distance(&"ba"[1], 1, "cab"), 2);
}

/* Also where the first letter only has been looked at. */
CASE(is_far_from_another_word)
{
	assert_int_equal(distance("x", "abc"), HINT_MOST + 1);
	assert_int_equal(distance("x", "abcdefgh"), HINT_MOST + 1);
	assert_int_equal(distance("xy", "abcdefgh"), HINT_MOST + 1);
	assert_int_equal(distance("abcdefgh", "x"), HINT_MOST + 1);
	assert_int_equal(distance("xyz", "abc"), HINT_MOST + 1);
}

/* The longest word that is compared, and one that is longer. */
CASE(has_an_end)
{
	static const char a[] = "abcdefghijklmnopqrstuvwxyz";

	assert_int_equal(hint_distance(a, 24, "abcdefghijklmnopqrstuvwx"), 0);
	assert_int_equal(hint_distance(a, 25, "abcdefghijklmnopqrstuvwx"),
	    HINT_MOST + 1);
	assert_int_equal(hint_distance(a, 24, "abcdefghijklmnopqrstuvwxy"),
	    HINT_MOST + 1);
}

static bool
near(const char *word, const char *other)
{
	struct hint h = { .word = NULL };

	hint_try(&h, word, strlen(word), other);
	return h.word != NULL;
}

CASE(takes_few_letters_for_a_slip)
{
	assert_true(near("cuont", "count"));
	assert_true(near("verb", "verb"));
	assert_true(near("contu", "count"));	/* 2 of 5 */
	assert_true(near("bx", "bs"));		/* 1 of 2 */
	assert_false(near("xy", "bs"));
	assert_false(near("x", "b"));		/* one letter never is */
	assert_false(near("b", "b"));
	assert_false(near("cxxnt", "cunt"));	/* 2 of 4 */
	assert_true(near("bsxx", "bs"));	/* it begins so */
	assert_false(near("bsxxx", "bs"));
}

CASE(guesses_numbers)
{
	static const struct {
		const char *text, *number;	/* NULL: no guess */
	} rows[] = {
		{ "20M/s", "20M" }, { "20MB/s", "20MB" }, { "20M/S", "20M" },
		{ "20MBps", "20MB" }, { "1mib/s", "1MiB" }, { "64kb", "64KB" },
		{ "64kib", "64KiB" }, { "1,024", "1024" }, { "1_0", "10" },
		{ "1,024,000", "1024000" }, { "1,5M", "1572864" },
		{ "1,5", NULL }, { "1,5,5M", NULL },
		{ "1.5M", "1572864" }, { "0.5k", "512" }, { "1.125k", "1152" },
		{ "1.5kib", "1536" }, { "2.0M", "2097152" },
		{ "20", NULL }, { "M", NULL }, { "20s", NULL },
		{ "20/m", NULL }, { "/s", NULL }, { "ps", NULL },
		{ "1.3k", NULL }, { "1.3333k", NULL }, { "1.5", NULL },
		{ ".5M", NULL }, { "1.M", NULL }, { "0.0k", NULL },
		{ "4kk", NULL }, { "4kibb", NULL }, { "4kbi", NULL },
		{ "1.5x", NULL }, { "1.5MMMMMMMMMMMMMMMMMMMMMMMMMMM", NULL },
		{ "9000000000.5G", NULL }, { "1.9999M", NULL },
		{ "99999999999.5E", NULL }, { "20Mbit", NULL }, { "", NULL },
	};
	char to[32];
	bool guess;

	EACH_OF(i, rows) {
		guess = hint_number(rows[i].text, to, sizeof(to));
		if (rows[i].number == NULL)
			assert_false(guess);
		else
			assert_true(guess);
		if (guess)
			assert_string_equal(to, rows[i].number);
	}
	assert_false(hint_number("1,024", to, 5));
	assert_true(hint_number("1,024", to, 6));
}

static const char *const none = NULL;	/* ends a list */

/* The line that is meant by these words; NULL: none. */
static void
means(const char *line, ...)
{
	char *argv[16] = { (char []){ "pardd" } }, *got;
	va_list ap;
	int argc = 1;

	va_start(ap, line);
	while ((argv[argc] = va_arg(ap, char *)) != NULL)
		argc++;
	va_end(ap);
	got = hint_line(argc, argv);
	if (line == NULL)
		assert_null(got);
	else
		assert_string_equal(got, line);
	free(got);
}

CASE(translates_lines)
{
	char text[2000];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	means("pardd if=a of=b", "a", "b", none);
	means("pardd if=a of=b map=m", "a", "b", "m", none);
	means("pardd if=a of=b map=m rescue=noscrape retries=3", "-nr3", "a",
	    "b", "m", none);
	means("pardd if=a of=b map=m retries=3", "-r", "3", "a", "b", "m",
	    none);
	means("pardd if=a of=b map=m retries=3 bs=4096", "a", "b", "m",
	    "--retry-passes=3", "--sector-size", "4096", none);
	means("pardd if=a of=b map=m rescue=reverse domain=x", "-fR", "-m", "x",
	    "a", "b", "m", none);
	means("pardd if=a of=b map=m rescue=noscrape", "--no-scrape", "--force",
	    "a", "b", "m", none);
	means("pardd if=a of=b -d", "-d", "a", "b", none);
	means("pardd if=a of=b map=m -d", "--dry-run", "a", "b", "m", none);
	means("pardd if=a of=b map=m domain=x", "--domain-mapfile=x", "a", "b",
	    "m", none);
	means(NULL, "a", "b", "/dev/m", none);	/* copy a b */
	means(NULL, "-r", "", "a", "b", "m", none);
	means(NULL, "-d", "a", none);
	means(NULL, text, text, none);
	means(NULL, "a", none);
	means(NULL, "a", "b", "m", "c", none);
	means(NULL, "a", "", "m", none);
	means(NULL, "-n", "a", "b", none);	/* it needs a map */
	means(NULL, "-r", "3k", "a", "b", "m", none);
	means(NULL, "a", "b", "m", "-r", none);
	means(NULL, "a", "b", "m", "--retry-passes", none);
	means(NULL, "-z", "a", "b", "m", none);
	means(NULL, "--", "a", "b", "m", none);
	means(NULL, "--force=1", "a", "b", "m", none);
	means(NULL, "a", "b=c", none);
	means(NULL, "-", "a", "b", none);
	means(NULL, "a", "-", none);
}

/* Half a line is none. */
CASE(translates_no_line_without_memory)
{
	char *argv[] = { (char []){ "pardd" }, (char []){ "-fr" },
		(char []){ "3" }, (char []){ "a b" }, (char []){ "b" },
		(char []){ "m" }, NULL };
	unsigned i;
	char *got;

	for (i = 0; i == 0 || poor_was(); i++) {
		poor_after(i);
		got = hint_line(6, argv);
		poor.on = false;
		if (got != NULL)
			assert_string_equal(got, "pardd if='a b' of=b map=m "
			    "retries=3");
		free(got);
	}
}
