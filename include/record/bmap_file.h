/*
 * Writing block maps.
 */
#ifndef PARDD_BMAP_FILE_H
#define PARDD_BMAP_FILE_H

#include <stdint.h>

#include "base/fault.h"
#include "base/newfile.h"
#include "digest/bmap_table.h"

/*
 * Write the block map of an image of "size" bytes, in blocks of "block" bytes;
 * blocks without a piece are not mapped.  Returns 0, or -1 with *f.
 */
int bmap_write(struct newfile *, struct bmap_table *, uint64_t size,
    uint64_t block, struct fault *f);

#endif
