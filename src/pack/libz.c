/*
 * Loading zlib, and inflating by it.
 */
#include "config.h"

#ifdef HAVE_LIBZ
#include "libz.h"

#include <limits.h>
#include <sys/param.h>

#include "base/status.h"

const struct library libz = LIBRARY("libz.so.1", "zlib1g",
    LIBZ_FUNCTIONS(LIBRARY_NAME));

enum codec_step
libz_step(const struct libz *lib, z_stream *z, int flush, struct decoder *d,
    struct codec_io *io)
{
	uInt in = (uInt)MIN(io->in_len, UINT_MAX);
	uInt out = (uInt)MIN(io->out_len, UINT_MAX);
	int result;

	z->next_in = io->in;
	z->avail_in = in;
	z->next_out = io->out;
	z->avail_out = out;
	result = lib->inflate(z, flush);
	codec_moved(io, in - z->avail_in, out - z->avail_out);
	switch (result) {
	case Z_OK:
	case Z_BUF_ERROR:
		return CODEC_GOES_ON;
	case Z_STREAM_END:
		return CODEC_ENDED;
	case Z_MEM_ERROR:
		return codec_starve(d);
	default:
		return codec_fail(d, STATUS_MISMATCH, "is damaged: %s",
		    z->msg != NULL ? z->msg : "zlib does not say why");
	}
}
#endif
