/*
 * Shell words: for commands that users paste, and for commands that we run
 * without a shell.
 */
#ifndef PARDD_SHELL_H
#define PARDD_SHELL_H

/*
 * A name as one word of a shell: see escape_shell.  malloc'd; NULL without
 * memory.
 */
char *shell_word(const char *name);

/*
 * Split a command into words as a shell does (POSIX, 2.2 "Quoting": blanks,
 * '...', "...", \), without expanding anything.  Returns a NULL-terminated
 * array for execve(2), in one piece that the caller frees; or NULL with errno:
 * EINVAL means an unclosed quote.
 */
char **shell_split(const char *command);

#endif
