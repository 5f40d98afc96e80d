/*
 * The title of the process, by libbsd.
 */
#include "base/title.h"

#include <bsd/unistd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 512 };		/* bytes */

static const double interval = 1;	/* s */

void
title_begin(struct title *title, int argc, char **words)
{
	if (words == NULL || title->width > 0)
		return;
	title->width = (int)strnlen(words[0], TEXT) + 1;
	setproctitle_init(argc, words, environ);
}

bool
title_due(struct title *title, double seconds)
{
	if (seconds < title->last + interval)
		return false;
	title->last = seconds;
	return true;
}

void
title_set(const struct title *title, const char *from, const char *to,
    double share)
{
	char text[TEXT];

	if (title->width == 0)
		return;
	if (share < 0)
		snprintf(text, sizeof(text), "%s to %s", from, to);
	else
		snprintf(text, sizeof(text), "%s to %s %.0f %%", from, to,
		    100 * share);
	setproctitle("%-*s", title->width, text);
}
