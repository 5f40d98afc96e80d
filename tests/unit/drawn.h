/*
 * A page or picture that is drawn into memory, and what is on it; included
 * once, by a test.
 */
#ifndef PARDD_TEST_DRAWN_H
#define PARDD_TEST_DRAWN_H

static char *text;
static size_t size;

/* Where the next one is drawn to; text has it when that is closed. */
static FILE *
drawn(void)
{
	FILE *to;

	free(text);
	text = NULL;
	to = open_memstream(&text, &size);
	assert_non_null(to);
	return to;
}

static size_t
count(const char *what)
{
	const char *at = text;
	size_t n = 0;

	for (; (at = strstr(at, what)) != NULL; at++)
		n++;
	return n;
}

static inline void
has(const char *what)
{
	if (strstr(text, what) == NULL)
		fail_msg("nowhere: %s", what);
}

static inline void
lacks(const char *what)
{
	if (strstr(text, what) != NULL)
		fail_msg("it says: %s", what);
}

#endif
