/*
 * Reading alone: a stuck reader is passed, once; with several seats it keeps
 * its own.  Nobody waits here: a patience of 0 ends at once.  And how long a
 * read kept the disk busy: not counting earlier reads that were served
 * meanwhile, but counting later ones.
 */
#include "test.h"

#include "base/clock.h"
#include "rescue/exclusive.h"

static const struct seg here = { 4096, 512, CLAIMED };
static const struct seg there = { 8192, 512, CLAIMED };
static const double long_time = 1e6;

static struct seg stuck;

CASE(leaves_behind_who_is_stuck)
{
	struct exclusive g;
	uint64_t first, second;

	exclusive_init(&g, 1);
	first = exclusive_enter(&g, 0, long_time, &stuck);
	assert_int_equal(stuck.len, 0);
	exclusive_reads(&g, first, &here);
	second = exclusive_enter(&g, 0, 0, &stuck);
	assert_int_equal(stuck.off, here.off);
	assert_int_equal(stuck.len, here.len);
	assert_true(exclusive_passed(&g, first));
	assert_false(exclusive_passed(&g, second));
	exclusive_leave(&g, first);		/* it has no seat any more */
	exclusive_reads(&g, second, &there);
	exclusive_enter(&g, 0, 0, &stuck);
	assert_int_equal(stuck.off, there.off);
	exclusive_destroy(&g);
}

CASE(lets_another_in_beside_who_is_stuck)
{
	struct exclusive g;
	uint64_t first, second, third;

	exclusive_init(&g, 2);
	first = exclusive_enter(&g, long_time, long_time, &stuck);
	exclusive_reads(&g, first, &here);
	second = exclusive_enter(&g, 0, long_time, &stuck);
	assert_int_equal(stuck.off, here.off);
	exclusive_reads(&g, second, &there);
	exclusive_leave(&g, second);
	/* That the first is stuck is known, and told once. */
	third = exclusive_enter(&g, long_time, long_time, &stuck);
	assert_int_equal(stuck.len, 0);
	assert_true(exclusive_passed(&g, first));
	exclusive_leave(&g, first);
	assert_false(exclusive_passed(&g, third));
	exclusive_destroy(&g);
}

CASE(tells_nobody_of_what_was_read)
{
	struct exclusive g;
	uint64_t first;

	exclusive_init(&g, 2);
	first = exclusive_enter(&g, long_time, long_time, &stuck);
	exclusive_reads(&g, first, &here);
	assert_false(exclusive_passed(&g, first));
	exclusive_enter(&g, 0, long_time, &stuck);
	assert_int_equal(stuck.len, 0);
	exclusive_destroy(&g);
}

/* Both read, the second since the first is stuck. */
static void
let_two_in(struct exclusive *g, uint64_t *first, uint64_t *second)
{
	exclusive_init(g, SEATS);
	*first = exclusive_enter(g, long_time, long_time, &stuck);
	exclusive_reads(g, *first, &here);
	*second = exclusive_enter(g, 0, long_time, &stuck);
	exclusive_reads(g, *second, &there);
}

CASE(times_the_second_from_when_the_first_left)
{
	struct exclusive g;
	uint64_t first, second;
	double left;

	let_two_in(&g, &first, &second);
	left = clock_seconds();
	exclusive_leave(&g, first);
	assert_true(g.seat[1].ticket == second && g.seat[1].since >= left);
	left = clock_seconds();
	exclusive_passed(&g, 0);
	assert_true(g.seat[1].since >= left);
	exclusive_destroy(&g);
}

/* Where one who came later is answered first, nobody waits for who is stuck. */
CASE(times_it_from_its_own_where_both_are_served)
{
	struct exclusive g;
	uint64_t first, second;
	double since;

	let_two_in(&g, &first, &second);
	assert_false(exclusive_passed(&g, second));
	exclusive_reads(&g, second, &there);
	since = g.seat[1].since;
	exclusive_leave(&g, first);
	assert_true(g.seat[1].since == since);
	exclusive_destroy(&g);
}

/* That the first is answered, and then the second, says nothing. */
CASE(knows_who_overtakes)
{
	struct exclusive g;
	uint64_t first, second;

	let_two_in(&g, &first, &second);
	exclusive_passed(&g, first);
	assert_false(g.parallel);
	exclusive_passed(&g, second);
	assert_false(g.parallel);
	exclusive_reads(&g, first, &here);
	exclusive_passed(&g, second);
	assert_true(g.parallel);
	exclusive_destroy(&g);
}

/* The first fails, and then the second, which has been served beside it. */
static void
fail_both(struct exclusive *g, double longest)
{
	uint64_t first, second;

	let_two_in(g, &first, &second);
	assert_false(exclusive_passed(g, second));
	exclusive_reads(g, second, &there);
	exclusive_failed(g, first, longest);
	exclusive_leave(g, first);
	exclusive_failed(g, second, longest);
	exclusive_leave(g, second);
}

CASE(lets_more_in_where_errors_come_side_by_side)
{
	struct exclusive g;
	uint64_t ticket[SEATS];
	unsigned i;

	fail_both(&g, long_time);
	for (i = 0; i < SEATS; i++) {
		ticket[i] = exclusive_enter(&g, 0, long_time, &stuck);
		assert_int_equal(stuck.len, i > 0 ? here.len : 0);
		exclusive_reads(&g, ticket[i], &here);
	}
	for (i = 0; i < SEATS; i++)
		assert_int_equal(exclusive_passed(&g, ticket[i]),
		    i + 1 < SEATS);
	exclusive_destroy(&g);
}

CASE(lets_two_in_where_each_error_takes_its_time)
{
	struct exclusive g;

	fail_both(&g, 0);
	assert_int_equal(g.seats, 2);
	exclusive_destroy(&g);
}

/* Who is stuck, too, is not waited for in the place of who is not. */
CASE(waits_for_who_reads_beside_two_that_are_stuck)
{
	struct exclusive g;
	uint64_t ticket[3];
	unsigned i;

	fail_both(&g, long_time);
	for (i = 0; i < 3; i++) {
		ticket[i] = exclusive_enter(&g, 0, long_time, &stuck);
		exclusive_reads(&g, ticket[i], i < 2 ? &here : &there);
	}
	exclusive_enter(&g, 0, long_time, &stuck);
	assert_int_equal(stuck.off, there.off);
	exclusive_destroy(&g);
}

enum { MOMENT = 20000 };	/* us */

static struct job job;
static struct worker *const one = &job.worker[0], *const two = &job.worker[1];

/* Two reads begin. */
static void
begin_two(struct exclusive *g)
{
	one->job = two->job = &job;
	exclusive_init(g, 1);
	exclusive_begins(g, one);
	exclusive_begins(g, two);
	usleep(MOMENT);
}

CASE(does_not_count_what_came_before)
{
	struct exclusive g;
	double answered;

	begin_two(&g);
	answered = clock_seconds();
	assert_true(exclusive_ends(&g, one) >= MOMENT / 1e6);
	assert_true(exclusive_ends(&g, two) <= clock_seconds() - answered);
	exclusive_destroy(&g);
}

CASE(counts_what_came_after)
{
	struct exclusive g;

	begin_two(&g);
	assert_true(exclusive_ends(&g, two) >= MOMENT / 1e6);
	assert_true(exclusive_ends(&g, one) >= MOMENT / 1e6);
	exclusive_destroy(&g);
}
