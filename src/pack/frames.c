/*
 * The frames of zstd (RFC 8878, 3.1.1) and lz4 (lz4_Frame_format.md), by the
 * headers of frames and blocks, which say how long each is.  Nothing is
 * unpacked, and no number is believed beyond its use: the walk ends where
 * something is odd, and what is there is found out when it is unpacked.
 */
#include "pack/codec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/number.h"
#include "cli/opts.h"

enum {
	TABLE_HEAD = 8, TABLE_FOOT = 9,	/* bytes around the seek table, */
	TABLE_MOST = 1 << 23,	/* and its entries */
	HEADS_NEAR = 1 << 17,	/* headers that are read at most, */
	HEADS_FAR = 2,		/* and where each takes its time */
	HEAD = 20,		/* bytes of the longest one */
	ZEROS_FIRST = 64 << 10,	/* bytes read first, behind the end, */
	ZEROS_LARGE = 4 << 20,	/* at a time, for each read may be slow, */
	ZEROS_MOST = 64 << 20,	/* and in all; as for xz */
};

struct walk {
	const struct codec_source *from;
	uint64_t	 at;	/* of the next header */
	unsigned	 heads;	/* that may still be read */
	unsigned char	 head[HEAD];	/* the last one, zeros behind it */
	size_t		 n;	/* its bytes */
};

static bool
frame_skipped(const unsigned char *head, size_t n)
{
	return n >= 4 && (head[0] & 0xf0) == 0x50 &&
	    memcmp(head + 1, "\x2a\x4d\x18", 3) == 0;
}

static bool
frame_own(const unsigned char *head, size_t n, bool lz4)
{
	return n >= 4 && memcmp(head, lz4 ? "\x04\x22\x4d\x18" :
	    "\x28\xb5\x2f\xfd", 4) == 0;
}

/* What both formats skip is of either, unless the other's frame is behind it:
 * zstd comes first in the table. */
bool
frames_begin(const unsigned char *head, size_t n, bool lz4)
{
	size_t at = 0;

	while (at < n && n - at >= 8 && frame_skipped(head + at, n - at) &&
	    codec_number(head + at + 4, 4) < n - at - 8)
		at += 8 + (size_t)codec_number(head + at + 4, 4);
	return frame_own(head + at, n - at, lz4) || frame_skipped(head + at,
	    n - at) || (at > 0 && !frame_own(head + at, n - at, !lz4));
}

/* Read the header at the place of the walk; false: there is none. */
static bool
walk_head(struct walk *w)
{
	uint64_t left = w->at < w->from->size ? w->from->size - w->at : 0;

	w->n = (size_t)MIN(left, HEAD);
	memset(w->head, 0, HEAD);
	return w->heads-- > 0 && w->n > 0 && w->from->read(w->from->arg,
	    w->at, w->head, w->n) == 0;
}

/* Advance; false: that would be behind the end. */
static bool
walk_on(struct walk *w, uint64_t bytes)
{
	if (bytes > w->from->size - w->at)
		return false;
	w->at += bytes;
	return true;
}

/* The blocks of a frame, and what is behind them. */
static bool
walk_blocks(struct walk *w, bool lz4, size_t each, size_t behind)
{
	uint64_t size, head;
	bool last = false;

	while (!last) {
		if (!walk_head(w) || w->n < (lz4 ? 4 : 3))
			return false;
		head = codec_number(w->head, lz4 ? 4 : 3);
		if (lz4) {
			last = head == 0;
			size = last ? 4 : 4 + (head & 0x7fffffff) + each;
		} else {
			last = (head & 1) != 0;
			size = 3 + ((head >> 1 & 3) == 1 ? 1 : head >> 3);
		}
		if (!walk_on(w, size))
			return false;
	}
	return walk_on(w, behind);
}

/*
 * The header of a zstd frame: how long it is, and how long the content is.
 * False: it does not say.
 */
static bool
zst_head(const struct walk *w, size_t *length, uint64_t *size)
{
	static const size_t sizes[] = { 0, 2, 4, 8 }, ids[] = { 0, 1, 2, 4 };
	unsigned flags = w->head[4];
	bool whole = (flags >> 5 & 1) != 0;
	size_t n = flags >> 6 == 0 ? whole : sizes[flags >> 6];
	size_t at = (whole ? 5 : 6) + ids[flags & 3];

	*length = at + n;
	*size = codec_number(w->head + at, n) + (n == 2 ? 256 : 0);
	return n > 0 && *length <= w->n;
}

static bool
lz4_head(const struct walk *w, size_t *length, uint64_t *size)
{
	unsigned flags = w->head[4];

	*length = 7 + (flags & 8) + (flags & 1) * 4;
	*size = codec_number(w->head + 6, 8);
	return (flags & 8) != 0 && *length <= w->n;
}

