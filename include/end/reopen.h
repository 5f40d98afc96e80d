/*
 * Opening anew what has been looked at.
 */
#ifndef PARDD_REOPEN_H
#define PARDD_REOPEN_H

/*
 * Open what the descriptor "path" stands for anew, with these flags: a file by
 * its name if that still leads there, all else through /proc/self/fd (by name
 * where /proc is missing, if it is still the same).  name NULL: it has none.
 * Returns a descriptor, or -1 and errno.
 */
int reopen(int path, const char *name, int flags);

/* The same of what a name has led to just now.  ESTALE: it does no longer. */
int open_found(int path, const char *name, int flags);

#endif
