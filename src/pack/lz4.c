/*
 * lz4, its frames, by liblz4.
 */
#include "config.h"

#include "rows.h"

#include <errno.h>

#include "base/library.h"
#include "base/status.h"
#include "cli/opts.h"

static bool
lz4_begins(const unsigned char *head, size_t n)
{
	return frames_begin(head, n, true);
}

#ifdef HAVE_LIBLZ4
#include <lz4frame.h>

#define LIBLZ4_FUNCTIONS(X) \
	X(LZ4F_createDecompressionContext) X(LZ4F_freeDecompressionContext) \
	X(LZ4F_resetDecompressionContext) X(LZ4F_decompress) X(LZ4F_isError) \
	X(LZ4F_getErrorName)

LIBRARY_STATIC(liblz4, "liblz4.so.1", "liblz4-1", LIBLZ4_FUNCTIONS);

struct lz4 {
	struct liblz4	 lib;
	LZ4F_dctx	*context;
};

static int
lz4_open(struct decoder *d, struct fault *f)
{
	struct lz4 *l = d->state;

	return !l->lib.LZ4F_isError(l->lib.LZ4F_createDecompressionContext(
	    &l->context, LZ4F_VERSION)) ? 0 :
	    fault_errno(f, ENOMEM, "decode=lz4");
}

static bool
lz4_start(struct decoder *d)
{
	struct lz4 *l = d->state;

	l->lib.LZ4F_resetDecompressionContext(l->context);
	return true;
}

static enum codec_step
lz4_step(struct decoder *d, struct codec_io *io)
{
	struct lz4 *l = d->state;
	size_t in = io->in_len, out = io->out_len;
	size_t result = l->lib.LZ4F_decompress(l->context, io->out, &out,
	    io->in, &in, NULL);

	if (l->lib.LZ4F_isError(result))
		return codec_fail(d, STATUS_MISMATCH, "is damaged: %s",
		    l->lib.LZ4F_getErrorName(result));
	codec_moved(io, in, out);
	return result == 0 ? CODEC_ENDED : CODEC_GOES_ON;
}

static void
lz4_close(struct decoder *d)
{
	struct lz4 *l = d->state;

	l->lib.LZ4F_freeDecompressionContext(l->context);
}
#endif

const struct codec lz4_codec = {
	.word = "lz4", .bit = DECODE_LZ4, .begins = lz4_begins,
#ifdef HAVE_LIBLZ4
	.room = sizeof(struct lz4), .library = &liblz4, .open = lz4_open,
	.start = lz4_start, .step = lz4_step, .close = lz4_close,
	.measure = frames_measure,
#endif
};
