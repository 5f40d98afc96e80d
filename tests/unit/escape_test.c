/*
 * Which characters of a note are printed as they are: at the limits of each
 * range.
 */
#include "test.h"

#include "base/escape.h"

/* The bytes of a character in UTF-8. */
static void
put_utf8(char *to, uint32_t code)
{
	static const unsigned char first[] = { 0, 0xc0, 0xe0, 0xf0 };
	unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 :
	    code < 0x10000 ? 2 : 3, i;

	to[0] = (char)(first[more] | code >> (6 * more));
	for (i = 1; i <= more; i++)
		to[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
	to[more + 1] = '\0';
}

/* Whether it comes out as one character, and not byte by byte. */
static bool
shown(uint32_t code)
{
	char in[8], one[16], *out = NULL;
	size_t room;
	FILE *to = open_memstream(&out, &room);
	bool is;

	put_utf8(in, code);
	assert_non_null(to);
	escape_note(to, in);
	assert_int_equal(fclose(to), 0);
	snprintf(one, sizeof(one), "&#%lu;", (unsigned long)code);
	is = strcmp(out, one) == 0;
	assert_true(is || strstr(out, one) == NULL);
	free(out);
	return is;
}

CASE(shows_letters)
{
	static const uint32_t letters[] = { 0xa1, 0xac, 0xae, 0x61b, 0x61d,
		0x180d, 0x180f, 0x200a, 0x2010, 0x2027, 0x2030, 0x205f, 0x2070,
		0xd7ff, 0xf900, 0xfdcf, 0xfdf0, 0xfefe, 0xff00, 0xfff8,
		0x10000, 0x1fffd, 0x20000, 0xdfffd };

	EACH_OF(i, letters)
		if (!shown(letters[i]))
			fail_msg("U+%04X is not shown", letters[i]);
}

CASE(shows_nothing_else)
{
	static const uint32_t others[] = { 0x80, 0xa0, 0xad, 0x61c, 0x180e,
		0x200b, 0x200f, 0x2028, 0x202f, 0x2060, 0x206f, 0xe000, 0xf8ff,
		0xfdd0, 0xfdef, 0xfeff, 0xfff9, 0xfffd, 0xffff, 0x1fffe,
		0x1ffff, 0xdfffe, 0xe0000, 0xe01ef, 0x10ffff };

	EACH_OF(i, others)
		if (shown(others[i]))
			fail_msg("U+%04X is shown", others[i]);
}

/* A word is cut off where it does not fit, and before no character less. */
CASE(fills_the_room_of_a_word)
{
	char room[16];

	memset(room, '.', sizeof(room));
	assert_ptr_equal(escape_word(room, room + 5, " x"), room + 4);
	assert_memory_equal(room, "\\x20\0.", 6);
	memset(room, '.', sizeof(room));
	assert_ptr_equal(escape_word(room, room + 4, " x"), room);
	assert_memory_equal(room, "\0.", 2);
	assert_ptr_equal(escape_word(room, room + sizeof(room), "word"),
	    room + 4);
	assert_string_equal(room, "word");
}

/* As it is where that is safe, else quoted, in printable ASCII. */
CASE(quotes_words)
{
	static const struct {
		const char	*name, *word;
	} row[] = { { "/dev/sda", "/dev/sda" }, { "-a", "./-a" },
		{ "a b", "'a b'" }, { "", "''" }, { "it's", "'it'\\''s'" },
		{ "a\nb", "$'a\\012b'" }, { "\\'\xff", "$'\\\\\\'\\377'" } };
	char *word;

	EACH_OF(i, row) {
		word = shell_word(row[i].name);
		assert_non_null(word);
		assert_string_equal(word, row[i].word);
		free(word);
	}
}
