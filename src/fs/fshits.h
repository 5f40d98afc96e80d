/*
 * Shared by searches for names: the files that are hit, their names and paths.
 */
#ifndef PARDD_FSHITS_H
#define PARDD_FSHITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fsread.h"

enum { FS_PATH_MOST = 4096 };	/* bytes */

struct fs_path {		/* filled from its end */
	char	 text[FS_PATH_MOST + 1];
	size_t	 at;
};

struct fs_id {			/* identifies a file or directory */
	uint64_t number;
	uint64_t tree;		/* the tree of the number, or 0 */
};

struct fs_hit {
	struct fs_id	 id, directory;
	bool		 lost;	/* so is its record: perhaps no file */
	char		*name;	/* in its directory, or NULL */
};

struct fs_hits {
	struct fs_io	*io;
	const struct fs_extents *lost;
	struct fs_names	*to;
	struct fs_hit	*hit;	/* sorted; up to FS_NAMES_MOST */
	size_t		 n;
};

/*
 * Allocate memory, which fs_hits_close frees in either case; false without
 * memory, also if something before it had none.
 */
bool fs_hits_open(struct fs_hits *);
void fs_hits_close(struct fs_hits *);

/* Whether a range of the file system has a lost byte. */
bool fs_hits_is(const struct fs_hits *, uint64_t off, uint64_t len);

/*
 * Add a file; "lost": its record is lost.  A file added twice is lost only if
 * it was both times.  If there are too many, sets ->to->more.
 */
void fs_hits_add(struct fs_hits *, struct fs_id, bool lost);

/* Find a file, or NULL.  And whether any file that is not lost lacks a name. */
struct fs_hit *fs_hits_find(const struct fs_hits *, struct fs_id);
bool fs_hits_nameless(const struct fs_hits *);

/* Set the name of a file that has none yet, and take the name over. */
void fs_hits_name(struct fs_hit *, char *name, struct fs_id directory);

/*
 * Report all hits with their paths.  "top" is the root.  "up" returns the name
 * of a directory, malloc'ed, and replaces *id by its parent; NULL if that is
 * unknown.
 */
typedef char *fs_climb(void *arg, struct fs_id *id);
void fs_hits_tell(struct fs_hits *, struct fs_id top, fs_climb *up, void *arg);

/*
 * Called for each entry of a directory that has itself and its parent as "."
 * and ".."; returns false to stop.  The name has n bytes and no 0 at its end.
 */
typedef bool fs_entry(void *arg, uint64_t number, const unsigned char *name,
    size_t n);

/* Name the hit that the entry belongs to.  "arg" is the directory. */
struct fs_dir {
	struct fs_hits	*hits;
	uint64_t	 number;
};
fs_entry fs_entry_hit;

/*
 * Find the parent of a directory in its own entries; and its name, malloc'ed,
 * in those of the parent.  "arg" is a step from a directory to its parent.
 */
struct fs_step {
	struct fs_io	*io;
	uint64_t	 number, parent;
	char		*name;		/* or NULL */
};
fs_entry fs_entry_parent, fs_entry_name;

/* Add one name to the result. */
void fs_names_add(struct fs_io *, struct fs_names *, const struct fs_path *,
    const char *head);

/* Begin an empty path; put a slash and a name in front; false if it is full. */
void fs_path_begin(struct fs_path *);
bool fs_path_put(struct fs_path *, const char *name);

/* Copy n bytes; malloc'ed. */
char *fs_text(struct fs_io *, const unsigned char *, size_t n);

#endif
