/*
 * overlayfs: the layers of a mount, and the file in a layer that has the bytes
 * of a file on it, with another st_dev and st_ino.
 */
#ifndef PARDD_OVERLAY_H
#define PARDD_OVERLAY_H

#include <stdbool.h>
#include <sys/stat.h>

#include "disk/filesystem.h"

enum layer {
	LAYER_LOWER,		/* topmost first */
	LAYER_UPPER,
	LAYER_DATA,		/* files without a name in the mount */
};

/*
 * Call "each" with the directory of each layer, given the options in MOUNTS,
 * until it returns something other than 0.  Returns that value; or ENOENT if a
 * directory has no absolute name, or there is none.
 */
int overlay_layers(const char *options,
    int (*each)(const char *directory, enum layer, void *arg), void *arg);

struct overlaid {
	bool		 fleeting;	/* mounted volatile: nothing is
					 * flushed */
	int		 err;		/* errno, if it is not known for lack
					 * of descriptors or memory, or 0 */
	struct stat	 st;		/* of the file in the layer */
};

/*
 * Find the file in a layer for a file on an overlay: in the upper layer if it
 * will be written, else in the first layer that has it.  Returns false if it is
 * not on an overlay, or the layers cannot be seen, as in a container.  Sets
 * "fleeting" and "err" anyway, also for a directory.  path has room for its
 * name, PATH_MAX bytes, or is NULL.
 */
bool overlay_file(const struct located *, bool written, struct overlaid *,
    char *path);

/*
 * If *st is that of "path" on an overlay, replace it with that of the file in
 * the layer, if known.  Returns "err".
 */
int overlay_resolve(const char *path, struct stat *st);

/*
 * The same for what a loop device lies on, which is touched only if it may be
 * on an overlay, because its server may be dead.  *mounts is the table of
 * mounts, or NULL until that is needed; the caller frees it.
 */
int overlay_loop(const char *loop, struct stat *st, char **mounts);

#endif
