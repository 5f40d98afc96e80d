/*
 * Lines of the page of a plan: by words, under a heading, and lists that are as
 * long as there is room for.  What comes from outside is escaped before it is
 * measured.
 */
#include "page.h"

#include <stdarg.h>
#include <string.h>

#include "base/print.h"

enum {
	TEXT = 1024,		/* bytes, before it is escaped */
	TIED = '\1',		/* a blank that no line ends at */
};

static void
put_line(FILE *out, const char *heading, const char *text, size_t len)
{
	size_t i;

	fprintf(out, "%-*s", INDENT, heading);
	for (i = 0; i < len; i++)
		fputc(text[i] == TIED ? ' ' : text[i], out);
	fputc('\n', out);
}

/* Escaped text, by words, under a heading; what follows is indented. */
void
page_wrap(FILE *out, const char *heading, const char *text)
{
	size_t room = WIDTH - INDENT, n, cut;

	do {
		n = strlen(text);
		if (n > room) {
			for (cut = room; cut > 0 && text[cut] != ' '; cut--)
				continue;
			n = cut > 0 ? cut : room;
		}
		put_line(out, heading, text, n);
		heading = "";
		text += n;
		text += strspn(text, " ");
	} while (*text != '\0');
}

void
page_told(FILE *out, const char *heading, const char *fmt, ...)
{
	char text[TEXT], line[4 * TEXT + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*print_escape(line, text) = '\0';
	page_wrap(out, heading, line);
}

struct list
list_of(enum brevity brief)
{
	return (struct list){ .most = brief == WHOLE ? LIST : LIST_SHORT };
}

void
list_item(struct list *l, const char *fmt, ...)
{
	char text[512], plain[4 * sizeof(text)], *c;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	*print_escape(plain, text) = '\0';
	for (c = plain; (c = strchr(c, ' ')) != NULL; c++)
		*c = TIED;
	if (l->left_out > 0 || l->at + strlen(plain) + 2 > l->most) {
		l->left_out++;
		return;
	}
	l->at += (size_t)snprintf(l->text + l->at, sizeof(l->text) - l->at,
	    "%s%s", l->at > 0 ? ", " : "", plain);
}

void
list_put(FILE *out, const char *before, struct list *l)
{
	char line[sizeof(l->text) + 64];

	if (l->at == 0 && l->left_out == 0)
		return;
	snprintf(line, sizeof(line), "%s%s", before, l->text);
	if (l->left_out > 0)
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
		    "%s%zu%s", l->at > 0 ? " and " : "", l->left_out,
		    l->at > 0 ? " more" : "");
	page_wrap(out, "", line);
}
