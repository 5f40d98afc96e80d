/*
 * The map: it always covers the whole copy, assigns each byte once, and joins
 * equal neighbours.  It is checked against a plain array of bytes.
 */
#include "test.h"

#include <pthread.h>

#include "../../src/map/leaves.h"
#include "map/map.h"

enum { SIZE = 1000, THREADS = 8 };
/*
 * How many ranges are many, sets of dice, and changes between two looks at all
 * of a large map; sanitizers are slow, and see as much in fewer.
 */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { MANY = 100000, SETS = 60, PAUSE = 2500 };
#else
enum { MANY = 1000000, SETS = 300, PAUSE = 250 };
#endif

/*
 * Sorted, adjoining, no two neighbours alike, none empty, and the totals are
 * those of the segments.  Returns how many there are.
 */
static size_t
sound(struct map *map)
{
	uint64_t off = 0, bytes[MAP_STATUSES] = { 0 };
	uint64_t ranges[MAP_STATUSES] = { 0 };
	size_t n = 0, i;
	enum seg_status status, last = 0;
	struct seg s;

	for (off = 0; off < map_totals(map).end; off += s.len, n++) {
		status = map_at(map, off);
		assert_true(map_next(map, off, status, &s));
		assert_int_equal(s.off, off);
		assert_true(s.len > 0);
		assert_int_not_equal(status, last);
		bytes[status] += s.len;
		ranges[status]++;
		last = status;
	}
	assert_int_equal(off, map_totals(map).end);
	for (i = 0; i < MAP_STATUSES; i++) {
		assert_int_equal(bytes[i], map->sum[i].bytes);
		assert_int_equal(ranges[i], map->sum[i].ranges);
	}
	return n;
}

static void
claims(struct map *map, uint64_t off, uint64_t len)
{
	struct seg got;

	assert_int_equal(map_claim(map, &got), 1);
	assert_int_equal(got.off, off);
	assert_int_equal(got.len, len);
	assert_int_equal(got.status, CLAIMED);
	sound(map);
}

static void
claims_nothing(struct map *map)
{
	struct seg got;

	assert_int_equal(map_claim(map, &got), 0);
}

CASE(gives_each_piece_once)
{
	struct map map;

	assert_int_equal(map_init(&map, 25, 10, 0), 0);
	claims(&map, 0, 10);
	claims(&map, 10, 10);
	claims(&map, 20, 5);
	claims_nothing(&map);
	claims_nothing(&map);
	assert_int_equal(map_totals(&map).claimed, 25);
	map_free(&map);
}

/* What is being tried again is not good yet. */
CASE(claimed_counts_as_what_it_was)
{
	const enum seg_status was[] = { UNTRIED, UNTRIMMED, UNSCRAPED, BAD };
	struct map_totals t;
	struct map map;
	size_t i;

	for (i = 0; i < 4; i++) {
		assert_int_equal(map_init(&map, 20, 10, 0), 0);
		assert_int_equal(map_set(&map, 0, 20, was[i]), 0);
		map_pass(&map, was[i]);
		claims(&map, 0, 10);
		t = map_totals(&map);
		assert_int_equal(t.untried, was[i] == UNTRIED ? 20 : 0);
		assert_int_equal(t.bad, was[i] == BAD ? 20 : 0);
		assert_int_equal(t.untried + t.bad + t.failed, 20);
		map_free(&map);
	}
}

CASE(aligns_the_ends_of_claims)
{
	struct map map;

	assert_int_equal(map_init(&map, 25, 10, 3), 0);
	claims(&map, 0, 7);
	claims(&map, 7, 10);
	claims(&map, 17, 8);
	claims_nothing(&map);
	map_free(&map);
	assert_int_equal(map_init(&map, 25, 10, 33), 0);
	claims(&map, 0, 7);
	map_free(&map);
}

CASE(has_nothing_to_give_when_empty)
{
	struct map map;
	struct seg got;

	assert_int_equal(map_init(&map, 0, 10, 0), 0);
	claims_nothing(&map);
	assert_false(map_next(&map, 0, UNTRIED, &got));
	assert_int_equal(map_totals(&map).end, 0);
	map_free(&map);
}

CASE(joins_what_is_alike)
{
	struct map map;
	int i;

	assert_int_equal(map_init(&map, 100, 10, 0), 0);
	for (i = 0; i < 10; i++)
		claims(&map, (uint64_t)i * 10, 10);
	for (i = 0; i < 10; i += 2)
		assert_int_equal(map_settle(&map, (uint64_t)i * 10, 10, FINISHED), 0);
	assert_int_equal(sound(&map), 10);
	for (i = 9; i > 0; i -= 2)
		assert_int_equal(map_settle(&map, (uint64_t)i * 10, 10, FINISHED), 0);
	assert_int_equal(sound(&map), 1);
	assert_int_equal(map_totals(&map).finished, 100);
	map_free(&map);
}

