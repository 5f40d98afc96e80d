/*
 * Shell words.  A file name may contain anything, and whoever pastes a command
 * may be root.  Commands that we run are split here, without a shell, for the
 * same reason.
 */
#include "base/shell.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

char *
shell_word(const char *name)
{
	char *word = malloc(4 * strlen(name) + sizeof("./$''"));

	if (word != NULL)
		escape_shell(word, name);
	return word;
}

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
