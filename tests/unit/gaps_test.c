/*
 * The gaps of a rescue: the largest first, from a good end, and those between
 * bad ends as long as that is useful.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rescue/gaps.h"

enum { KIB = 1 << 10, LEAST = 64 * KIB, MOST = 256 * KIB, SIZE = 8 << 20 };

static void
mark(struct map *map, uint64_t off, uint64_t end, enum seg_status s)
{
	assert_int_equal(map_set(map, off * KIB, (end - off) * KIB, s), 0);
}

static bool
marked(struct map *map, uint64_t off, uint64_t end, enum seg_status s)
{
	return map_all(map, off * KIB, (end - off) * KIB, s);
}

static struct map
fresh(void)
{
	struct map map;

	assert_int_equal(map_init(&map, SIZE, MOST, 0), 0);
	return map;
}

/* Read by gaps what is not bad in the map "truth"; returns the errors. */
static unsigned
work_off(struct gaps *g, struct map *map, struct map *truth)
{
	struct gap gap;
	struct seg s, bad;
	unsigned errors = 0;
	bool good;

	while (gaps_take(g, LEAST, MOST, &gap, &s)) {
		assert_true(map_all(map, s.off, s.len, UNTRIED));
		assert_in_range(s.len, 1, MOST);
		good = !map_next(truth, s.off, BAD, &bad) ||
		    bad.off >= s.off + s.len;
		errors += !good;
		assert_int_equal(map_set(map, s.off, s.len, good ? FINISHED :
		    UNTRIMMED), 0);
		assert_int_equal(gaps_give(g, &gap, &s, good, true), 0);
	}
	return errors;
}

/* The next piece lies there, KiB. */
static void
next_is(struct gaps *g, uint64_t off, uint64_t len)
{
	struct gap gap;
	struct seg s;

	assert_true(gaps_take(g, LEAST, MOST, &gap, &s));
	assert_int_equal(s.off, off * KIB);
	assert_int_equal(s.len, len * KIB);
}

static void
no_more(struct gaps *g)
{
	struct gap gap;
	struct seg s;

	assert_false(gaps_take(g, LEAST, MOST, &gap, &s));
}

static void
largest_first(void **state)
{
	struct map map = fresh();
	struct gaps g;

	(void)state;
	gaps_begin(&g, 4);
	mark(&map, 0, 1024, FINISHED);
	mark(&map, 2048, 4096, FINISHED);
	mark(&map, 7168, 8192, FINISHED);
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, NO_INNER), 0);
	next_is(&g, 7168 - 256, 256);
	next_is(&g, 2048 - 256, 256);
	no_more(&g);
	gaps_end(&g);
	map_free(&map);
}

/* What is put off is as good as what was read, to begin beside. */
static void
beside_what_is_put_off(void **state)
{
	static const enum seg_status statuses[] = { FINISHED, OUTSIDE, LATER,
		LAST };
	struct gaps g;
	struct map map;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		map = fresh();
		gaps_begin(&g, 4);
		mark(&map, 0, 1024, statuses[i]);
		mark(&map, 2048, 8192, BAD);
		assert_int_equal(gaps_fill(&g, &map, UNTRIED, NO_INNER), 0);
		next_is(&g, 1024, 256);
		gaps_end(&g);
		map_free(&map);
	}
}

/* One that is no longer than the least is read at a time, wherever it begins. */
static void
small_ones_at_once(void **state)
{
	struct map map = fresh();
	struct gaps g;

	(void)state;
	gaps_begin(&g, 4);
	mark(&map, 0, 7, UNTRIMMED);
	mark(&map, 71, 8192, FINISHED);
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, NO_INNER), 0);
	next_is(&g, 7, LEAST / KIB);
	no_more(&g);
	gaps_end(&g);
	map_free(&map);
}

static void
whole_ones(void **state)
{
	struct map map = fresh();
	struct gaps g;
	struct seg s;

	(void)state;
	gaps_begin(&g, 4);
	mark(&map, 100, 200, UNTRIMMED);
	mark(&map, 300, 600, UNTRIMMED);
	assert_int_equal(gaps_fill(&g, &map, UNTRIMMED, HOPEFUL_INNER), 0);
	assert_true(gaps_take_all(&g, &s));
	assert_int_equal(s.off, 300 * KIB);
	assert_int_equal(s.len, 300 * KIB);
	assert_true(gaps_take_all(&g, &s));
	assert_int_equal(s.len, 100 * KIB);
	assert_false(gaps_take_all(&g, &s));
	gaps_end(&g);
	map_free(&map);
}

/* From each good end one error, and what lies before it is read. */
static void
up_to_an_error(void **state)
{
	struct map map = fresh(), truth = fresh();
	struct gaps g;

	(void)state;
	gaps_begin(&g, 4);
	mark(&truth, 3000, 5000, BAD);
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, NO_INNER), 0);
	assert_int_equal(work_off(&g, &map, &truth), 2);
	assert_true(marked(&map, 0, 3000 - 256, FINISHED));
	assert_true(marked(&map, 5000 + 256, 8192, FINISHED));
	assert_false(marked(&map, 3256, 4656, FINISHED));
	gaps_end(&g);
	map_free(&map);
	map_free(&truth);
}

