/*
 * A file that a run writes as a whole or not at all: hashfile=, profile=,
 * manifest=.
 */
#ifndef PARDD_NEWFILE_H
#define PARDD_NEWFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"

struct newfile {
	const char	*key, *path;	/* of the operand; from opts */
	const char	*base;		/* the last component of path */
	unsigned	 mode;		/* with which it is made, less umask */
	int		 dir;		/* its directory, or -1 */
	int		 fd;		/* the file, locked, or -1 */
	bool		 held;		/* newfile_hold was called */
	bool		 absent;	/* nothing had its name then */
	FILE		*out;		/* while it is written */
	char		 temporary[NAME_MAX + 1];
};

/*
 * Check that key=path can be created: not in /dev, and not over anything but a
 * regular file; check its temporary name, too.  path NULL: no file is wanted.
 * Returns 0, or -1 with *f; then there is nothing to close.
 */
int newfile_open(struct newfile *, const char *key, const char *path,
    struct fault *f);

/*
 * As the copy begins: create the file under its temporary name, empty and
 * locked.  Returns 0, or -1 with *f: another run has it, or it cannot be
 * created.
 */
int newfile_hold(struct newfile *n, struct fault *f);

/* Start writing it, to n->out, under that name.  Returns 0, or -1 with *f. */
int newfile_begin(struct newfile *n, struct fault *f);

/*
 * Flush the file and rename it into place; or discard it if err, an errno
 * value, is not 0.  Returns 0, or -1 with *f; then an older file of that name
 * is untouched, as is one that somebody created meanwhile.  If the directory
 * has been moved, *f says where the file is.
 */
int newfile_end(struct newfile *, int err, struct fault *f);

/* Free everything; remove the temporary file if it was not renamed. */
void newfile_close(struct newfile *);

#endif
