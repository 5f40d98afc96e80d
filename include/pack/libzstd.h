/*
 * The functions of libzstd, loaded for zstd and zip, and for encode=.
 */
#ifndef PARDD_LIBZSTD_H
#define PARDD_LIBZSTD_H

#include <zstd.h>
#include <zstd_errors.h>

#include "base/library.h"
#include "pack/codec.h"

#define LIBZSTD_FUNCTIONS(X) \
	X(ZSTD_createDCtx) X(ZSTD_freeDCtx) X(ZSTD_DCtx_reset) \
	X(ZSTD_DCtx_setParameter) X(ZSTD_decompressStream) X(ZSTD_isError) \
	X(ZSTD_getErrorCode) X(ZSTD_getErrorName) \
	X(ZSTD_createCCtx) X(ZSTD_freeCCtx) X(ZSTD_CCtx_setParameter) \
	X(ZSTD_compress2) X(ZSTD_compressBound) X(ZSTD_sizeof_DCtx)

struct libzstd {
	LIBZSTD_FUNCTIONS(LIBRARY_MEMBER)
};

extern const struct library libzstd;

/*
 * Load the library, and make a context that takes the windows that zstd takes,
 * or larger ones if mem= has room for them.  Returns NULL with *f.
 */
ZSTD_DCtx *libzstd_open(struct libzstd *, const struct decoder *,
    const char *what, struct fault *f);

/* Unpack: a step of any codec whose data are frames of zstd. */
enum codec_step libzstd_step(const struct libzstd *, ZSTD_DCtx *,
    struct decoder *, struct codec_io *);

#endif
