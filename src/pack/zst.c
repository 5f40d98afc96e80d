/*
 * zstd (RFC 8878), by libzstd.
 */
#include "config.h"

#include "rows.h"

#include "cli/opts.h"

static bool
zst_begins(const unsigned char *head, size_t n)
{
	return frames_begin(head, n, false);
}

#ifdef HAVE_LIBZSTD
#include "pack/libzstd.h"

struct zst {
	struct libzstd	 lib;
	ZSTD_DCtx	*context;
};

static int
zst_open(struct decoder *d, struct fault *f)
{
	struct zst *z = d->state;

	z->context = libzstd_open(&z->lib, d, "decode=zst", f);
	return z->context != NULL ? 0 : -1;
}

static bool
zst_start(struct decoder *d)
{
	struct zst *z = d->state;

	z->lib.ZSTD_DCtx_reset(z->context, ZSTD_reset_session_only);
	return true;
}

static enum codec_step
zst_step(struct decoder *d, struct codec_io *io)
{
	struct zst *z = d->state;

	return libzstd_step(&z->lib, z->context, d, io);
}

static void
zst_close(struct decoder *d)
{
	struct zst *z = d->state;

	z->lib.ZSTD_freeDCtx(z->context);
}
#endif

const struct codec zst_codec = {
	.word = "zst", .bit = DECODE_ZST, .begins = zst_begins,
#ifdef HAVE_LIBZSTD
	.room = sizeof(struct zst), .open = zst_open, .start = zst_start,
	.step = zst_step, .close = zst_close, .measure = frames_measure,
#endif
};