CASE(keeps_what_was_settled_before)
{
	struct map_totals t;
	struct map map;
	struct seg got;

	assert_int_equal(map_init(&map, 30, 30, 0), 0);
	claims(&map, 0, 30);
	assert_int_equal(map_settle(&map, 10, 5, BAD), 0);
	assert_int_equal(map_settle(&map, 0, 30, FINISHED), 0);
	sound(&map);
	t = map_totals(&map);
	assert_int_equal(t.bad, 5);
	assert_int_equal(t.bad_ranges, 1);
	assert_int_equal(t.finished, 25);
	assert_int_equal(t.untried, 0);
	assert_int_equal(t.end, 30);
	assert_true(map_next(&map, 0, BAD, &got));
	assert_int_equal(got.off, 10);
	assert_int_equal(got.len, 5);
	map_free(&map);
}

CASE(settles_nothing_that_is_not_claimed)
{
	struct map map;

	assert_int_equal(map_init(&map, 30, 10, 0), 0);
	claims(&map, 0, 10);
	assert_int_equal(map_settle(&map, 0, 30, FINISHED), 0);
	assert_int_equal(map_totals(&map).finished, 10);
	assert_int_equal(map_totals(&map).untried, 20);
	claims(&map, 10, 10);
	map_free(&map);
}

CASE(gives_again_what_is_put_back)
{
	struct map map;

	assert_int_equal(map_init(&map, 30, 10, 0), 0);
	claims(&map, 0, 10);
	claims(&map, 10, 10);
	claims(&map, 20, 10);
	assert_int_equal(map_settle(&map, 0, 10, FINISHED), 0);
	assert_int_equal(map_settle(&map, 20, 10, FINISHED), 0);
	assert_int_equal(map_totals(&map).claimed, 10);
	claims_nothing(&map);
	map_free(&map);
}

CASE(finds_the_next_of_a_status)
{
	struct map map;
	struct seg got;

	assert_int_equal(map_init(&map, 100, 100, 0), 0);
	claims(&map, 0, 100);
	assert_int_equal(map_settle(&map, 20, 10, BAD), 0);
	assert_int_equal(map_settle(&map, 50, 10, BAD), 0);
	assert_true(map_next(&map, 0, BAD, &got));
	assert_int_equal(got.off, 20);
	assert_true(map_next(&map, 25, BAD, &got));
	assert_int_equal(got.off, 25);
	assert_int_equal(got.len, 5);
	assert_true(map_next(&map, 30, BAD, &got));
	assert_int_equal(got.off, 50);
	assert_int_equal(got.len, 10);
	assert_false(map_next(&map, 60, BAD, &got));
	assert_false(map_next(&map, 0, FINISHED, &got));
	assert_false(map_next(&map, 1000, CLAIMED, &got));
	map_free(&map);
}

CASE(ends_where_the_stream_does)
{
	struct map map;

	assert_int_equal(map_init(&map, INT64_MAX, 10, 0), 0);
	claims(&map, 0, 10);
	claims(&map, 10, 10);
	map_end(&map, 13);
	sound(&map);
	assert_int_equal(map_totals(&map).end, 13);
	assert_int_equal(map_totals(&map).claimed, 13);
	claims_nothing(&map);
	map_end(&map, 13);
	assert_int_equal(map_totals(&map).end, 13);
	map_end(&map, 500);
	assert_int_equal(map_totals(&map).end, 13);
	map_end(&map, 0);
	assert_int_equal(map_totals(&map).end, 0);
	claims_nothing(&map);
	map_free(&map);
}

/* Claim a piece, and note it in the array. */
static void
claim_some(struct map *map, uint64_t chunk, char *want)
{
	struct seg got;
	uint64_t i;

	if (map_claim(map, &got) != 1)
		return;
	assert_true(got.len <= chunk);
	for (i = 0; i < got.len; i++) {
		assert_int_equal(want[got.off + i], UNTRIED);
		want[got.off + i] = CLAIMED;
	}
}

