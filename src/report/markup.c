/*
 * Text in HTML and SVG: names may hold anything, so markup's own signs become
 * references, and what is no printable ASCII is escaped as on the terminal.
 */
#include "markup.h"

#include <stdbool.h>
#include <stdint.h>

static bool
is_sign(unsigned char c)
{
	return c == '<' || c == '>' || c == '&' || c == '"' || c == '\'';
}

static void
put(FILE *out, unsigned char c)
{
	if (is_sign(c))
		fprintf(out, "&#%d;", c);
	else if (c >= 0x20 && c < 0x7f)
		fputc(c, out);
	else
		fprintf(out, "\\x%02X", c);
}

void
markup_text(FILE *out, const char *text, size_t most)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t n;

	for (n = 0; *c != '\0' && n < most; c++, n++)
		put(out, *c);
	if (*c != '\0')
		fputs("...", out);
}

/*
 * The character that begins here, RFC 3629 section 4, and its bytes; 0 for what
 * is none, or overlong, or a surrogate.
 */
static uint32_t
decode(const unsigned char *c, size_t *len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = c[0] >= 0xf0 && c[0] < 0xf5 ? 4 : c[0] >= 0xe0 ? 3 :
	    c[0] >= 0xc2 ? 2 : 0, i;
	uint32_t code;

	if (n == 0 || c[0] >= 0xf5)
		return 0;
	code = c[0] & (0xffU >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c[i] & 0x3f);
	}
	*len = n;
	return code < least[n] || code > 0x10ffff ||
	    (code >= 0xd800 && code < 0xe000) ? 0 : code;
}

/*
 * Neither controls nor what has no width or turns the direction of what
 * follows: those would let a text look like another one.
 */
static bool
is_letter(uint32_t code)
{
	return code >= 0xa1 && code != 0xad && code != 0x61c &&
	    code != 0x180e && (code < 0x200b || (code >= 0x2010 &&
	    code < 0x2028) || (code >= 0x2030 && code < 0x2060) ||
	    code >= 0x2070) && (code < 0xe000 || code >= 0xf900) &&
	    code != 0xfeff && code < 0xe0000 && (code & 0xfffe) != 0xfffe &&
	    (code < 0xfdd0 || code >= 0xfdf0) && (code < 0xfff9 ||
	    code >= 0x10000);
}

void
markup_note(FILE *out, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	uint32_t code;
	size_t len = 1;

	while (*c != '\0') {
		code = decode(c, &len);
		if (is_letter(code)) {
			fprintf(out, "&#%lu;", (unsigned long)code);
			c += len;
		} else {
			put(out, *c++);
		}
	}
}