/* A frame whose header has just been read.  False: it is odd, or too long. */
static bool
walk_frame(struct walk *w, bool lz4, struct codec_measure *m)
{
	unsigned flags = w->head[4];
	bool known;
	size_t length;
	uint64_t size, from = w->at, sum;

	if (frame_skipped(w->head, w->n))
		return w->n >= 8 && walk_on(w, 8 + codec_number(w->head + 4,
		    4));
	known = frame_own(w->head, w->n, lz4) && (lz4 ?
	    lz4_head(w, &length, &size) : zst_head(w, &length, &size));
	if (!known || __builtin_add_overflow(m->size, size, &sum))
		return false;
	if (!walk_on(w, length) || !walk_blocks(w, lz4, lz4 && (flags & 16) !=
	    0 ? 4 : 0, (flags & 4) != 0 ? 4 : 0)) {
		m->size = sum;
		return false;
	}
	codec_part_add(m, size, from, w->at - from, NO_HEAD);
	return true;
}

/* Its entries, which must be of all that is before it. */
static bool
seek_parts(const unsigned char *entry, size_t n, size_t each, uint64_t before,
    struct codec_measure *m)
{
	uint64_t at = 0, length, size;

	for (; n > 0; n--, entry += each, at += length) {
		length = codec_number(entry, 4);
		size = codec_number(entry + 4, 4);
		if (length == 0 || length > before - at)
			return false;
		codec_part_add(m, size, at, length, NO_HEAD);
	}
	return at == before;
}

/* Where the zeros at the end begin; too many to look at are not zeros. */
static uint64_t
zeros_from(const struct codec_source *from)
{
	unsigned char *buf = malloc((size_t)MIN(ZEROS_LARGE, from->size));
	uint64_t at = from->size, least = at - MIN(at, ZEROS_MOST), end = at;
	size_t n, chunk = ZEROS_FIRST;

	while (buf != NULL && at > least) {
		n = (size_t)MIN(chunk, at - least);
		if (from->read(from->arg, at - n, buf, n) != 0)
			break;
		if (all_zero(buf, n)) {
			at -= n;
			chunk = MIN(2 * chunk, ZEROS_LARGE);
			continue;
		}
		for (; buf[n - 1] == 0; n--)
			at--;
		end = at;
		break;
	}
	free(buf);
	return end;
}

/*
 * The table at the end of the "seekable format" of zstd
 * (zstd_seekable_compression_format.md).  What it says of a frame is found
 * right or wrong when that is unpacked.
 */
static bool
seek_table(const struct codec_source *from, uint64_t end,
    struct codec_measure *m)
{
	unsigned char foot[TABLE_FOOT], *table;
	size_t n, each, length;
	bool right;

	if (end < TABLE_FOOT || from->read(from->arg, end - TABLE_FOOT, foot,
	    TABLE_FOOT) != 0 ||
	    memcmp(foot + 5, "\xb1\xea\x92\x8f", 4) != 0 || (foot[4] &
	    0x7c) != 0 || codec_number(foot, 4) > TABLE_MOST)
		return false;
	n = (size_t)codec_number(foot, 4);
	each = (foot[4] & 0x80) != 0 ? 12 : 8;
	length = TABLE_HEAD + n * each + TABLE_FOOT;
	if (length > end || (table = malloc(length)) == NULL)
		return false;
	right = from->read(from->arg, end - length, table, length) == 0 &&
	    memcmp(table, "\x5e\x2a\x4d\x18", 4) == 0 &&
	    codec_number(table + 4, 4) == length - TABLE_HEAD &&
	    seek_parts(table + TABLE_HEAD, n, each, end - length, m);
	free(table);
	m->exact = right && n > 0;
	return m->exact;
}

int
frames_measure(struct decoder *d, const struct codec_source *from,
    struct codec_measure *m, struct fault *f)
{
	bool lz4 = d->codec->bit == DECODE_LZ4;
	struct walk w = { .from = from, .heads = from->near ? HEADS_NEAR :
		HEADS_FAR };
	uint64_t end = zeros_from(from);
	bool padding = false, odd = false;

	(void)f;
	if (!lz4 && seek_table(from, end, m))
		return 0;
	free(m->part);
	memset(m, 0, sizeof(*m));
	while (w.at < from->size && !odd && !padding) {
		odd = !walk_head(&w);
		padding = !odd && w.head[0] == 0 && m->parts > 0;
		odd = odd || (!padding && !walk_frame(&w, lz4, m));
	}
	m->exact = !odd && m->parts > 0;
	if (m->exact && (!padding || w.at >= end))
		return 0;
	free(m->part);		/* all has to be looked at */
	m->part = NULL;
	m->parts = m->exact ? m->parts : 0;
	return 0;
}
