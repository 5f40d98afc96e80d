/*
 * What bad runs predict about the next: nothing, until three are alike; then
 * where it begins and ends, to the byte.
 */
#include "test.h"
#include "rescue/pattern.h"

#define MIB	(UINT64_C(1) << 20)

enum { ROUGH = 300 << 10 };

/* A run is met, as the pass sees it, and measured if that is asked for. */
static bool
meet(struct forecast *f, uint64_t off, uint64_t length)
{
	const struct run rough = { off, off + length + ROUGH, true };
	const struct run exact = { off, off + length, true };
	bool asked = forecast_met(f, &rough);

	if (asked)
		forecast_learn(f, &exact);
	return asked;
}

CASE(one_of_four_heads)
{
	struct forecast f = { .length = 0 };
	struct run next;

	assert_false(meet(&f, 100 * MIB, 64 * MIB));
	assert_false(meet(&f, 356 * MIB, 64 * MIB));
	assert_true(meet(&f, 612 * MIB, 64 * MIB));
	assert_false(forecast_next(&f, &next));		/* nor the distance */
	assert_true(meet(&f, 868 * MIB, 64 * MIB));
	assert_true(forecast_next(&f, &next));
	assert_int_equal(next.off, 1124 * MIB);
	assert_int_equal(next.end, 1188 * MIB);
}

/* Behind one that was cut short the tracks are shorter, and so all is. */
CASE(the_next_zone)
{
	struct forecast f = { .length = 0 };
	struct run next;
	unsigned i;

	for (i = 0; i < 5; i++)
		meet(&f, i * (256 * MIB), 64 * MIB);
	assert_false(meet(&f, 5 * (256 * MIB), 10 * MIB));
	assert_true(meet(&f, 5500 * MIB, 62 * MIB));
	assert_true(forecast_next(&f, &next));
	assert_int_equal(next.off, (5500 + 4 * 62) * MIB);
	assert_int_equal(next.end, (5500 + 5 * 62) * MIB);
}

CASE(not_alike)
{
	struct forecast f = { .length = 0 };
	struct run next;

	assert_false(meet(&f, 100 * MIB, 64 * MIB));
	assert_false(meet(&f, 300 * MIB, 64 * MIB));
	assert_false(meet(&f, 900 * MIB, 64 * MIB));	/* as long, no more */
	assert_false(meet(&f, 1500 * MIB, 20 * MIB));	/* as far, no more */
	assert_false(forecast_next(&f, &next));
}

/* What a jump came over at once is perhaps a single block. */
CASE(never_sure)
{
	struct forecast f = { .length = 0 };
	struct run run = { 0, 4 * MIB, false };
	unsigned i;

	for (i = 0; i < 10; i++, run.off += 64 * MIB, run.end += 64 * MIB)
		assert_false(forecast_met(&f, &run));
}

/* ... and counts for nothing before those that are sure, either. */
CASE(sure_late)
{
	struct forecast f = { .length = 0 };
	struct run run = { 100 * MIB, 104 * MIB, false };

	assert_false(forecast_met(&f, &run));
	run.off += 300 * MIB;			/* another distance */
	run.end += 300 * MIB;
	assert_false(forecast_met(&f, &run));
	run.off += 300 * MIB;
	run.end += 300 * MIB;
	run.sure = true;
	assert_false(forecast_met(&f, &run));
	run.off += 300 * MIB;
	run.end += 300 * MIB;
	assert_true(forecast_met(&f, &run));
}

/* A run is met that was not foretold, again and again. */
CASE(gives_up)
{
	struct forecast f = { .length = 0 };
	unsigned i;

	for (i = 0; i < 3; i++)
		meet(&f, i * (8 * MIB), MIB);
	assert_true(meet(&f, 24 * MIB, MIB));
	f.missed = 6;
	assert_false(meet(&f, 32 * MIB, MIB));
}

/* A run is found between two that were taken for neighbours. */
CASE(half_the_way)
{
	struct forecast f = { .length = 0 };
	struct run next;
	unsigned i;

	for (i = 0; i < 4; i++)
		meet(&f, i * (8 * MIB), MIB);
	meet(&f, 28 * MIB, MIB);
	assert_true(forecast_next(&f, &next));
	assert_int_equal(next.off, 32 * MIB);
}

/* More heads than a disk has. */
CASE(too_far)
{
	struct forecast f = { .length = 0 };
	struct run next;
	unsigned i;

	for (i = 0; i < 5; i++)
		meet(&f, i * (64 * MIB), MIB);
	assert_false(forecast_next(&f, &next));
}

/* A scratch, whose tracks are alike as well. */
CASE(too_short)
{
	struct forecast f = { .length = 0 };
	unsigned i;

	for (i = 0; i < 10; i++)
		assert_false(forecast_met(&f, &(struct run){ i * MIB, i * MIB +
		    MIB / 32, true }));
}
