/*
 * overlayfs: what a mount is made of, and which file of a layer has the bytes
 * of a file on it.  That one has another st_dev and st_ino.
 */
#ifndef PARDD_OVERLAY_H
#define PARDD_OVERLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "disk/filesystem.h"

enum layer {
	LAYER_LOWER,		/* the topmost is met first */
	LAYER_UPPER,
	LAYER_DATA,		/* files that no name of the mount leads to */
};

/*
 * Call "each" with the folder of each layer, by the options of the mount as
 * MOUNTS has them, until it returns another value than 0.  Returns that; or
 * ENOENT where a folder is not named in full, or none is.
 */
int overlay_layers(const char *options,
    int (*each)(const char *folder, enum layer, void *arg), void *arg);

struct overlaid {
	bool		 fleeting;	/* mounted volatile: flushes nothing */
	struct stat	 st;		/* of the file that it is in a layer */
};

/*
 * The file that a file on an overlay is.  What is written is in the upper
 * layer, what is read in the first that has it.  False where it is on no
 * overlay, or its layers cannot be seen from here, as in a container; fleeting
 * is set all the same, of a folder, too.  path: room for its name there,
 * PATH_MAX bytes, or NULL.
 */
bool overlay_file(const struct located *, bool written, struct overlaid *,
    char *path);

/*
 * If *st is the file "path" on an overlay, make it that of the layer where this
 * is known.
 */
void overlay_resolve(const char *path, struct stat *st);

#endif
