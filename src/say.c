/*
 * Lines as they may be printed.  Names and other strings from outside may hold
 * anything: only printable ASCII leaves here as it is, and no newline does.
 *
 * A usual line needs no memory, an error above all: that there is none is one.
 */
#include "say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL = 1100 };		/* bytes, with the 0; any fault has room */

char *
say_escape(char *to, const char *from)
{
	static const char hex[] = "0123456789ABCDEF";
	const unsigned char *c;

	for (c = (const unsigned char *)from; *c != '\0'; c++)
		if (*c >= 0x20 && *c < 0x7f) {
			*to++ = (char)*c;
		} else {
			*to++ = '\\';
			*to++ = 'x';
			*to++ = hex[*c >> 4];
			*to++ = hex[*c & 0x0f];
		}
	return to;
}

static void
put(FILE *out, char *line, const char *text)
{
	char *to = say_escape(line, text);

	*to++ = '\n';
	fwrite(line, 1, (size_t)(to - line), out);
}

/* The line whole, if there is memory for it; false if not. */
static bool __attribute__((format(printf, 2, 0)))
put_long(FILE *out, const char *fmt, va_list ap)
{
	char *text = NULL, *line;
	int n = vasprintf(&text, fmt, ap);

	if (n < 0)
		return false;
	line = malloc(4 * (size_t)n + 2);
	if (line != NULL)
		put(out, line, text);
	free(line);
	free(text);
	return line != NULL;
}

void
say(FILE *out, const char *fmt, ...)
{
	static const char cut[] = " [...]";
	char text[USUAL] = "", line[4 * USUAL];
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	if (n < (int)sizeof(text)) {
		put(out, line, text);
	} else if (!put_long(out, fmt, again)) {
		memcpy(text + sizeof(text) - sizeof(cut), cut, sizeof(cut));
		put(out, line, text);
	}
	va_end(again);
	va_end(ap);
}

bool
say_room(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) != 0;
}
