/*
 * Operands that are lists of words: "oflag=direct,sync".
 */
#include "opts_row.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/algorithm.h"
#include "base/status.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

enum { WORDS_TOLD = 8 };	/* an operand with more is not listed in full */

static const struct word {
	const char	*operand, *word;
	unsigned	 bit;
	bool		 refused;
} words[] = {
#define WORD(operand, word, bit, help)	{ #operand, word, bit, false },
#define NOWORD(operand, word)		{ #operand, word, 0, true },
#include "cli/operands.def"
};

static const struct named {	/* a word that takes a name */
	const char	*operand, *word;
	size_t		 field;		/* const char *: offset in struct
					 * opts */
} named[] = {
#define NAMED(operand, word, field, ...) \
	{ #operand, word, offsetof(struct opts, field) },
#include "cli/operands.def"
};

/* The nearest word of an operand, or NULL. */
static const char *
nearest_word(const char *operand, const char *text, size_t len)
{
	unsigned least = HINT_MOST + 1, d;
	const char *best = NULL;
	size_t i;

	for (i = 0; i < COUNT(words); i++) {
		if (strcmp(words[i].operand, operand) != 0 || words[i].refused)
			continue;
		d = hint_distance(text, len, words[i].word);
		if (d < least && hint_near(text, len, words[i].word, d)) {
			least = d;
			best = words[i].word;
		}
	}
	return best;
}

/* List the words of an operand; false if there are too many. */
static bool
list_words(const char *operand, char *text, size_t room)
{
	size_t i, n = 0, at = 0;

	for (i = 0; i < COUNT(words); i++) {
		if (strcmp(words[i].operand, operand) != 0)
			continue;
		at += (size_t)snprintf(text + at, room - at, "%s%s",
		    n++ > 0 ? ", " : "", words[i].word);
		if (n > WORDS_TOLD || at >= room)
			return false;
	}
	return true;
}

static int
no_word(const char *operand, const char *text, size_t len, const char *arg,
    struct fault *f)
{
	const char *near = nearest_word(operand, text, len);
	char all[80];

	if (len == 0)
		return fault_set(f, STATUS_USAGE, "%s: a word is missing; is "
		    "there a space in it? Write %s=a,b", arg, operand);
	if (near != NULL)
		return fault_set(f, STATUS_USAGE, "%s: %s= has no word '%.*s'; "
		    "did you mean %s?", arg, operand, (int)len, text, near);
	if (list_words(operand, all, sizeof(all)))
		return fault_set(f, STATUS_USAGE, "%s: %s= has no word '%.*s'; "
		    "it takes %s", arg, operand, (int)len, text, all);
	return fault_set(f, STATUS_USAGE, "%s: %s= has no word '%.*s'; --help "
	    "%s lists them", arg, operand, (int)len, text, operand);
}

static int
word_set(unsigned *bits, const char *operand, const char *text, size_t len,
    const char *arg, struct fault *f)
{
	size_t i;

	for (i = 0; i < COUNT(words); i++) {
		if (strcmp(words[i].operand, operand) != 0 ||
		    strlen(words[i].word) != len ||
		    strncmp(words[i].word, text, len) != 0)
			continue;
		if (words[i].refused)
			return fault_set(f, STATUS_USAGE,
			    "%s: not '%s': pardd copies blocks as they are",
			    arg, words[i].word);
		*bits |= words[i].bit;
		return 0;
	}
	return no_word(operand, text, len, arg, f);
}

/* A word and its name, which takes the rest of the text, commas included. */
static bool
is_named(const struct row *row, const char *text, const struct named **n)
{
	size_t len = strcspn(text, ":,"), i;

	for (i = 0; text[len] == ':' && i < COUNT(named); i++) {
		*n = &named[i];
		if (strcmp(named[i].operand, row->name) == 0 &&
		    strlen(named[i].word) == len &&
		    strncmp(named[i].word, text, len) == 0)
			return true;
	}
	return false;
}

static int
named_set(struct opts *o, const struct named *n, const char *arg,
    const char *text, struct fault *f)
{
	const char **name = (const char **)(void *)((char *)o + n->field);

	if (*text == '\0')
		return fault_set(f, STATUS_USAGE, "%s: a name is missing "
		    "behind %s:", arg, n->word);
	if (*name != NULL)
		return fault_set(f, STATUS_USAGE, "%s: %s: is given twice",
		    arg, n->word);
	*name = text;
	return 0;
}

int
row_words(struct opts *o, const struct row *row, const char *arg,
    const char *text, struct fault *f)
{
	unsigned *bits = row_member(o, row);
	const struct named *n;
	size_t len;

	for (;; text += len + 1) {
		if (is_named(row, text, &n))
			return named_set(o, n, arg, text + strlen(n->word) + 1,
			    f);
		len = strcspn(text, ",");
		if (word_set(bits, row->name, text, len, arg, f) != 0)
			return -1;
		if (text[len] == '\0')
			return 0;
	}
}

const char *
opts_word(const char *operand, unsigned bit)
{
	size_t i;

	for (i = 0; bit != 0 && i < COUNT(words); i++)
		if (words[i].bit == bit &&
		    strcmp(words[i].operand, operand) == 0)
			return words[i].word;
	return NULL;
}