/* Good data between two bad places, of which nothing is known. */
static void
between_bad_ends(void **state)
{
	struct map map = fresh(), truth = fresh();
	struct gaps g;
	unsigned errors;

	(void)state;
	gaps_begin(&g, 4);
	mark(&map, 0, 64, UNTRIMMED);
	mark(&map, 8128, 8192, UNTRIMMED);
	mark(&truth, 2000, 2001, BAD);
	mark(&truth, 6000, 6100, BAD);
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, NO_INNER), 0);
	assert_int_equal(work_off(&g, &map, &truth), 0);
	assert_true(marked(&map, 64, 8128, UNTRIED));
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, HOPEFUL_INNER), 0);
	errors = work_off(&g, &map, &truth);
	assert_in_range(errors, 2, 6);
	assert_in_range(map_totals(&map).untried, 0, 64 * KIB);
	gaps_end(&g);
	map_free(&map);
	map_free(&truth);
}

static void
gives_a_dead_one_up(void **state)
{
	struct map map = fresh(), truth = fresh();
	struct gaps g;

	(void)state;
	gaps_begin(&g, 4);
	mark(&map, 0, 64, UNTRIMMED);
	mark(&map, 8128, 8192, UNTRIMMED);
	mark(&truth, 0, 8192, BAD);
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, HOPEFUL_INNER), 0);
	assert_in_range(work_off(&g, &map, &truth), 1, 14);
	gaps_end(&g);
	map_free(&map);
	map_free(&truth);
}

/* A giant one that is dead does not keep others waiting that are smaller. */
static void
tries_elsewhere(void **state)
{
	struct map map = fresh();
	struct gaps g;
	struct gap gap;
	struct seg s;
	unsigned i;

	(void)state;
	gaps_begin(&g, 4);
	mark(&map, 0, 64, UNTRIMMED);
	mark(&map, 7000, 7064, UNTRIMMED);
	mark(&map, 8128, 8192, UNTRIMMED);
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, HOPEFUL_INNER), 0);
	for (i = 0; i < 4; i++) {
		assert_true(gaps_take(&g, LEAST, MOST, &gap, &s));
		if (s.off > 7000 * KIB)
			break;
		assert_int_equal(gaps_give(&g, &gap, &s, false, true), 0);
	}
	assert_in_range(i, 1, 3);
	gaps_end(&g);
	map_free(&map);
}

/* However many are dead, each is tried, but for the small ones. */
static void
tries_each(void **state)
{
	struct map map = fresh(), truth = fresh();
	struct gaps g;
	uint64_t i;

	(void)state;
	gaps_begin(&g, 4);
	for (i = 0; i < 16; i++)
		mark(&map, i * 512, i * 512 + 256, BAD);
	mark(&map, 8191, 8192, BAD);
	mark(&truth, 0, 8000, BAD);
	mark(&truth, 8064, 8192, BAD);
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, HOPEFUL_INNER), 0);
	assert_int_equal(work_off(&g, &map, &truth), 6);
	assert_true(marked(&map, 7936, 8191, UNTRIED));
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, EACH_INNER), 0);
	assert_in_range(work_off(&g, &map, &truth), 16, 26);
	assert_true(marked(&map, 8000, 8064, FINISHED));
	assert_true(marked(&map, 256, 320, UNTRIED));
	gaps_end(&g);
	map_free(&map);
	map_free(&truth);
}

/* Of what is to be scraped that is taken of which both ends are known. */
static void
trimmed_ones(void **state)
{
	struct map map = fresh();
	struct gaps g;
	struct gap gap;
	struct seg s;

	(void)state;
	gaps_begin(&g, 4);
	mark(&map, 0, 8192, FINISHED);
	mark(&map, 1000, 1800, BAD);
	mark(&map, 1100, 1700, UNSCRAPED);
	mark(&map, 3000, 4000, BAD);
	mark(&map, 3100, 4000, UNSCRAPED);
	mark(&map, 5000, 6000, BAD);
	mark(&map, 5100, 5500, UNSCRAPED);
	mark(&map, 5500, 5900, UNTRIED);
	assert_int_equal(gaps_fill(&g, &map, UNSCRAPED, EACH_INNER), 0);
	assert_true(gaps_take(&g, LEAST, MOST, &gap, &s));
	assert_int_equal(gap.off, 1100 * KIB);
	assert_int_equal(gap.end, 1700 * KIB);
	assert_false(gaps_take(&g, LEAST, MOST, &gap, &s));
	gaps_end(&g);
	map_free(&map);
}

/* A piece that is to be read again, in parts, is no end of its gap. */
static void
read_again(void **state)
{
	struct map map = fresh();
	struct gaps g;
	struct gap gap;
	struct seg s, again;

	(void)state;
	gaps_begin(&g, 4);
	mark(&map, 0, 64, UNTRIMMED);
	assert_int_equal(gaps_fill(&g, &map, UNTRIED, NO_INNER), 0);
	assert_true(gaps_take(&g, LEAST, MOST, &gap, &s));
	assert_int_equal(gaps_give(&g, &gap, &s, false, false), 0);
	assert_true(gaps_take(&g, LEAST, MOST, &gap, &again));
	assert_int_equal(again.off + again.len, s.off + s.len);
	assert_int_equal(again.len, LEAST);
	assert_int_equal(gaps_give(&g, &gap, &again, false, true), 0);
	assert_false(gaps_take(&g, LEAST, MOST, &gap, &s));
	gaps_end(&g);
	map_free(&map);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(largest_first),
		cmocka_unit_test(beside_what_is_put_off),
		cmocka_unit_test(small_ones_at_once),
		cmocka_unit_test(whole_ones),
		cmocka_unit_test(up_to_an_error),
		cmocka_unit_test(between_bad_ends),
		cmocka_unit_test(gives_a_dead_one_up),
		cmocka_unit_test(tries_elsewhere),
		cmocka_unit_test(tries_each),
		cmocka_unit_test(trimmed_ones),
		cmocka_unit_test(read_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
