/*
 * A dead head leaves bad runs of equal length at equal distances; other damage
 * does not.
 */
#include "test.h"
#include "rescue/pattern.h"

enum { MIB = 1 << 20, SIZE = 1024 };

static struct map
fresh(void)
{
	struct map map;

	assert_int_equal(map_init(&map, (uint64_t)SIZE * MIB, MIB, 0), 0);
	assert_int_equal(map_set(&map, 0, (uint64_t)SIZE * MIB, FINISHED), 0);
	return map;
}

/* A bad run, in MiB, as passes leave it: its ends are known, its midst not. */
static void
run(struct map *map, uint64_t off, uint64_t len)
{
	const uint64_t from = off * MIB, to = from + len * MIB;

	assert_int_equal(map_set(map, from, to - from, UNTRIED), 0);
	assert_int_equal(map_set(map, from, 512, BAD), 0);
	assert_int_equal(map_set(map, from + 512, 65024, UNSCRAPED), 0);
	assert_int_equal(map_set(map, to - 512, 512, BAD), 0);
}

CASE(dead_head)
{
	struct map map = fresh();
	struct pattern p;
	unsigned i;

	for (i = 0; i < 8; i++)
		run(&map, 20 + i * 100, 25);
	run(&map, 1000, 2);
	assert_true(pattern_find(&map, &p));
	assert_int_equal(p.runs, 8);
	assert_int_equal(p.length, 25 * MIB);
	assert_int_equal(p.period, 100 * MIB);
	assert_true(p.share > .249 && p.share < .251);
	map_free(&map);
}

CASE(shorter_tracks)
{
	struct map map = fresh();
	struct pattern p;
	uint64_t at, len = 16;

	for (at = 10; len > 8; at += 4 * len, len--)
		run(&map, at, len);
	assert_true(pattern_find(&map, &p));
	assert_int_equal(p.runs, 8);
	assert_in_range(p.length, 9 * MIB, 16 * MIB);
	map_free(&map);
}

CASE(two_are_none)
{
	struct map map = fresh();
	struct pattern p;

	assert_false(pattern_find(&map, &p));
	run(&map, 100, 20);
	run(&map, 300, 20);
	assert_false(pattern_find(&map, &p));
	run(&map, 900, 20);		/* far off */
	assert_false(pattern_find(&map, &p));
	run(&map, 500, 5);		/* short */
	assert_false(pattern_find(&map, &p));
	map_free(&map);
}

CASE(three_are_some)
{
	struct map map = fresh();
	struct pattern p;

	run(&map, 100, 20);
	run(&map, 300, 20);
	run(&map, 500, 20);
	assert_true(pattern_find(&map, &p));
	assert_int_equal(p.runs, 3);
	assert_int_equal(p.length, 20 * MIB);
	assert_int_equal(p.period, 200 * MIB);
	run(&map, 600, 5);		/* in none of them, */
	run(&map, 40, 5);		/* nor this one before */
	assert_true(pattern_find(&map, &p));
	assert_int_equal(p.runs, 3);
	assert_int_equal(p.period, 200 * MIB);
	map_free(&map);
}

CASE(short_runs_are_none)
{
	struct map map = fresh();
	struct pattern p;
	unsigned i;

	for (i = 0; i < 100; i++)
		assert_int_equal(map_set(&map, (uint64_t)i * 10 * MIB, MIB / 2,
		    UNTRIMMED), 0);
	assert_false(pattern_find(&map, &p));
	map_free(&map);
}
