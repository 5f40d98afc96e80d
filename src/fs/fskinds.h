/*
 * The supported kinds of file systems, each in its own file.
 */
#ifndef PARDD_FSKINDS_H
#define PARDD_FSKINDS_H

#include <stdbool.h>

#include "fsread.h"
#include "fs/fsnames.h"

/*
 * Read one: type, label, state, free space and metadata.  Returns false, and
 * notes nothing, if it is of another kind.
 */
bool fs_read_ext(struct fs_io *);
bool fs_read_xfs(struct fs_io *);
bool fs_read_btrfs(struct fs_io *);
bool fs_read_ntfs(struct fs_io *);
bool fs_read_fat(struct fs_io *);
bool fs_read_exfat(struct fs_io *);
bool fs_read_swap(struct fs_io *);

/* Room for names, which fs_names_free frees; false: no memory. */
bool fs_names_open(struct fs_io *, struct fs_names *);

/*
 * Doubt a file system after a search for files that have what it calls free: of
 * "hits", and perhaps "more", and none at all if something could not be read.
 * "differ" says what differs then, and which tool repairs it.
 */
void fs_doubt_files(struct fs_io *, size_t hits, bool more, const char *differ);

/*
 * Find the names of files that contain these bytes.  Returns false if it is of
 * another kind.
 */
bool fs_names_ext(struct fs_io *, const struct fs_extents *lost,
    struct fs_names *);
bool fs_names_btrfs(struct fs_io *, const struct fs_extents *lost,
    struct fs_names *);
bool fs_names_xfs(struct fs_io *, const struct fs_extents *lost,
    struct fs_names *);
bool fs_names_ntfs(struct fs_io *, const struct fs_extents *lost,
    struct fs_names *);
bool fs_names_fat(struct fs_io *, const struct fs_extents *lost,
    struct fs_names *);
bool fs_names_exfat(struct fs_io *, const struct fs_extents *lost,
    struct fs_names *);

#endif
