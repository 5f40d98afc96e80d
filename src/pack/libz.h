/*
 * The functions of zlib, loaded for gzip and zip.
 */
#ifndef PARDD_LIBZ_H
#define PARDD_LIBZ_H

#define ZLIB_CONST		/* what zlib reads is const */
#include <zlib.h>

#include "base/library.h"
#include "pack/codec.h"

#define LIBZ_FUNCTIONS(X) \
	X(inflateInit2_) X(inflateReset) X(inflate) X(inflateEnd) X(crc32_z)

struct libz {
	LIBZ_FUNCTIONS(LIBRARY_MEMBER)
};

extern const struct library libz;

/* Inflate: a step of any codec whose data is deflated; "flush" as in zlib.h. */
enum codec_step libz_step(const struct libz *, z_stream *, int flush,
    struct decoder *, struct codec_io *);

#endif
