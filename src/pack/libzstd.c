/*
 * Loading libzstd, and unpacking by it.
 */
#include "config.h"

#ifdef HAVE_LIBZSTD
#include "pack/libzstd.h"

#include <errno.h>

#include "base/status.h"

enum {
	WINDOW_LOG = 27,	/* that zstd takes without an option */
	WINDOW_LOG_MOST = sizeof(size_t) == 4 ? 30 : 31,
};

const struct library libzstd = LIBRARY("libzstd.so.1", "libzstd1",
    LIBZSTD_FUNCTIONS(LIBRARY_NAME));

static int
libzstd_window(const struct decoder *d)
{
	int bits = WINDOW_LOG;

	while (bits < WINDOW_LOG_MOST && d->memory >> (bits + 1) > 0)
		bits++;
	return bits;
}

ZSTD_DCtx *
libzstd_open(struct libzstd *lib, const struct decoder *d, const char *what,
    struct fault *f)
{
	ZSTD_DCtx *context;

	if (library_load(&libzstd, lib, what, f) != 0)
		return NULL;
	context = lib->ZSTD_createDCtx();
	if (context != NULL && !lib->ZSTD_isError(lib->ZSTD_DCtx_setParameter(
	    context, ZSTD_d_windowLogMax, libzstd_window(d))))
		return context;
	lib->ZSTD_freeDCtx(context);
	fault_errno(f, ENOMEM, "%s", what);
	return NULL;
}

enum codec_step
libzstd_step(const struct libzstd *lib, ZSTD_DCtx *context, struct decoder *d,
    struct codec_io *io)
{
	ZSTD_inBuffer in = { io->in, io->in_len, 0 };
	ZSTD_outBuffer out = { io->out, io->out_len, 0 };
	size_t result = lib->ZSTD_decompressStream(context, &out, &in);

	codec_moved(io, in.pos, out.pos);
	d->held = lib->ZSTD_sizeof_DCtx(context);
	if (!lib->ZSTD_isError(result))
		return result == 0 ? CODEC_ENDED : CODEC_GOES_ON;
	switch (lib->ZSTD_getErrorCode(result)) {
	case ZSTD_error_memory_allocation:
		return codec_starve(d);
	case ZSTD_error_frameParameter_windowTooLarge:
		return codec_fail(d, STATUS_REFUSED, "needs a window of more "
		    "than %u MiB of memory to unpack it; a larger mem= allows "
		    "that", 1U << (libzstd_window(d) - 20));
	case ZSTD_error_dictionary_wrong:
		return codec_fail(d, STATUS_REFUSED, "needs a dictionary: "
		    "zstd -dc -D DICTIONARY unpacks it into a pipe");
	default:
		return codec_fail(d, STATUS_MISMATCH, "is damaged: %s",
		    lib->ZSTD_getErrorName(result));
	}
}
#endif
