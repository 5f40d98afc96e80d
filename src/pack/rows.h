/*
 * The rows of the table of codecs, each in its own file.
 */
#ifndef PARDD_ROWS_H
#define PARDD_ROWS_H

#include "pack/codec.h"

extern const struct codec gz_codec, xz_codec, zst_codec, bz2_codec, lz4_codec,
    zip_codec;

#endif
