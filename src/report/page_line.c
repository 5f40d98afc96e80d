/*
 * Lines of the page of a plan: folded text under a heading, and lists as long
 * as they fit.  Text from outside is escaped before it is measured.
 */
#include "page.h"

#include <stdarg.h>
#include <string.h>

#include "base/escape.h"
#include "base/print.h"

enum {
	TEXT = 1024,		/* bytes, before escaping */
	TIED = '\1',		/* a blank at which no line is folded */
};

static void
page_put_line(FILE *out, const char *heading, const char *text, size_t len)
{
	size_t i;

	fprintf(out, "%-*s", INDENT, heading);
	for (i = 0; i < len; i++)
		fputc(text[i] == TIED ? ' ' : text[i], out);
	fputc('\n', out);
}

void
page_row(const struct sheet *s, const char *text)
{
	page_put_line(s->out, "", text, strlen(text));
}

/*
 * How much of a longer text goes on a line of so many columns: whole words, or
 * a command that may be longer.
 */
static size_t
page_line_cut(const char *text, size_t room)
{
	bool command;
	size_t n = 0, unit;

	while (n + (unit = print_unit(text + n, &command)) <= room)
		n += unit;
	if (n > 0 || command)
		return n > 0 ? n : unit;
	for (n = room; n > 0 && text[n] != TIED; n--)
		;
	return n > 0 ? n : room;
}

/* Print escaped text, folded, under a heading; further lines are indented. */
void
page_wrap(const struct sheet *s, const char *heading, const char *text)
{
	size_t room = s->width - INDENT, n;

	do {
		n = strlen(text);
		if (n > room)
			n = page_line_cut(text, room);
		page_put_line(s->out, heading, text, n);
		heading = "";
		text += n;
		while (*text == ' ' || *text == TIED)
			text++;
	} while (*text != '\0');
}

void
page_told(const struct sheet *s, const char *heading, const char *fmt, ...)
{
	char text[TEXT], line[4 * TEXT + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	escape_line(line, text);
	page_wrap(s, heading, line);
}

static void
page_tie(char *text)
{
	for (; (text = strchr(text, ' ')) != NULL; text++)
		*text = TIED;
}

struct list
list_of(const struct sheet *s)
{
	return (struct list){ .most = s->brief == WHOLE ? LIST : LIST_SHORT };
}

void
list_item(struct list *l, const char *fmt, ...)
{
	char text[512], plain[4 * sizeof(text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	escape_line(plain, text);
	page_tie(plain);
	if (l->at == 0 && strlen(plain) + 2 > l->most)
		memcpy(plain + l->most - 5, "...", 4);
	if (l->left_out > 0 || l->at + strlen(plain) + 2 > l->most) {
		l->left_out++;
		return;
	}
	l->at += (size_t)snprintf(l->text + l->at, sizeof(l->text) - l->at,
	    "%s%s", l->at > 0 ? ", " : "", plain);
}

void
list_put(const struct sheet *s, const char *before, struct list *l)
{
	char line[sizeof(l->text) + 64];

	if (l->at == 0)
		return;
	snprintf(line, sizeof(line), "%s%s", before, l->text);
	if (l->left_out > 0)
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
		    " and %zu more", l->left_out);
	page_wrap(s, "", line);
}
