/*
 * Reopening what an O_PATH descriptor refers to.
 */
#ifndef PARDD_REOPEN_H
#define PARDD_REOPEN_H

/*
 * Open the file behind the descriptor "path" with these flags.  A file is
 * opened by "name" if that still leads to it, otherwise through /proc/self/fd;
 * name may be NULL.  Without /proc, the name must still lead to the same file.
 * Returns a descriptor, or -1 with errno.
 */
int reopen(int path, const char *name, int flags);

/* The same for a name just looked up; ESTALE if it now leads elsewhere. */
int open_found(int path, const char *name, int flags);

#endif
