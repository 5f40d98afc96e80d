/*
 * Words of a shell, for commands that are printed to be pasted.
 */
#ifndef PARDD_SHELL_H
#define PARDD_SHELL_H

/*
 * A name as one word of a shell, and no option: as it is where that is safe,
 * else quoted, in printable ASCII, as print() leaves it.  What has to be
 * escaped takes $'...', POSIX 2024, 2.2.4 ("Dollar-Single-Quotes"), which bash,
 * zsh, ksh and busybox know.  malloc'd; NULL without memory.
 */
char *shell_word(const char *name);

#endif
