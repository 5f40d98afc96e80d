/*
 * Turns: one number says which byte a stream takes next.  The lock is held for
 * a few instructions, never across the write itself: having the turn is what
 * keeps others from writing.
 *
 * Each who waits has a condition of his own, so that a turn that is passed on
 * wakes one thread, not all of them.
 *
 *	t	turn->lock, a leaf
 */
#include "turn.h"

#include <stddef.h>

struct turn_waiter {
	struct turn_waiter *next;
	uint64_t	 off;
	pthread_cond_t	 moved;
};

void
turn_init(struct turn *t)
{
	*t = (struct turn){ 0 };
	pthread_mutex_init(&t->lock, NULL);
}

void
turn_destroy(struct turn *t)
{
	pthread_mutex_destroy(&t->lock);
}

static void
leave(struct turn *t, const struct turn_waiter *w)
{
	struct turn_waiter **p = &t->waiters;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
}

bool
turn_wait(struct turn *t, uint64_t off)
{
	struct turn_waiter w = { .off = off };
	bool mine;

	pthread_mutex_lock(&t->lock);
	if (t->next != off && !t->stopped) {
		pthread_cond_init(&w.moved, NULL);
		w.next = t->waiters;
		t->waiters = &w;
		while (t->next != off && !t->stopped)
			pthread_cond_wait(&w.moved, &t->lock);
		leave(t, &w);
		pthread_cond_destroy(&w.moved);
	}
	mine = !t->stopped;
	pthread_mutex_unlock(&t->lock);
	return mine;
}

/* Wake whose turn it is; all of them when there are no more turns. */
static void
wake(struct turn *t)
{
	struct turn_waiter *w;

	for (w = t->waiters; w != NULL; w = w->next)
		if (w->off == t->next || t->stopped)
			pthread_cond_signal(&w->moved);
}

void
turn_pass(struct turn *t, uint64_t next)
{
	pthread_mutex_lock(&t->lock);
	t->next = next;
	wake(t);
	pthread_mutex_unlock(&t->lock);
}

void
turn_stop(struct turn *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopped = true;
	wake(t);
	pthread_mutex_unlock(&t->lock);
}
