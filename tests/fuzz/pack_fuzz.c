/*
 * Any bytes as an archive, as frames, and as a member of each format: what is
 * unpacked stays within its buffers, comes to an end, is the same in pieces of
 * any size, and of an archive as long as its directory says; a gz holds what
 * zlib says; the walk along frames ends, whatever they say.  Run by
 * tests/fuzz/run.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "input.h"
#include "pack/codec.h"

enum {
	CHOICES = 2,		/* bytes of an input before the data */
	MEMORY = 16 << 20,	/* bytes of mem= */
	ROOM = 4096,		/* bytes that are made at a time, at most */
};

enum kind { ZST_FRAMES, LZ4_FRAMES, ZIP, MADE, GZ = MADE, XZ, ZST, BZ2, LZ4,
	KINDS };

static const unsigned bits[KINDS] = { [ZIP] = DECODE_ZIP, [GZ] = DECODE_GZ,
	[XZ] = DECODE_XZ, [ZST] = DECODE_ZST, [BZ2] = DECODE_BZ2,
	[LZ4] = DECODE_LZ4 };

struct bytes {
	const uint8_t	*at;
	size_t		 n;
};

static int
bytes_read(void *arg, uint64_t off, void *buf, size_t len)
{
	const struct bytes *b = arg;

	if (off > b->n || len > b->n - off)
		abort();
	memcpy(buf, b->at + off, len);
	return 0;
}

static void
try_frames(const struct codec_source *from, bool lz4)
{
	struct decoder d = { .codec = codec_named(lz4 ? DECODE_LZ4 :
		DECODE_ZST) };
	struct codec_measure m = { 0 };
	struct fault f;
	uint64_t at = 0, i;

	frames_measure(&d, from, &m, &f);
	if (m.exact != (m.parts > 0) || (m.part != NULL && !m.exact))
		abort();
	for (i = 0; m.part != NULL && i < m.parts; i++) {
		if (m.part[i].at != at || m.part[i].size == 0 ||
		    m.part[i].from > from->size ||
		    m.part[i].length > from->size - m.part[i].from)
			abort();
		at += m.part[i].size;
	}
	if (m.part != NULL && at != m.size)
		abort();
	free(m.part);
	fuzz_taken += m.exact;
}

struct made {			/* of an input */
	bool		 ended;	/* well */
	uint64_t	 size;	/* bytes, */
	uint64_t	 sum;	/* and a sum of them */
	size_t		 left;	/* bytes behind it */
};

static void
made_add(struct made *m, const unsigned char *at, size_t n)
{
	m->size += n;
	while (n-- > 0)
		m->sum = (m->sum ^ *at++) * UINT64_C(0x100000001b3);
}

/* Unpack in pieces of so many bytes, into so much room. */
static struct made
unpack(struct decoder *d, const struct bytes *b, size_t piece, size_t room)
{
	enum codec_step step = CODEC_GOES_ON;
	struct made m = { .sum = 1 };
	size_t at = 0, idle = 0;
	unsigned char *out = malloc(room);

	while (step == CODEC_GOES_ON && idle < 8) {
		size_t n = b->n - at < piece ? b->n - at : piece;
		unsigned char *in = malloc(n > 0 ? n : 1);
		struct codec_io io = { in, n, out, room, at + n == b->n };

		if (in == NULL || out == NULL)
			abort();
		memcpy(in, b->at + at, n);
		step = d->codec->step(d, &io);
		if (io.in_len > n || io.out_len > room)
			abort();
		at += n - io.in_len;
		made_add(&m, out, room - io.out_len);
		idle = io.in_len == n && io.out_len == room ? idle + 1 : 0;
		free(in);
	}
	free(out);
	m.left = b->n - at;
	if (step == CODEC_FAILED && (d->status == 0 || d->why[0] == '\0'))
		abort();
	m.ended = step == CODEC_ENDED;
	return m;
}

