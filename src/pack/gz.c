/*
 * gzip (RFC 1952), by zlib, which checks the CRC and the length of a member; if
 * ISA-L is there, it does that behind the header, in half the time.  Not on
 * ARM, where it is slower, and until 2.32 refuses what is right.
 */
#include "config.h"

#include "rows.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "base/status.h"
#include "cli/opts.h"

static bool
gz_begins(const unsigned char *head, size_t n)
{
	return n >= 3 && memcmp(head, "\x1f\x8b\x08", 3) == 0;
}

#ifdef HAVE_LIBZ
#include "libz.h"

#if defined(HAVE_LIBISAL) && defined(__x86_64__)
#include <isa-l/igzip_lib.h>

#define LIBISAL_FUNCTIONS(X)	X(isal_inflate_init) X(isal_inflate)

static const struct library libisal = LIBRARY("libisal.so.2", "libisal2",
    LIBISAL_FUNCTIONS(LIBRARY_NAME));

struct fast {
	LIBISAL_FUNCTIONS(LIBRARY_MEMBER)
	struct inflate_state body;
};

static bool
fast_open(struct fast *g)
{
	struct fault f;

	return library_load(&libisal, g, "decode=gz", &f) == 0;
}

static bool
fast_begin(struct fast *g)
{
	g->isal_inflate_init(&g->body);
	g->body.crc_flag = ISAL_GZIP_NO_HDR_VER;
	return true;
}

static enum codec_step
fast_step(struct fast *g, struct decoder *d, struct codec_io *io)
{
	uint32_t in = (uint32_t)MIN(io->in_len, UINT32_MAX);
	uint32_t out = (uint32_t)MIN(io->out_len, UINT32_MAX);
	int result;

	memcpy(&g->body.next_in, &io->in, sizeof(io->in));
	g->body.avail_in = in;
	g->body.next_out = io->out;
	g->body.avail_out = out;
	result = g->isal_inflate(&g->body);
	/* if it fails, it may have counted a byte that was not there */
	codec_moved(io, result < 0 ? 0 : in - g->body.avail_in, out -
	    g->body.avail_out);
	if (result < 0)
		return codec_fail(d, STATUS_MISMATCH, "is damaged: %s", result
		    == ISAL_INCORRECT_CHECKSUM ? "incorrect data check" :
		    "invalid data");
	return g->body.block_state == ISAL_BLOCK_FINISH ? CODEC_ENDED :
	    CODEC_GOES_ON;
}
#else
struct fast { };
#define fast_open(fast)		false
#define fast_begin(fast)	false
#define fast_step(fast, d, io)	CODEC_FAILED
#endif

enum {				/* zlib.h */
	GZIP_ONLY = 16 + MAX_WBITS,	/* inflateInit2 */
	BEHIND = 128,		/* data_type: before a block */
};

struct gz {
	struct libz	 lib;
	z_stream	 z;
	struct fast	 fast;
	bool		 is_fast;	/* it is there */
	bool		 within;	/* behind the header of a member */
};

static int
gz_open(struct decoder *d, struct fault *f)
{
	struct gz *g = d->state;

	g->is_fast = fast_open(&g->fast);
	return g->lib.inflateInit2_(&g->z, GZIP_ONLY, ZLIB_VERSION,
	    sizeof(g->z)) == Z_OK ? 0 : fault_errno(f, ENOMEM, "decode=gz");
}

static bool
gz_start(struct decoder *d)
{
	struct gz *g = d->state;

	g->within = false;
	return g->lib.inflateReset(&g->z) == Z_OK;
}

static enum codec_step
gz_step(struct decoder *d, struct codec_io *io)
{
	struct gz *g = d->state;
	enum codec_step step;

	if (g->within)
		return fast_step(&g->fast, d, io);
	step = libz_step(&g->lib, &g->z, g->is_fast ? Z_BLOCK : Z_NO_FLUSH, d,
	    io);
	if (g->is_fast && (g->z.data_type & BEHIND) != 0)
		g->within = fast_begin(&g->fast);
	return step;
}

static void
gz_close(struct decoder *d)
{
	struct gz *g = d->state;

	g->lib.inflateEnd(&g->z);
}

/* A whole one ends with its length, modulo 4 GiB: of a byte 1032 at most. */
static int
gz_measure(struct decoder *d, const struct codec_source *s,
    struct codec_measure *m, struct fault *f)
{
	unsigned char length[4];

	(void)d, (void)f;
	if (s->size >= 18 && s->read(s->arg, s->size - 4, length, 4) == 0 &&
	    codec_number(length, 4) / 1032 <= s->size)
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
