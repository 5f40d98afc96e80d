/*
 * Words of a shell: for commands that are printed to be pasted, and of those
 * that are run without one.
 */
#ifndef PARDD_SHELL_H
#define PARDD_SHELL_H

/*
 * A name as one word of a shell: see escape_shell.  malloc'd; NULL without
 * memory.
 */
char *shell_word(const char *name);

/*
 * A command in words, as a shell has them (POSIX, 2.2 "Quoting": blanks, '...',
 * "...", \), of which nothing is expanded.  One piece of memory that ends with
 * NULL, as execve(2) wants it, malloc'd; NULL and an errno: EINVAL, a quote is
 * not closed.
 */
char **shell_split(const char *command);

#endif