static bool
same(const struct made *a, const struct made *b)
{
	return a->ended == b->ended && (!a->ended || (a->size == b->size &&
	    a->sum == b->sum && a->left == b->left));
}

static void
try_zip(const struct codec_source *from, struct bytes *b, size_t piece)
{
	struct decoder d = { .codec = codec_named(DECODE_ZIP) };
	struct codec_measure m = { 0 };
	struct fault f = { 0 };
	struct made made;

	if (codec_open(&d, &f) != 0)
		abort();
	if (d.codec->measure(&d, from, &m, &f) != 0)
		fuzz_failed(&f);
	else {
		made = unpack(&d, b, piece, 32);
		fuzz_taken += made.ended;
		if (made.ended && made.left == 0 && m.exact &&
		    m.size != made.size)
			abort();
	}
	codec_close(&d);
}

#ifdef HAVE_LIBZ
#include "src/pack/libz.h"

/* What zlib says, which has all of it at once. */
static struct made
by_zlib(const struct bytes *b)
{
	static struct libz lib;
	struct made m = { .sum = 1 };
	unsigned char out[ROOM];
	z_stream z = { .next_in = b->at, .avail_in = (uInt)b->n };
	struct fault f;
	int result;

	if ((lib.inflate == NULL && library_load(&libz, &lib, "zlib", &f) !=
	    0) || lib.inflateInit2_(&z, 16 + MAX_WBITS, ZLIB_VERSION,
	    sizeof(z)) != Z_OK)
		abort();
	do {
		z.next_out = out;
		z.avail_out = sizeof(out);
		result = lib.inflate(&z, Z_NO_FLUSH);
		made_add(&m, out, sizeof(out) - z.avail_out);
	} while (result == Z_OK);
	lib.inflateEnd(&z);
	m.ended = result == Z_STREAM_END;
	m.left = z.avail_in;
	return m;
}
#else
#define by_zlib(b)	made
#endif

/* One decoder of each format unpacks one member after the other. */
static void
try_member(enum kind kind, const struct bytes *b, size_t piece)
{
	static struct decoder of[KINDS];
	struct decoder *d = &of[kind];
	struct made made, other;
	struct fault f;

	if (d->codec == NULL)
		*d = (struct decoder){ .codec = codec_named(bits[kind]),
			.memory = MEMORY, .threads = 1 };
	if (d->codec->step == NULL || !d->codec->begins(b->at, b->n))
		return;
	if ((d->state == NULL && codec_open(d, &f) != 0) || !d->codec->start(d))
		abort();
	made = unpack(d, b, piece, 32);
	if (!d->codec->start(d))
		abort();
	other = unpack(d, b, b->n, ROOM);
	if (!same(&made, &other))
		abort();
	if (kind == GZ)
		other = by_zlib(b);
	if (!same(&made, &other))
		abort();
	fuzz_taken += made.ended;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data + CHOICES, size - CHOICES };
	const struct codec_source from = { bytes_read, &b, "x", b.n, true };

	if (size < CHOICES)
		return 0;
	fuzz_within(20);
	if (data[0] % KINDS <= LZ4_FRAMES)
		try_frames(&from, data[0] % KINDS == LZ4_FRAMES);
	else if (data[0] % KINDS == ZIP)
		try_zip(&from, &b, 1 + (size_t)data[1]);
	else
		try_member(data[0] % KINDS, &b, 1 + (size_t)data[1]);
	fuzz_within(0);
	return 0;
}

/* --- what almost is one ------------------------------------------------- */

static void
put(struct input *in, uint64_t number, size_t n)
{
	for (; n > 0 && in->n < INPUT_MOST; n--, number >>= 8)
		in->bytes[in->n++] = (uint8_t)number;
}

static uint32_t
crc_of(const uint8_t *at, size_t n)
{
	uint32_t crc = UINT32_MAX;
	int bit;

	while (n-- > 0)
		for (crc ^= *at++, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320 & -(crc & 1));
	return ~crc;
}

