/*
 * bzip2, by libbz2.
 */
#include "config.h"

#include "rows.h"

#include <limits.h>
#include <string.h>
#include <sys/param.h>

#include "base/library.h"
#include "base/status.h"
#include "cli/opts.h"

/* A level, and then a block or the end. */
static bool
bz2_begins(const unsigned char *head, size_t n)
{
	return n >= 10 && memcmp(head, "BZh", 3) == 0 && head[3] >= '1' &&
	    head[3] <= '9' && (memcmp(head + 4, "1AY&SY", 6) == 0 ||
	    memcmp(head + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

#ifdef HAVE_LIBBZ2
#include <bzlib.h>

#define LIBBZ2_FUNCTIONS(X) \
	X(BZ2_bzDecompressInit) X(BZ2_bzDecompress) X(BZ2_bzDecompressEnd)

LIBRARY_STATIC(libbz2, "libbz2.so.1.0", "libbz2-1.0", LIBBZ2_FUNCTIONS);

struct bz2 {
	struct libbz2	 lib;
	bz_stream	 s;
	bool		 begun;
};

static void
bz2_stop(struct decoder *d)
{
	struct bz2 *b = d->state;

	if (b->begun)
		b->lib.BZ2_bzDecompressEnd(&b->s);
	b->begun = false;
}

static bool
bz2_start(struct decoder *d)
{
	struct bz2 *b = d->state;

	bz2_stop(d);
	b->begun = b->lib.BZ2_bzDecompressInit(&b->s, 0, 0) == BZ_OK;
	if (!b->begun)
		codec_starve(d);
	return b->begun;
}

static enum codec_step
bz2_step(struct decoder *d, struct codec_io *io)
{
	struct bz2 *b = d->state;
	unsigned in = (unsigned)MIN(io->in_len, UINT_MAX);
	unsigned out = (unsigned)MIN(io->out_len, UINT_MAX);
	int result;

	/* what libbz2 only reads it does not declare const */
	memcpy(&b->s.next_in, &io->in, sizeof(io->in));
	b->s.avail_in = in;
	b->s.next_out = (char *)io->out;
	b->s.avail_out = out;
	result = b->lib.BZ2_bzDecompress(&b->s);
	codec_moved(io, in - b->s.avail_in, out - b->s.avail_out);
	switch (result) {
	case BZ_OK:
		return CODEC_GOES_ON;
	case BZ_STREAM_END:
		return CODEC_ENDED;
	case BZ_MEM_ERROR:
		return codec_starve(d);
	default:
		return codec_fail(d, STATUS_MISMATCH, "is damaged: its bytes "
		    "or their check values are wrong");
	}
}
#endif

const struct codec bz2_codec = {
	.word = "bz2", .bit = DECODE_BZ2, .begins = bz2_begins,
#ifdef HAVE_LIBBZ2
	.room = sizeof(struct bz2), .library = &libbz2,
	.start = bz2_start, .step = bz2_step, .close = bz2_stop,
#endif
};
