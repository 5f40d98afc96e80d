/*
 * A process that was stopped: waits that end later than they should.
 */
#include "test.h"
#include "base/clock.h"

#define S	UINT64_C(1000000000)	/* ns */

static uint64_t now;

int
clock_gettime(clockid_t id, struct timespec *t)
{
	*t = clock_spec(now);
	return 0;
}

/* A second late is nothing. */
CASE(tells_for_how_long_it_stood)
{
	static const struct {
		uint64_t now, due, stood;
	} row[] = { { 9 * S, 9 * S, 0 }, { 9 * S, 20 * S, 0 },
		{ 10 * S, 9 * S, 0 }, { 10 * S + 1, 9 * S, S + 1 },
		{ 20 * S, 9 * S, 11 * S } };
	struct timespec until;

	EACH_OF(i, row) {
		now = row[i].now;
		assert_int_equal(clock_stood(row[i].due), row[i].stood);
		until = clock_spec(row[i].due);
		assert_int_equal(clock_anew(&until, 5 * S), row[i].stood > 0);
		assert_int_equal(until.tv_sec, (row[i].stood > 0 ? now + 5 *
		    S : row[i].due) / S);
	}
}

CASE(tells_what_was_missed)
{
	uint64_t looked = S;

	now = 5 * S / 2;
	assert_int_equal(clock_missed(&looked), 0);
	assert_int_equal(looked, now);
	now += 3 * S / 2 + 1;
	assert_int_equal(clock_missed(&looked), 3 * S / 2 + 1);
	assert_int_equal(clock_missed(&looked), 0);
}
