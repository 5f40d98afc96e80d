/*
 * I/O priorities in words and as the numbers of the kernel.
 */
#include "test.h"
#include "base/ioprio.h"

enum { RT = 1 << 13, BE = 2 << 13, IDLE = 3 << 13 };

static const struct {
	const char	*text;
	int		 value;
} words[] = {
	{ "idle", IDLE },
	{ "be:0", BE }, { "be:3", BE | 3 }, { "be:7", BE | 7 },
	{ "rt:0", RT }, { "rt:7", RT | 7 },
};

CASE(knows_its_words)
{
	char text[IOPRIO_TEXT];

	EACH_OF(i, words) {
		assert_int_equal(ioprio_parse(words[i].text), words[i].value);
		assert_string_equal(ioprio_text(text, words[i].value),
		    words[i].text);
	}
	assert_string_equal(ioprio_text(text, 0), "none");
}

CASE(takes_no_others)
{
	static const char *const none[] = { "", "none", "be", "be:", "be:8",
		"be:/", "be::", "be:10", "rt:9", "rt:-", "bf:1", "xe:1",
		"idle:1", "Idle", "be 1" };

	EACH_OF(i, none)
		assert_int_equal(ioprio_parse(none[i]), -1);
}