/* The same of any range, mostly a short one, that is settled. */
static void
settle_some(struct map *map, enum seg_status to, char *want)
{
	uint64_t off = (uint64_t)(rand() % SIZE), i;
	uint64_t len = (uint64_t)rand() % (SIZE - off + 1);

	len = rand() % 3 ? len % 20 : len;
	assert_int_equal(map_settle(map, off, len, to), 0);
	for (i = 0; i < len; i++)
		if (want[off + i] == CLAIMED)
			want[off + i] = (char)to;
}

/* Chance against an array with a status for each byte. */
CASE(agrees_with_an_array)
{
	static const enum seg_status to[] = { FINISHED, BAD };
	char want[SIZE];
	unsigned seed, i, step;

	for (seed = 0; seed < SETS; seed++) {
		uint64_t chunk = 1 + seed % 37;
		struct map_totals t;
		struct map map;

		srand(seed);
		memset(want, UNTRIED, sizeof(want));
		assert_int_equal(map_init(&map, SIZE, chunk, seed % 53), 0);
		for (step = 0; step < 200; step++) {
			if (rand() % 2)
				claim_some(&map, chunk, want);
			settle_some(&map, to[(step + seed) % 2], want);
			sound(&map);
		}
		for (i = 0; i < SIZE; i++)
			assert_int_equal(want[i], map_at(&map, i));
		t = map_totals(&map);
		assert_int_equal(t.end, SIZE);
		assert_int_equal(t.finished + t.bad + t.untried, SIZE);
		map_free(&map);
	}
}

/* The same where the segments fill many leaves, and are joined again. */
CASE(agrees_with_a_large_array)
{
	static const enum seg_status to[] = { FINISHED, BAD, UNTRIED,
		UNTRIMMED, UNSCRAPED };
	static char want[40000];
	const uint64_t size = sizeof(want);
	uint64_t off, len, i;
	struct map map;
	size_t most = 0;
	unsigned step;

	srand(1);
	memset(want, UNTRIED, sizeof(want));
	assert_int_equal(map_init(&map, size, 64, 0), 0);
	for (step = 1; step <= 20000; step++) {
		off = (uint64_t)rand() % size;
		len = (uint64_t)rand() % (step % 500 == 0 ? size : 4);
		len = len < size - off ? len : size - off;
		assert_int_equal(map_set(&map, off, len, to[step % 5]), 0);
		memset(want + off, (int)to[step % 5], len);
		most = map.leaves > most ? map.leaves : most;
		if (step % PAUSE != 0)
			continue;
		(void)sound(&map);
		for (i = 0; i < size; i++)
			assert_int_equal(want[i], map_at(&map, i));
	}
	assert_true(most > 10);
	map_free(&map);
}

CASE(tells_the_status_of_a_byte)
{
	struct map map;
	struct seg got;

	assert_int_equal(map_init(&map, SIZE, 10, 0), 0);
	assert_int_equal(map_set(&map, 100, 50, BAD), 0);
	assert_int_equal(map_at(&map, 99), UNTRIED);
	assert_int_equal(map_at(&map, 100), BAD);
	assert_int_equal(map_at(&map, 149), BAD);
	assert_int_equal(map_at(&map, 150), UNTRIED);
	assert_int_equal(map_at(&map, SIZE - 1), UNTRIED);
	assert_int_equal(map_at(&map, SIZE), FINISHED);
	assert_true(map_all(&map, 100, 50, BAD));
	assert_false(map_all(&map, 100, 51, BAD));
	assert_false(map_all(&map, 99, 2, BAD));
	assert_true(map_all(&map, 150, SIZE - 150, UNTRIED));
	assert_false(map_all(&map, 150, SIZE - 149, UNTRIED));
	assert_false(map_all(&map, SIZE, 1, FINISHED));
	assert_false(map_here(&map, SIZE, &got));
	assert_true(map_here(&map, SIZE - 1, &got));
	assert_int_equal(got.len, 1);
	map_free(&map);
}

/*
 * A million bad ranges: no change takes more steps than fit in a leaf, and the
 * list of leaves, now and then.
 */
CASE(stays_quick_with_a_million_ranges)
{
	const uint64_t n = MANY, few = 1000;
	uint64_t i, off, before, most = 0;
	struct map map;
	struct seg got;

	assert_int_equal(map_init(&map, 2 * n, 2, 0), 0);
	for (i = 0; i < n; i++) {
		off = 2 * ((i * 7919 + 13) % n);
		before = map.moved;
		assert_int_equal(map_set(&map, off, 1, BAD), 0);
		most = map.moved - before > most ? map.moved - before : most;
	}
	assert_int_equal(map_totals(&map).bad_ranges, n);
	assert_int_equal(map_totals(&map).untried, n);
	assert_true(most < few);
	assert_true(map.moved / n < 300);
	map_pass(&map, UNTRIED);
	before = map.moved;
	for (i = 0; i < n; i++) {
		assert_int_equal(map_claim(&map, &got), 1);
		assert_int_equal(map_settle(&map, got.off, got.len,
		    FINISHED), 0);
	}
	assert_true((map.moved - before) / n < 300);
	map_pass(&map, BAD);
	while (map_claim(&map, &got) == 1)
		assert_int_equal(map_settle(&map, got.off, got.len,
		    FINISHED), 0);
	assert_int_equal(sound(&map), 1);
	assert_int_equal(map.leaves, 1);
	map_free(&map);
}

