/*
 * A file that is made at the end of a run, as a whole or not at all: hashfile=,
 * profile=, manifest=.
 */
#ifndef PARDD_NEWFILE_H
#define PARDD_NEWFILE_H

#include <limits.h>
#include <stdio.h>

#include "base/fault.h"

struct newfile {
	const char	*key, *path;	/* of the operand, in opts */
	const char	*base;		/* in path, behind the folder */
	int		 dir;		/* the folder, or -1 */
	int		 fd;		/* the file, locked, or -1 */
	FILE		*out;		/* while it is written */
	char		 temporary[NAME_MAX + 1];
};

/*
 * Look whether key=path can be made: not among the devices, and not in the
 * place of anything but a regular file; the same for the name it is first
 * written under.  path NULL: nothing is to be made.  Returns 0, or -1 with *f,
 * and then nothing is to be closed.
 */
int newfile_open(struct newfile *, const char *key, const char *path,
    struct fault *f);

/*
 * The copy begins: make it under the other name, empty, for this run alone.
 * Returns 0, or -1 with *f: another run holds it, or it cannot be made.
 */
int newfile_hold(struct newfile *n, struct fault *f);

/* Begin to write it, to n->out, under that name.  Returns 0, or -1, *f. */
int newfile_begin(struct newfile *n, struct fault *f);

/*
 * Put it on the medium and give it its name, or take it back if err is an errno
 * value and not 0.  Returns 0, or -1 with *f; then what was there before is
 * there still.
 */
int newfile_end(struct newfile *, int err, struct fault *f);

/* Free what newfile_open took; take away what was held and not put in place. */
void newfile_close(struct newfile *);

#endif
