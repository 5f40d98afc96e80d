/*
 * Where a name leads: its folder, and what it is called in there.
 */
#ifndef PARDD_PATH_H
#define PARDD_PATH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "base/fault.h"

/*
 * Behind a file's name: what is to get it is written so first.  A killed run
 * leaves it, and the next one takes it away, so it is a name nobody else uses.
 */
#define TEMPORARY	".pardd.tmp"

/* What a path calls a file in its folder: a part of it, "" behind a slash. */
const char *path_base(const char *path);

/*
 * Open the folder of a path, with O_PATH or O_RDONLY, which "how" is; *base is
 * path_base.  Returns a descriptor for the caller to close, or -1 with
 * errno.
 */
int path_folder(const char *path, int how, const char **base);

/*
 * Open the folder of a path for a file to be made there.  "what" names it in an
 * error.  Returns a descriptor for the caller to close, or -1 with *f: it may
 * not be written, or STATUS_REFUSED where it is one of the devices'.
 */
int path_for_new(const char *path, const char *what, struct fault *f);

/*
 * The same, for a file that is made later, by its path.  Returns 0, or -1 with
 * *f.
 */
int path_check(const char *path, const char *what, struct fault *f);

/*
 * Whether a folder, given as a descriptor, is one of the device file system, or
 * lies in /dev where that is no file system of its own.
 */
bool among_devices(int dir);

/* Whether both are of one file. */
bool same_file(const struct stat *, const struct stat *);

#endif
