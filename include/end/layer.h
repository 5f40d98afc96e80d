/*
 * Ends that are files on an overlay, and so files of a layer as well.
 */
#ifndef PARDD_LAYER_H
#define PARDD_LAYER_H

#include <stdbool.h>
#include <sys/stat.h>

#include "end/endpoint.h"

/*
 * Open the layer's file of a target that has just been opened, for its locks,
 * and record whether the overlay can be flushed.
 */
void layer_open(struct endpoint *, bool look);

/* Whether fd, with that stat, is the file of an end under another name. */
bool layer_is(const struct endpoint *, int fd, const struct stat *);

#endif