/* Leaves of which little is left are joined, from either side. */
CASE(needs_few_leaves_for_few_ranges)
{
	const uint64_t n = 20000, every = 100;
	struct map map;
	uint64_t i;
	int back;

	for (back = 0; back < 2; back++) {
		assert_int_equal(map_init(&map, 2 * n, 2, 0), 0);
		for (i = 0; i < n; i++)
			assert_int_equal(map_set(&map, 2 * i, 1, BAD), 0);
		for (i = 0; i < n; i++)
			if (i % every != 0)
				assert_int_equal(map_set(&map, 2 * (back == 0 ?
				    i : n - i), 1, UNTRIED), 0);
		assert_int_equal(map_totals(&map).bad_ranges, n / every);
		assert_true(sound(&map) > map.leaves * LEAF / 5);
		map_free(&map);
	}
}

struct shared {
	struct map	map;
	unsigned char	times[100000];	/* how often a byte was given out */
};

static void *
take_all(void *arg)
{
	struct shared *s = arg;
	struct seg got;
	uint64_t i;

	while (map_claim(&s->map, &got) == 1) {
		for (i = 0; i < got.len; i++)
			s->times[got.off + i]++;
		(void)map_settle(&s->map, got.off, got.len / 2, BAD);
		(void)map_settle(&s->map, got.off, got.len, FINISHED);
	}
	return NULL;
}

CASE(gives_each_byte_to_one_thread)
{
	static struct shared s;
	struct map_totals t;
	pthread_t thread[THREADS];
	size_t i;

	assert_int_equal(map_init(&s.map, sizeof(s.times), 7, 2), 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, take_all, &s), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < sizeof(s.times); i++)
		assert_int_equal(s.times[i], 1);
	sound(&s.map);
	t = map_totals(&s.map);
	assert_int_equal(t.finished + t.bad, sizeof(s.times));
	assert_true(t.bad_ranges > 10000);
	map_free(&s.map);
}

CASE(claims_up_to_a_border)
{
	struct map map;
	struct seg got;

	assert_int_equal(map_init(&map, SIZE, 100, 0), 0);
	assert_true(map_peek(&map, &got));
	assert_int_equal(got.off, 0);
	assert_int_equal(got.len, SIZE);
	assert_int_equal(map_claim_to(&map, 30, false, &got), 1);
	assert_int_equal(got.len, 30);
	sound(&map);
	assert_int_equal(map_claim_to(&map, 630, true, &got), 1);
	assert_int_equal(got.off, 30);
	assert_int_equal(got.len, 600);
	sound(&map);
	assert_true(map_peek(&map, &got));
	assert_int_equal(got.off, 630);
	assert_int_equal(map_claim_to(&map, 1000, false, &got), 1);
	assert_int_equal(got.len, 70);
	assert_int_equal(map_claim_to(&map, 5000, true, &got), 1);
	assert_int_equal(got.off, 700);
	assert_int_equal(got.len, 300);
	assert_false(map_peek(&map, &got));
	assert_int_equal(map_claim_to(&map, 5000, true, &got), 0);
	map_free(&map);
}

/* To others what is put off is untried, whichever way it is. */
CASE(hides_what_is_put_off)
{
	static const enum seg_status put_off[] = { LATER, LAST, ASIDE };
	struct map map;
	struct seg *copy;
	size_t i, n;

	assert_int_equal(map_init(&map, 8192, 512, 0), 0);
	for (i = 0; i < 3; i++)
		assert_int_equal(map_set(&map, 1024 * i, 512, put_off[i]), 0);
	n = map_copy(&map, &copy);
	while (n > 0)
		assert_int_equal(copy[--n].status, UNTRIED);
	free(copy);
	n = map_copy_put_off(&map, &copy);
	assert_int_equal(n, 6);
	for (i = 0; i < 3; i++)
		assert_int_equal(copy[2 * i].status, put_off[i]);
	free(copy);
	map_free(&map);
}
