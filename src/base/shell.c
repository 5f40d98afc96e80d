/*
 * Words of a shell.  The name of a file may hold anything, and who pastes a
 * command is root; who runs one here is root, too, so no shell does.
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
