/*
 * The table of digests: each chunk finds its own again, whatever the length,
 * the phase and the order of arrival; other ranges have none.
 */
#include "test.h"

#include <xxhash.h>

#include "digest/bmap.h"
#include "digest/digest_table.h"
#include "digest/digester.h"

enum { MOST = 2000, FAR = 100000 };

static const uint64_t chunk = 64;

static unsigned char data[MOST];

static void
fill(void)
{
	size_t i;

	for (i = 0; i < MOST; i++)
		data[i] = (unsigned char)rand();
}

/* Note a copy of length bytes from its end to its beginning, or forwards. */
static void
note_all(struct digest_table *c, size_t length, uint64_t phase, bool backwards)
{
	size_t at = 0, n, starts[MOST], pieces = 0;

	while (at < length) {
		n = (size_t)(chunk - (at + phase) % chunk);
		starts[pieces++] = at;
		at += n < length - at ? n : length - at;
	}
	for (n = 0; n < pieces; n++) {
		size_t i = backwards ? pieces - 1 - n : n;
		size_t to = i + 1 < pieces ? starts[i + 1] : length;

		assert_int_equal(digest_table_note(c, starts[i], data + starts[i],
		    to - starts[i]), 0);
	}
}

static void
finds(const struct digester *by, size_t length, uint64_t phase, bool backwards,
    bool known)
{
	struct digest_table c;
	struct check got;
	struct digest d;
	uint64_t at = 0;
	size_t i;

	assert_int_equal(digest_table_init(&c, known ? length : 0, chunk, phase,
	    by), 0);
	note_all(&c, length, phase, backwards);
	for (i = 0; digest_table_at(&c, i, &got); i++) {
		assert_int_equal(got.off, at);
		assert_int_equal(got.state, CHECK_COPIED);
		assert_true(digest_of(by, data + got.off, (size_t)got.len, &d));
		assert_true(digest_same(&d, &got.digest));
		at += got.len;
	}
	assert_int_equal(at, length);
	assert_int_equal(i, digest_table_count(&c));
	digest_table_free(&c);
}

CASE(every_length_and_phase)
{
	size_t length;
	uint64_t phase;

	fill();
	for (length = 0; length < 4 * chunk; length++)
		for (phase = 0; phase < chunk; phase += 7)
			finds(NULL, length, phase, length % 2 == 0,
			    length % 3 == 0);
}

/* The digest of "abc" is that of FIPS 180-4; of parts it is that of all. */
CASE(sha256_is_kept_whole)
{
	static const struct digest want = { .word = { 0xba7816bf8f01cfea,
		0x414140de5dae2223, 0xb00361a396177a9c, 0xb410ff61f20015ad } };
	struct digester *by;
	struct digester_sum *sum;
	struct digest got;
	struct fault f;
	size_t length;

	fill();
	assert_int_equal(digester_open(&by, "a test", &f), 0);
	assert_true(digest_of(by, "abc", 3, &got));
	assert_true(digest_same(&got, &want));
	sum = digester_begin(by);
	assert_non_null(sum);
	digester_add(sum, "a", 1);
	digester_add(sum, "bc", 2);
	assert_true(digester_end(sum, &got));
	assert_true(digest_same(&got, &want));
	for (length = 0; length < 4 * chunk; length += 5)
		finds(by, length, length % chunk, length % 2 == 0,
		    length % 3 == 0);
	digester_close(by);
}

/* Pieces of a block map, in any order, some of them twice, come out in order. */
CASE(a_block_map_has_the_last_of_each)
{
	struct bmap_table t;
	struct digester *by;
	struct digest want;
	struct fault f;

	fill();
	assert_int_equal(digester_open(&by, "a test", &f), 0);
	bmap_table_init(&t, by);
	assert_int_equal(bmap_table_note(&t, 20, data, 10), 0);
	assert_int_equal(bmap_table_note(&t, 0, data, 20), 0);
	assert_int_equal(bmap_table_note(&t, 20, data + 1, 10), 0);
	assert_true(bmap_table_settle(&t));
	assert_int_equal(t.n, 2);
	assert_int_equal(t.piece[0].off, 0);
	assert_int_equal(t.piece[1].off, 20);
	assert_true(digest_of(by, data + 1, 10, &want));
	assert_true(digest_same(&t.piece[1].digest, &want));
	assert_int_equal(bmap_table_note(&t, 25, data, 10), 0);
	assert_false(bmap_table_settle(&t));
	bmap_table_free(&t);
	digester_close(by);
}

/* Each instruction set gives what the library gives. */
CASE(digests_are_xxh3)
{
	size_t length;

	for (length = 0; length < MOST; length++) {
		XXH128_hash_t want = XXH3_128bits(data, length);
		struct digest got;

		assert_true(digest_of(NULL, data, length, &got));
		assert_true(got.word[1] == want.low64 &&
		    got.word[0] == want.high64 && got.word[2] == 0);
	}
}

