/*
 * Which files of a file system contain given bytes.
 */
#ifndef PARDD_FSNAMES_H
#define PARDD_FSNAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "fs/fsmap.h"

enum { FS_NAMES_MOST = 1000 };

struct fs_names {
	bool	 known;		/* a search was made; else ignore the rest */
	bool	 more;		/* there may be others: too many, or not all
				 * directories could be read */
	char	**name;		/* sorted paths such as "/home/a file",
				 * unescaped; without a leading slash if the
				 * path is incomplete, as in "<12>/a file" */
	size_t	 n;
};

/*
 * Find the files, directories and links that have a byte in "lost": of their
 * contents, of their block pointers, or of their inodes or records.  "type" is
 * the one in struct fs_map; all but swap, and a btrfs on several devices, are
 * supported.  A file with several names is listed by one of them.  As with
 * fs_map_read no number is trusted, and what cannot be read is skipped;
 * ETIMEDOUT ends the search.  Uses at most 64 MiB of memory, and reads at most
 * the size of the partition, plus 16 MiB.
 *
 * Fills *to, which fs_names_free frees.  Returns 0 or ENOMEM.
 */
int fs_names_read(const char *type, const struct fs_source *,
    const struct fs_extents *lost, struct fs_names *to);
void fs_names_free(struct fs_names *);

/* How many bytes of a list of extents are between "off" and "end". */
uint64_t fs_among(const struct fs_extents *, uint64_t off, uint64_t end);

#endif
