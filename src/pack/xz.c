/*
 * xz, by liblzma.  If a stream has several blocks that say how long they are,
 * the library unpacks them in threads of its own.
 */
#include "config.h"

#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/library.h"
#include "base/status.h"
#include "cli/opts.h"

static bool
xz_begins(const unsigned char *head, size_t n)
{
	return n >= 6 && memcmp(head, "\xfd" "7zXZ\0", 6) == 0;
}

#ifdef HAVE_LIBLZMA
#include <lzma.h>

enum {
	THREADS_MEMORY = 256 << 20,	/* bytes, without mem= */
	LEAST_MEMORY = 128 << 20,	/* what xz -9 needs is never refused */
	LOOK_CHUNK = 64 << 10,	/* bytes read at a time, */
	LOOK_LEAST = 512,	/* and next to what cannot be read */
	LOOK_MOST = 64 << 20,	/* bytes read for the size */
};

#define LIBLZMA_FUNCTIONS(X) \
	X(lzma_stream_decoder_mt) X(lzma_code) X(lzma_end) X(lzma_memusage) \
	X(lzma_stream_decoder) X(lzma_file_info_decoder) \
	X(lzma_index_iter_init) X(lzma_index_iter_next) X(lzma_index_end)

LIBRARY_STATIC(liblzma, "liblzma.so.5", "liblzma5", LIBLZMA_FUNCTIONS);

struct xz {
	struct liblzma	 lib;
	lzma_stream	 s;
};

static bool
xz_start(struct decoder *d)
{
	struct xz *x = d->state;
	lzma_mt how = { .flags = LZMA_TELL_UNSUPPORTED_CHECK,
		.threads = d->threads,
		.memlimit_threading = d->memory > 0 ? d->memory :
		THREADS_MEMORY,
		.memlimit_stop = d->memory > 0 ? MAX(d->memory, LEAST_MEMORY) :
		UINT64_MAX };

	if ((how.threads == 1 ? x->lib.lzma_stream_decoder(&x->s,
	    how.memlimit_stop, how.flags) : x->lib.lzma_stream_decoder_mt(
	    &x->s, &how)) == LZMA_OK)
		return true;
	codec_starve(d);
	return false;
}

static enum codec_step
xz_step(struct decoder *d, struct codec_io *io)
{
	struct xz *x = d->state;
	lzma_ret ret;

	x->s.next_in = io->in;
	x->s.avail_in = io->in_len;
	x->s.next_out = io->out;
	x->s.avail_out = io->out_len;
	ret = x->lib.lzma_code(&x->s, io->last ? LZMA_FINISH : LZMA_RUN);
	d->held = x->lib.lzma_memusage(&x->s);
	io->in = x->s.next_in;
	io->in_len = x->s.avail_in;
	io->out = x->s.next_out;
	io->out_len = x->s.avail_out;
	switch (ret) {
	case LZMA_OK:
	case LZMA_BUF_ERROR:
		return CODEC_GOES_ON;
	case LZMA_STREAM_END:
		return CODEC_ENDED;
	case LZMA_MEM_ERROR:
		return codec_starve(d);
	case LZMA_MEMLIMIT_ERROR:
		/* lzma_memusage does not count the block that does not fit */
		return codec_fail(d, STATUS_REFUSED, "needs more memory to "
		    "unpack it than mem= allows; a larger mem= allows that");
	case LZMA_UNSUPPORTED_CHECK:
		return codec_fail(d, STATUS_REFUSED, "has check values of a "
		    "kind that liblzma does not know");
	case LZMA_OPTIONS_ERROR:
		return codec_fail(d, STATUS_MISMATCH, "is damaged, or needs "
		    "a newer liblzma");
	default:
		return codec_fail(d, STATUS_MISMATCH, "is damaged: its bytes "
		    "or their check values are wrong");
	}
}

static void
xz_close(struct decoder *d)
{
	struct xz *x = d->state;

	x->lib.lzma_end(&x->s);
}

/* Hand the library what it asks for, from the places that it names. */
static lzma_ret
xz_look(struct xz *x, lzma_stream *s, const struct codec_source *from,
    unsigned char *buf)
{
	uint64_t at = 0, sum = 0;
	size_t n;
	int err;
	lzma_ret ret = LZMA_OK;

	while ((ret == LZMA_OK || ret == LZMA_SEEK_NEEDED) && sum < LOOK_MOST) {
		if (ret == LZMA_SEEK_NEEDED) {
			at = s->seek_pos;
			s->avail_in = 0;
		}
		n = (size_t)MIN(LOOK_CHUNK, at < from->size ? from->size - at :
		    0);
		if (s->avail_in == 0 && n > 0) {
			/* what is bad may be behind what it wants */
			while ((err = from->read(from->arg, at, buf, n)) != 0 &&
			    n > LOOK_LEAST)
				n /= 2;
			if (err != 0)
				return LZMA_DATA_ERROR;
			s->next_in = buf;
			s->avail_in = n;
			at += n;
			sum += n;
		}
		ret = x->lib.lzma_code(s, LZMA_RUN);
	}
	return ret;
}

/* A block is unpacked behind the head of its stream. */
static void
xz_parts(const struct xz *x, const lzma_index *index, struct codec_measure *m)
{
	lzma_index_iter i;

	x->lib.lzma_index_iter_init(&i, index);
	while (!x->lib.lzma_index_iter_next(&i, LZMA_INDEX_ITER_BLOCK))
		codec_part_add(m, i.block.uncompressed_size,
		    i.block.compressed_file_offset, i.block.total_size,
		    i.stream.compressed_offset);
}

static int
xz_measure(struct decoder *d, const struct codec_source *from,
    struct codec_measure *m, struct fault *f)
{
	struct xz *x = d->state;
	unsigned char *buf = malloc(LOOK_CHUNK);
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_index *index = NULL;

	if (buf == NULL)
		return fault_errno(f, ENOMEM, "decode=xz");
	if (x->lib.lzma_file_info_decoder(&s, &index, LOOK_MOST, from->size) ==
	    LZMA_OK && xz_look(x, &s, from, buf) == LZMA_STREAM_END) {
		xz_parts(x, index, m);
		m->exact = true;
	}
	x->lib.lzma_index_end(index, NULL);
	x->lib.lzma_end(&s);
	free(buf);
	return 0;
}
#endif

const struct codec xz_codec = {
	.word = "xz", .bit = DECODE_XZ, .begins = xz_begins, .gap = 4,
#ifdef HAVE_LIBLZMA
	.room = sizeof(struct xz), .library = &liblzma, .start = xz_start,
	.step = xz_step, .close = xz_close, .measure = xz_measure,
#endif
};
