/*
 * Sources that are unpacked while they are read.
 */
#ifndef PARDD_DECODED_H
#define PARDD_DECODED_H

#include <stdbool.h>

#include "base/fault.h"
#include "end/endpoint.h"

struct opts;

/*
 * Put a decoder on top of an open source, as decode= says: it becomes its
 * "carrier", and the endpoint has the bytes that are in it.  With decode=auto,
 * what is not packed stays as it is.  This reads the beginning; with "look", of
 * --dry-run, not that of a pipe.  Returns 0, or -1 with *f and the source still
 * open, as it was.
 */
int decoded_open(struct endpoint *, const struct opts *, bool look,
    struct fault *f);

#endif