CASE(what_was_cut_has_no_digest)
{
	struct digest_table c;
	struct check got;

	assert_int_equal(digest_table_init(&c, 4 * chunk, chunk, 0, NULL), 0);
	assert_int_equal(digest_table_note(&c, chunk, data, chunk / 2), 0);
	assert_true(digest_table_at(&c, 1, &got));
	assert_int_equal(got.state, CHECK_COPIED);
	assert_int_equal(got.len, chunk / 2);
	assert_true(digest_table_at(&c, 0, &got));
	assert_int_equal(got.state, CHECK_NONE);
	/* another one behind it, and it was not the end of the copy */
	assert_int_equal(digest_table_note(&c, 2 * chunk, data, chunk), 0);
	assert_true(digest_table_at(&c, 1, &got));
	assert_int_equal(got.state, CHECK_NONE);
	assert_false(digest_table_at(&c, 3, &got));
	digest_table_free(&c);
}

CASE(what_is_no_chunk_is_left_out)
{
	struct digest_table c;
	struct check got;

	assert_int_equal(digest_table_init(&c, 4 * chunk, chunk, 0, NULL), 0);
	assert_int_equal(digest_table_note(&c, 1, data, chunk - 1), 0);
	assert_int_equal(digest_table_note(&c, 0, data, 0), 0);
	assert_false(digest_table_at(&c, 0, &got));
	digest_table_free(&c);
}

/* A part of one before, a chunk, and a part of the next. */
CASE(each_chunk_of_a_range_has_its_own)
{
	struct digest_table c;
	struct check got;
	struct digest d;

	assert_true(digest_of(NULL, data + 3, chunk, &d));
	assert_int_equal(digest_table_init(&c, 4 * chunk, chunk, 0, NULL), 0);
	assert_int_equal(digest_table_note(&c, chunk - 3, data, chunk + 5), 0);
	assert_true(digest_table_at(&c, 0, &got));
	assert_int_equal(got.state, CHECK_NONE);
	assert_true(digest_table_at(&c, 1, &got));
	assert_int_equal(got.state, CHECK_COPIED);
	assert_true(digest_same(&d, &got.digest));
	assert_true(digest_table_at(&c, 2, &got));
	assert_int_equal(got.state, CHECK_COPIED);
	assert_int_equal(got.len, 2);
	assert_false(digest_table_at(&c, 3, &got));
	digest_table_free(&c);
}

CASE(the_last_note_counts)
{
	struct digest_table c;
	struct check got;
	struct digest d;

	assert_true(digest_of(NULL, data + 1, chunk, &d));
	assert_int_equal(digest_table_init(&c, 0, chunk, 0, NULL), 0);
	assert_int_equal(digest_table_note(&c, 0, data, chunk), 0);
	digest_table_mark(&c, 0, CHECK_DIFFERS);
	assert_true(digest_table_at(&c, 0, &got));
	assert_int_equal(got.state, CHECK_DIFFERS);
	assert_int_equal(digest_table_note(&c, 0, data + 1, chunk), 0);
	assert_true(digest_table_at(&c, 0, &got));
	assert_int_equal(got.state, CHECK_COPIED);
	assert_true(digest_same(&d, &got.digest));
	digest_table_free(&c);
}

/* Holes are copied without a note: what comes of a chunk in parts has none. */
CASE(the_end_is_told)
{
	struct digest_table c;
	struct check got;

	assert_int_equal(digest_table_init(&c, 4 * chunk, chunk, 0, NULL), 0);
	assert_int_equal(digest_table_note(&c, 0, data, chunk), 0);
	assert_int_equal(digest_table_note(&c, chunk, data, chunk / 2), 0);
	assert_true(digest_table_at(&c, 1, &got));
	assert_false(got.whole);
	assert_int_equal(digest_table_end(&c, 4 * chunk), 0);
	assert_int_equal(digest_table_count(&c), 4);
	assert_true(digest_table_at(&c, 0, &got));
	assert_true(got.whole);
	assert_int_equal(got.state, CHECK_COPIED);
	assert_true(digest_table_at(&c, 1, &got));
	assert_int_equal(got.state, CHECK_NONE);
	assert_int_equal(got.len, chunk);
	assert_true(digest_table_at(&c, 3, &got));
	assert_int_equal(got.state, CHECK_NONE);
	assert_false(digest_table_at(&c, 4, &got));
	digest_table_free(&c);
}

/* Far beyond what a table of an unknown length begins with. */
CASE(it_grows)
{
	struct digest_table c;
	struct check got;

	assert_int_equal(digest_table_init(&c, 0, chunk, 5, NULL), 0);
	assert_int_equal(digest_table_note(&c, 0, data, chunk - 5), 0);
	assert_int_equal(digest_table_note(&c, FAR * chunk - 5, data,
	    chunk), 0);
	assert_int_equal(digest_table_count(&c), FAR + 1);
	assert_true(digest_table_at(&c, 0, &got));
	assert_int_equal(got.state, CHECK_COPIED);
	assert_true(digest_table_at(&c, FAR / 2, &got));
	assert_int_equal(got.state, CHECK_NONE);
	digest_table_free(&c);
}

CASE(it_has_an_end)
{
	static const unsigned char byte;
	struct digest_table c;

	assert_int_equal(digest_table_init(&c, 0, 1, 0, NULL), 0);
	assert_int_equal(digest_table_note(&c, CHECKS_MOST, &byte, 1), EFBIG);
	assert_int_equal(digest_table_note(&c, 0, &byte, 1), 0);
	digest_table_free(&c);
}
