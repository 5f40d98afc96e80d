/*
 * Turns: in whatever order workers arrive, bytes go in order; and nobody waits
 * for a turn that will not come.
 */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "copy/job.h"

enum { THREADS = 8, TURNS = 4000, LEN = 3 };

struct shared {
	struct turn	turn;
	atomic_uint	claimed;
	uint64_t	order[TURNS];	/* the holder of the turn's */
	unsigned	n;		/* the holder of the turn's */
	atomic_uint	holders, left;
	unsigned	stop_at;
};

static void *
write_in_order(void *arg)
{
	struct shared *s = arg;
	uint64_t off;
	unsigned i;

	while ((i = atomic_fetch_add(&s->claimed, 1)) < TURNS) {
		off = (uint64_t)i * LEN;
		if (i % 7 == 0)
			usleep(i % 50);
		if (!turn_wait(&s->turn, off))
			break;
		if (atomic_fetch_add(&s->holders, 1) != 0)
			break;		/* seen below: n falls short */
		s->order[s->n++] = off;
		atomic_fetch_sub(&s->holders, 1);
		if (i == s->stop_at) {
			turn_stop(&s->turn);
			break;
		}
		turn_pass(&s->turn, off + LEN);
	}
	atomic_fetch_add(&s->left, 1);
	return NULL;
}

static void
run(struct shared *s)
{
	pthread_t thread[THREADS];
	size_t i;

	turn_init(&s->turn);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL,
		    write_in_order, s), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	turn_destroy(&s->turn);
}

CASE(gives_turns_in_order)
{
	static struct shared s = { .stop_at = TURNS };
	unsigned i;

	run(&s);
	assert_int_equal(s.n, TURNS);
	for (i = 0; i < TURNS; i++)
		assert_int_equal(s.order[i], (uint64_t)i * LEN);
}

CASE(lets_all_go_when_stopped)
{
	static struct shared s = { .stop_at = 1000 };

	run(&s);
	assert_int_equal(s.n, 1001);
	assert_int_equal(s.left, THREADS);
}

CASE(gives_no_turn_after_stop)
{
	struct turn t;

	turn_init(&t);
	assert_true(turn_wait(&t, 0));
	turn_pass(&t, 10);
	assert_true(turn_wait(&t, 10));
	turn_stop(&t);
	assert_false(turn_wait(&t, 10));
	assert_false(turn_wait(&t, 20));
	turn_stop(&t);
	turn_destroy(&t);
}

static void *
wait_for_100(void *arg)
{
	return turn_wait(arg, 100) ? arg : NULL;
}

CASE(wakes_who_waits_when_stopped)
{
	pthread_t thread[THREADS];
	struct turn t;
	void *got;
	size_t i;

	turn_init(&t);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, wait_for_100, &t), 0);
	usleep(20000);
	turn_stop(&t);
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], &got);
		assert_null(got);
	}
	turn_destroy(&t);
}
