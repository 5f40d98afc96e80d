/*
 * How long a read kept the disk busy: not counting earlier reads that were
 * served meanwhile, but counting later ones.
 */
#include "test.h"

#include <unistd.h>

#include "base/clock.h"
#include "rescue/flight.h"

enum { MOMENT = 20000 };	/* us */

static struct job job;
static struct worker *const first = &job.worker[0], *const second =
    &job.worker[1];
static struct flight flight;

static int
begin_two(void **state)
{
	first->job = second->job = &job;
	flight_init(&flight);
	flight_begin(&flight, first);
	flight_begin(&flight, second);
	usleep(MOMENT);
	return 0;
}

static int
end_all(void **state)
{
	flight_destroy(&flight);
	return 0;
}

EACH(begin_two, end_all)

CASE(does_not_count_what_came_before)
{
	double answered = clock_seconds();

	assert_true(flight_end(&flight, first) >= MOMENT / 1e6);
	assert_true(flight_end(&flight, second) <= clock_seconds() - answered);
}

CASE(counts_what_came_after)
{
	assert_true(flight_end(&flight, second) >= MOMENT / 1e6);
	assert_true(flight_end(&flight, first) >= MOMENT / 1e6);
}
