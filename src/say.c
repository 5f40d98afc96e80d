/*
 * Lines as they may be printed.  Names and other strings from outside may hold
 * anything: only printable ASCII leaves here as it is, and no newline does.
 */
#include "say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

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

void
say(FILE *out, const char *fmt, ...)
{
	char *text = NULL, *line, *to;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	line = malloc(4 * (size_t)n + 2);
	if (line != NULL) {
		to = say_escape(line, text);
		*to++ = '\n';
		fwrite(line, 1, (size_t)(to - line), out);
	}
	free(line);
	free(text);
}

bool
say_room(void)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) != 0;
}
