/*
 * Paths: the directory and the name within it.
 */
#ifndef PARDD_PATH_H
#define PARDD_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/fault.h"

/*
 * Appended to a name while the file is being written.  A run that is killed
 * leaves such a file behind, and the next run removes it, so nobody else may
 * use it.
 */
#define TEMPORARY	".pardd.tmp"

/* The last component of a path, within it; "" after a trailing slash. */
const char *path_base(const char *path);

/*
 * Open the directory of a path; "how" is O_PATH or O_RDONLY, and *base is set
 * to path_base.  Returns a descriptor that the caller closes, or -1 with errno.
 */
int path_dir(const char *path, int how, const char **base);

/*
 * The path of an open directory, in "where", which has PATH_MAX bytes; "..." if
 * that is not known.
 */
const char *path_of_dir(int dir, char *where);

/*
 * Say which directory of a path is missing, after path_dir has failed with
 * ENOENT; "key" is the operand, or "", and "what" names the file.  Returns -1.
 */
int path_no_dir(const char *path, const char *key, const char *what,
    struct fault *f);

/*
 * Open the directory of a path in which a file is to be created; "what" names
 * the file in messages.  Returns a descriptor that the caller closes, or -1
 * with *f: it is not writable, or STATUS_REFUSED if it is in /dev.
 */
int path_for_new(const char *path, const char *what, struct fault *f);

/*
 * The same check for a file that will be created later.  Returns 0, or -1 with
 * *f.
 */
int path_check(const char *path, const char *what, struct fault *f);

/*
 * Read a regular file of up to "most" bytes as a string, malloc'ed for the
 * caller, and *len.  Returns NULL with *f, whose text begins with "key" and the
 * path; "wrong" follows, with STATUS_REFUSED, if it is no such file.
 */
char *path_read(const char *path, const char *key, const char *wrong,
    off_t most, size_t *len, struct fault *f);

/*
 * Whether a directory, given as a descriptor, is part of devtmpfs, or is below
 * /dev where /dev is not a mount point.
 */
bool among_devices(int dir);

/* Whether both describe the same file. */
static inline bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

#endif
