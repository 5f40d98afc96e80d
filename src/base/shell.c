/*
 * Words of a shell.  The name of a file may hold anything, and who pastes a
 * command is root; who runs one here is root, too, so no shell does.
 */
#include "base/shell.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool
plain(const char *name)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+:,./-";

	return name[0] != '\0' && name[strspn(name, safe)] == '\0';
}

static bool
printable(const char *name)
{
	const unsigned char *c;

	for (c = (const unsigned char *)name; *c != '\0'; c++)
		if (*c < 0x20 || *c >= 0x7f)
			return false;
	return true;
}

/* In '...', which ends for each ' that is in it. */
static char *
quote(char *to, const char *name)
{
	*to++ = '\'';
	for (; *name != '\0'; name++)
		if (*name == '\'')
			to = stpcpy(to, "'\\''");
		else
			*to++ = *name;
	return stpcpy(to, "'");
}

/* In $'...', with three octal digits for what is no printable ASCII. */
static char *
escape(char *to, const char *name)
{
	const unsigned char *c;

	to = stpcpy(to, "$'");
	for (c = (const unsigned char *)name; *c != '\0'; c++) {
		bool odd = *c < 0x20 || *c >= 0x7f;

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
	return stpcpy(to, "'");
}

char *
shell_word(const char *name)
{
	char *word = malloc(4 * strlen(name) + sizeof("./$''")), *to = word;

	if (word == NULL)
		return NULL;
	/* A folder in front of what would be an option. */
	if (name[0] == '-')
		to = stpcpy(to, "./");
	if (plain(name))
		memcpy(to, name, strlen(name) + 1);
	else if (printable(name))
		quote(to, name);
	else
		escape(to, name);
	return word;
}

/* Whether a \ in "..." takes away the meaning of what follows. */
static bool
special(char c)
{
	return c == '"' || c == '\\' || c == '$' || c == '`';
}

/* Copy a word to *to; returns where it ended, or NULL: within a quote. */
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
		    (quoted == '\0' || (quoted == '"' && special(from[1]))))
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
	/* No more words than there are characters, and as long as those. */
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
