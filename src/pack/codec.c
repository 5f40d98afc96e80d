/*
 * What codecs share: how they begin and fail, and how they read numbers.
 */
#include "pack/codec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/library.h"
#include "base/status.h"

enum { PARTS_MOST = 1 << 23 };	/* that are unpacked one by one */

int
codec_open(struct decoder *d, struct fault *f)
{
	const struct codec *c = d->codec;
	char what[16];

	if (c->room == 0)
		return 0;
	snprintf(what, sizeof(what), "decode=%s", c->word);
	d->state = calloc(1, c->room);
	if (d->state == NULL)
		return fault_errno(f, ENOMEM, "%s", what);
	if ((c->library == NULL || library_load(c->library, d->state, what,
	    f) == 0) && (c->open == NULL || c->open(d, f) == 0))
		return 0;
	free(d->state);
	d->state = NULL;
	return -1;
}

void
codec_close(struct decoder *d)
{
	if (d->state != NULL && d->codec->close != NULL)
		d->codec->close(d);
	free(d->state);
	d->state = NULL;
}

enum codec_step
codec_fail(struct decoder *d, int status, const char *fmt, ...)
{
	va_list ap;

	d->status = status;
	va_start(ap, fmt);
	vsnprintf(d->why, sizeof(d->why), fmt, ap);
	va_end(ap);
	return CODEC_FAILED;
}

enum codec_step
codec_starve(struct decoder *d)
{
	return codec_fail(d, STATUS_REFUSED, "needs more memory than there is "
	    "to unpack it");
}

void
codec_part_add(struct codec_measure *m, uint64_t size, uint64_t from,
    uint64_t length, uint64_t head)
{
	struct codec_part *part = m->part;
	uint64_t n = m->parts;

	if (size == 0 || n == PARTS_MOST)
		part = NULL;
	else if ((n & (n - 1)) == 0 && (n == 0 || part != NULL))
		part = reallocarray(part, n == 0 ? 1 : 2 * (size_t)n,
		    sizeof(*part));
	if (part != NULL)
		part[n] = (struct codec_part){ m->size, size, from, length,
			head };
	else
		free(m->part);
	m->part = part;
	m->parts++;
	m->size += size;
}

uint64_t
codec_number(const unsigned char *at, size_t n)
{
	uint64_t sum = 0;

	while (n-- > 0)
		sum = sum << 8 | at[n];
	return sum;
}
