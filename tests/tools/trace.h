/*
 * What trace.so notes and powercut reads: records, one behind the other.
 *
 * A call leaves one record before it begins and a DONE when it has returned,
 * both with the same id.  So what lies between two records in the file lay
 * between them in time, whatever thread it was of.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>

enum kind {
	CREATE,		/* name: a new file, ino; off: its directory's number, */
			/* as with all names, which come without it */
	WRITE,		/* len bytes of ino at off */
	SYNC,		/* fdatasync or fsync of a file */
	DIRECTORY,		/* fsync of a directory, off */
	RENAME,		/* name, and behind its zero the new name */
	LINK,		/* the same */
	UNLINK,		/* name */
	DONE,		/* off: 0, or the errno it failed with */
};

struct outputs {
	uint64_t id, ino, off;
	uint32_t kind, len;	/* len bytes follow: data, or names */
};

#endif
