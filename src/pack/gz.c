/*
 * gzip (RFC 1952), by zlib, which checks the CRC and the length of a member.
 */
#include "config.h"

#include "rows.h"

#include <errno.h>
#include <string.h>

#include "cli/opts.h"

static bool
gz_begins(const unsigned char *head, size_t n)
{
	return n >= 3 && memcmp(head, "\x1f\x8b\x08", 3) == 0;
}

#ifdef HAVE_LIBZ
#include "libz.h"

enum { GZIP_ONLY = 16 + MAX_WBITS };	/* zlib.h, inflateInit2 */

struct gz {
	struct libz	 lib;
	z_stream	 z;
};

static int
gz_open(struct decoder *d, struct fault *f)
{
	struct gz *g = d->state;

	return g->lib.inflateInit2_(&g->z, GZIP_ONLY, ZLIB_VERSION,
	    sizeof(g->z)) == Z_OK ? 0 : fault_errno(f, ENOMEM, "decode=gz");
}

static bool
gz_start(struct decoder *d)
{
	struct gz *g = d->state;

	return g->lib.inflateReset(&g->z) == Z_OK;
}

static enum codec_step
gz_step(struct decoder *d, struct codec_io *io)
{
	struct gz *g = d->state;

	return libz_step(&g->lib, &g->z, d, io);
}

static void
gz_close(struct decoder *d)
{
	struct gz *g = d->state;

	g->lib.inflateEnd(&g->z);
}

/* The last member ends with its length, modulo 4 GiB. */
static int
gz_measure(struct decoder *d, const struct codec_source *s,
    struct codec_measure *m, struct fault *f)
{
	unsigned char length[4];

	(void)d, (void)f;
	if (s->size >= 18 && s->read(s->arg, s->size - 4, length, 4) == 0)
		m->size = codec_number(length, 4);
	return 0;
}
#endif

const struct codec gz_codec = {
	.word = "gz", .bit = DECODE_GZ, .begins = gz_begins,
#ifdef HAVE_LIBZ
	.room = sizeof(struct gz), .library = &libz, .open = gz_open,
	.start = gz_start, .step = gz_step, .close = gz_close,
	.measure = gz_measure,
#endif
};