/* The seek table of what is before it. */
static void
make_table(struct input *in, const size_t *length, const size_t *size,
    size_t n, bool checked)
{
	size_t i;

	put(in, 0x184d2a5e, 4);
	put(in, n * (checked ? 12 : 8) + 9, 4);
	for (i = 0; i < n; i++) {
		put(in, length[i], 4);
		put(in, size[i], 4);
		put(in, 0, checked ? 4 : 0);
	}
	put(in, n, 4);
	put(in, checked ? 0x80 : 0, 1);
	put(in, 0x8f92eab1, 4);
}

/* A few frames of one raw block each. */
static void
make_frames(struct input *in, uint64_t *dice, bool lz4)
{
	size_t i, n, length[4], size[4], frames = 1 + input_roll(dice, 4);

	for (i = 0; i < frames; i++) {
		n = size[i] = input_roll(dice, 200);
		length[i] = in->n;
		if (input_roll(dice, 4) == 0) {
			put(in, 0x184d2a50, 4);
			put(in, n, 4);
		} else if (lz4) {
			put(in, 0x184d2204, 4);
			put(in, 0x4068, 2);
			put(in, n, 8);
			put(in, 0, 1);
			put(in, n | 0x80000000, 4);
		} else {
			put(in, 0xfd2fb528, 4);
			put(in, 0xa0, 1);
			put(in, n, 4);
			put(in, n << 3 | 1, 3);
		}
		while (n-- > 0)
			put(in, 'x', 1);
		if (lz4)
			put(in, 0, 4);
		length[i] = in->n - length[i];
	}
	if (!lz4 && input_roll(dice, 2) == 0)
		make_table(in, length, size, frames, input_roll(dice, 2) == 0);
}

/* The fields that a local header and the directory have in common. */
static void
put_entry(struct input *in, unsigned flags, unsigned method, uint32_t crc,
    size_t packed, size_t size)
{
	put(in, 20, 2);
	put(in, flags, 2);
	put(in, method, 2);
	put(in, 0, 4);
	put(in, crc, 4);
	put(in, packed, 4);
	put(in, size, 4);
	put(in, 1, 2);
	put(in, 0, 2);
}

static void
make_zip(struct input *in, uint64_t *dice)
{
	bool deflated = input_roll(dice, 2) == 0;
	bool behind = deflated && input_roll(dice, 2) == 0;
	size_t n = 1 + input_roll(dice, 300), packed = deflated ? n + 5 : n;
	unsigned method = deflated ? 8 : 0, flags = behind ? 8 : 0;
	uint8_t data[300];
	uint32_t crc;
	size_t at;

	memset(data, 'a' + (int)input_roll(dice, 20), n);
	crc = crc_of(data, n);
	put(in, 0x04034b50, 4);
	put_entry(in, flags, method, behind ? 0 : crc, behind ? 0 : packed,
	    behind ? 0 : n);
	put(in, 'f', 1);
	if (deflated) {
		put(in, 1, 1);
		put(in, n | (~n & 0xffff) << 16, 4);
	}
	for (at = 0; at < n; at++)
		put(in, data[at], 1);
	if (behind) {
		put(in, 0x08074b50, 4);
		put(in, crc, 4);
		put(in, packed, 4);
		put(in, n, 4);
	}
	at = in->n - CHOICES;
	put(in, 0x02014b50, 4);
	put(in, 20, 2);
	put_entry(in, flags, method, crc, packed, n);
	put(in, 0, 14);
	put(in, 'f', 1);
	put(in, 0x06054b50, 4);
	put(in, 0, 4);
	put(in, 0x00010001, 4);
	put(in, 47, 4);
	put(in, at, 4);
	put(in, 0, 2);
}

void
fuzz_make(struct input *in, uint64_t *dice)
{
	unsigned kind = (unsigned)input_roll(dice, MADE);

	put(in, kind, 1);
	put(in, input_roll(dice, 256), 1);
	if (kind != ZIP)
		make_frames(in, dice, kind == LZ4_FRAMES);
	else
		make_zip(in, dice);
}
