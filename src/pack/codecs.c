/*
 * The table of formats.
 */
#include "pack/codec.h"

#include <string.h>
#include <sys/param.h>

#include "rows.h"

static bool
plain_begins(const unsigned char *head, size_t n)
{
	(void)head;
	return n > 0;
}

static enum codec_step
plain_step(struct decoder *d, struct codec_io *io)
{
	size_t n = MIN(io->in_len, io->out_len);

	(void)d;
	memcpy(io->out, io->in, n);
	codec_moved(io, n, n);
	return io->last && io->in_len == 0 ? CODEC_ENDED : CODEC_GOES_ON;
}

static const struct codec plain = {
	.word = "none", .begins = plain_begins, .step = plain_step,
	.single = true,
};

static const struct codec *const codecs[] = {
	&gz_codec, &xz_codec, &zst_codec, &bz2_codec, &lz4_codec, &zip_codec,
};

enum { CODECS = sizeof(codecs) / sizeof(codecs[0]) };

const struct codec *
codec_named(unsigned bit)
{
	size_t i;

	for (i = 0; i < CODECS; i++)
		if (codecs[i]->bit == bit)
			return codecs[i];
	return &plain;
}

const struct codec *
codec_found(const unsigned char *head, size_t n)
{
	size_t i;

	for (i = 0; i < CODECS; i++)
		if (codecs[i]->begins(head, n))
			return codecs[i];
	return NULL;
}
