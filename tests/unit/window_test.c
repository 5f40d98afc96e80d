/*
 * Windows of requests: when they grow, when they shrink, and how far.
 */
#include "test.h"
#include "copy/worker.h"

/* As many requests as may be in flight, each of which takes so long. */
static void
round_of(struct window *win, uint64_t took)
{
	while (!window_full(win))
		window_start(win);
	while (win->busy > 0)
		window_end(win, took);
}

CASE(grows_up_to_its_limit)
{
	struct window win = { .limit = 9 };
	unsigned i, before;

	window_begin(&win);
	assert_int_equal(win.size, 3);
	for (i = 0; i < 20; i++) {
		before = win.size;
		round_of(&win, 1000);
		assert_true(win.size > before || win.size == 9);
	}
	assert_int_equal(win.size, 9);
	assert_int_equal(win.most, 9);
}

CASE(shrinks_where_requests_wait_for_each_other)
{
	struct window win = { .limit = 32 };
	unsigned i, large;

	window_begin(&win);
	for (i = 0; i < 20; i++)
		round_of(&win, 1000);
	large = win.size;
	round_of(&win, 2000);		/* no latency, and no queue */
	assert_int_equal(win.size, large);
	round_of(&win, 5000);
	assert_true(win.size < large);
	for (i = 0; i < 20; i++)
		round_of(&win, 5000);
	assert_int_equal(win.size, 3);
	assert_int_equal(win.most, large);
}

/* One request at a time says nothing about what more of them would do. */
CASE(does_not_grow_while_it_is_not_full)
{
	struct window win = { .limit = 32 };
	unsigned i;

	window_begin(&win);
	for (i = 0; i < 20; i++) {
		window_start(&win);
		window_end(&win, 1000);
	}
	assert_int_equal(win.size, 3);
	assert_int_equal(win.most, 1);
}

CASE(keeps_a_fixed_size)
{
	struct window win = { .limit = 32, .fixed = 7 };

	window_begin(&win);
	round_of(&win, 1000);
	round_of(&win, 900000);
	assert_int_equal(win.size, 7);
	assert_int_equal(win.most, 7);
}

CASE(forgets_how_fast_it_was)
{
	struct window win = { .limit = 32 };

	window_begin(&win);
	round_of(&win, 1000);
	window_begin(&win);
	assert_int_equal(win.size, 3);
	round_of(&win, 50000);
	assert_true(win.size > 3);
}
