/*
 * Escaping text from outside, for each place where it may go.
 *
 * Of shell words: a file name may contain anything, and whoever pastes a
 * command may be root.  Commands that we run are split here, without a shell,
 * for the same reason.
 */
#include "base/escape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool
escape_printable(unsigned char c)
{
	return c >= 0x20 && c < 0x7f;
}

/* A byte as \xNN. */
static char *
put_hex(char *to, unsigned char c)
{
	static const char hex[] = "0123456789ABCDEF";

	*to++ = '\\';
	*to++ = 'x';
	*to++ = hex[c >> 4];
	*to++ = hex[c & 0x0f];
	return to;
}

char *
escape_line(char *to, const char *from)
{
	for (; *from != '\0'; from++)
		if (escape_printable((unsigned char)*from))
			*to++ = *from;
		else
			to = put_hex(to, (unsigned char)*from);
	*to = '\0';
	return to;
}

/* ------------------------------------------------------------------ UTF-8 */

/*
 * The character that begins here, and its length in bytes; 0 if it is invalid:
 * incomplete, overlong, or a surrogate (RFC 3629, 3).
 */
static size_t
utf8_length(const unsigned char *c, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 :
	    c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0, i;

	*code = n < 2 ? c[0] : c[0] & (0xffU >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (c[i] & 0x3f);
	}
	return *code < least[n] || *code > 0x10ffff ||
	    (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

char *
escape_json(char *to, const char *from)
{
	uint32_t code;
	size_t n;

	while (*from != '\0') {
		n = utf8_length((const unsigned char *)from, &code);
		if (n == 0) {
			to = put_hex(to, (unsigned char)*from++);
			continue;
		}
		memcpy(to, from, n);
		to += n;
		from += n;
	}
	*to = '\0';
	return to;
}

/* ------------------------------------------------------------------ shells */

static bool
is_plain(const char *name)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-";

	return name[0] != '\0' && name[strspn(name, safe)] == '\0';
}

static bool
is_printable(const char *name)
{
	for (; *name != '\0'; name++)
		if (!escape_printable((unsigned char)*name))
			return false;
	return true;
}

/* Quote as '...', which is closed and reopened around each '. */
static void
shell_quote(char *to, const char *name)
{
	*to++ = '\'';
	for (; *name != '\0'; name++)
		if (*name == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *name;
	stpcpy(to, "'");
}

/* Quote as $'...', with octal escapes for all but printable ASCII. */
static void
quote_bytes(char *to, const char *name)
{
	const unsigned char *c;

	to = stpcpy(to, "$'");
	for (c = (const unsigned char *)name; *c != '\0'; c++) {
		bool odd = !escape_printable(*c);

		if (odd || *c == '\'' || *c == '\\')
			*to++ = '\\';
		if (odd) {
			*to++ = (char)('0' + (*c >> 6));
			*to++ = (char)('0' + (*c >> 3 & 7));
			*to++ = (char)('0' + (*c & 7));
		} else {
			*to++ = (char)*c;
		}
	}
	stpcpy(to, "'");
}

char *
shell_word(const char *name)
{
	char *word = malloc(4 * strlen(name) + sizeof("./$''")), *to = word;

	if (word == NULL)
		return NULL;
	/* A directory in front, so that it is not taken for an option. */
	if (name[0] == '-')
		to = stpcpy(to, "./");
	if (is_plain(name))
		stpcpy(to, name);
	else if (is_printable(name))
		shell_quote(to, name);
	else
		quote_bytes(to, name);
	return word;
}

/* ------------------------------------------------------------------- files */

char *
escape_word(char *to, const char *end, const char *from)
{
	for (; *from != '\0' && end - to >= 5; from++)
		if (*from != ' ' && escape_printable((unsigned char)*from))
			*to++ = *from;
		else
			to = put_hex(to, (unsigned char)*from);
	*to = '\0';
	return to;
}

/* ------------------------------------------------------------------ markup */

static void
put_markup(FILE *out, unsigned char c)
{
	if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
		fprintf(out, "&#%d;", c);
	else if (escape_printable(c))
		fputc(c, out);
	else
		fprintf(out, "\\x%02X", c);
}

void
escape_markup(FILE *out, const char *text, size_t most)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t n;

	for (n = 0; *c != '\0' && n < most; c++, n++)
		put_markup(out, *c);
	if (*c != '\0')
		fputs("...", out);
}

/*
 * Reject control characters, and those that have no width or change the
 * direction of text, which could make one text look like another.
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
escape_note(FILE *out, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	uint32_t code;
	size_t n;

	while (*c != '\0') {
		n = utf8_length(c, &code);
		if (n > 0 && is_letter(code)) {
			fprintf(out, "&#%lu;", (unsigned long)code);
			c += n;
		} else {
			put_markup(out, *c++);
		}
	}
}

/* ---------------------------------------------------------------- commands */

/* Whether a \ in "..." quotes the next character. */
static bool
shell_special(char c)
{
	return c == '"' || c == '\\' || c == '$' || c == '`';
}

/* Copy a word to *to; returns where it ended, or NULL inside a quote. */
static const char *
take_word(char **to, const char *from)
{
	char *at = *to, quoted = '\0';

	for (; *from != '\0'; from++) {
		if (quoted == '\0' && (*from == ' ' || *from == '\t' ||
		    *from == '\n'))
			break;
		if (*from == quoted)
			quoted = '\0';
		else if (quoted == '\0' && (*from == '\'' || *from == '"'))
			quoted = *from;
		else if (*from == '\\' && from[1] != '\0' &&
		    (quoted == '\0' ||
		    (quoted == '"' && shell_special(from[1]))))
			*at++ = *++from;
		else
			*at++ = *from;
	}
	*at++ = '\0';
	*to = at;
	return quoted == '\0' ? from : NULL;
}

char **
shell_split(const char *command)
{
	/* There are at most as many words as characters. */
	size_t len = strlen(command), n = 0;
	char **words = malloc((len / 2 + 2) * sizeof(*words) + len + 1), *to;

	if (words == NULL)
		return NULL;
	to = (char *)(words + len / 2 + 2);
	for (;;) {
		command += strspn(command, " \t\n");
		if (*command == '\0')
			break;
		words[n++] = to;
		command = take_word(&to, command);
		if (command == NULL) {
			free(words);
			errno = EINVAL;
			return NULL;
		}
	}
	words[n] = NULL;
	return words;
}
