/*
 * The process title, by libbsd.
 */
#include "base/title.h"

#include <bsd/string.h>
#include <bsd/unistd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 512 };		/* bytes */

static const double interval = 1;	/* s */

char **
title_words(int argc, char *argv[])
{
	size_t bytes = sizeof(argv[0]) * ((size_t)argc + 1), at = bytes;
	char **copy;
	int i;

	for (i = 0; i < argc; i++)
		bytes += strlen(argv[i]) + 1;
	copy = calloc(1, bytes);
	for (i = 0; copy != NULL && i < argc; i++) {
		copy[i] = (char *)copy + at;
		at += strlcpy(copy[i], argv[i], bytes - at) + 1;
	}
	return copy;
}

void
title_begin(struct title *title, int argc, char **words)
{
	if (words == NULL || title->width > 0)
		return;
	title->width = (int)strnlen(words[0], TEXT) + 1;
	setproctitle_init(argc, words, environ);
}

void
title_set(struct title *title, double seconds, const char *from, const char *to,
    double share)
{
	char text[TEXT];

	if (title->width == 0 || seconds < title->last + interval)
		return;
	title->last = seconds;
	if (share < 0)
		snprintf(text, sizeof(text), "%s to %s", from, to);
	else
		snprintf(text, sizeof(text), "%s to %s %d %%", from, to,
		    share < 1 ? (int)(100 * share) : 100);
	setproctitle("%-*s", title->width, text);
}
