/*
 * What the search for names shares: the files that are hit, what they are
 * called, and their paths.
 */
#ifndef PARDD_FSHITS_H
#define PARDD_FSHITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fskinds.h"

enum { FS_PATH_MOST = 4096 };	/* bytes */

struct fs_path {		/* it grows from its end */
	char	 text[FS_PATH_MOST + 1];
	size_t	 at;
};

struct fs_id {			/* of a file or a folder */
	uint64_t number;
	uint64_t tree;		/* that the number counts in, or 0 */
};

struct fs_hit {
	struct fs_id	 id, folder;
	bool		 lost;	/* its record is: it may be nobody's */
	char		*name;	/* in its folder, or NULL */
};

struct fs_hits {
	struct fs_io	*io;
	const struct fs_extents *lost;
	struct fs_names	*to;
	struct fs_hit	*hit;	/* in order, FS_NAMES_MOST of them */
	size_t		 n;
};

/* Room for them, which fs_hits_close frees in any case; false: no memory. */
bool fs_hits_open(struct fs_hits *);
void fs_hits_close(struct fs_hits *);

/* Whether a range of the file system has a byte that is lost. */
bool fs_hits_is(const struct fs_hits *, uint64_t off, uint64_t len);

/*
 * Note a file as hit; "lost": that its record is.  What is noted already is
 * lost only if it was both times.  Those that are too many are ->to->more.
 */
void fs_hits_add(struct fs_hits *, struct fs_id, bool lost);

/* One that was noted, or NULL; any without a name that is not lost itself. */
struct fs_hit *fs_hits_find(const struct fs_hits *, struct fs_id);
bool fs_hits_nameless(const struct fs_hits *);

/* The name, which is taken over, of one that has none yet. */
void fs_hits_name(struct fs_hit *, char *name, struct fs_id folder);

/*
 * Tell of all hits, with their paths: "top" is the root, and "up" tells what a
 * folder is called, from malloc, and changes *id to the folder that it is in;
 * NULL where that is not found.
 */
typedef char *fs_climb(void *arg, struct fs_id *id);
void fs_hits_tell(struct fs_hits *, struct fs_id top, fs_climb *up, void *arg);

/* Tell of one. */
void fs_names_add(struct fs_io *, struct fs_names *, const struct fs_path *,
    const char *head);

/* An empty path; a slash and a name put before it, false where it is full. */
void fs_path_begin(struct fs_path *);
bool fs_path_put(struct fs_path *, const char *name);

/* A copy of bytes, or of UTF-16 as UTF-8, up to the first 0; from malloc. */
char *fs_text(struct fs_io *, const unsigned char *, size_t bytes);
char *fs_text_utf16(struct fs_io *, const unsigned char *, size_t units);

#endif
