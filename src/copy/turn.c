/*
 * Turns.  One number says which byte a stream takes next.  The lock is held for
 * a few instructions, never over the write: holding the turn keeps others from
 * writing.
 *
 * Each waiter has its own condition, so that passing the turn wakes one thread,
 * not all.
 *
 *	t	turn->lock, a leaf
 */
#include "copy/job.h"

#include <assert.h>
#include <stddef.h>

void
turn_init(struct turn *t)
{
	size_t i;

	*t = (struct turn){ 0 };
	pthread_mutex_init(&t->lock, NULL);
	for (i = 0; i < TURN_WAITERS; i++)
		pthread_cond_init(&t->waiter[i].moved, NULL);
}

void
turn_destroy(struct turn *t)
{
	size_t i;

	for (i = 0; i < TURN_WAITERS; i++)
		pthread_cond_destroy(&t->waiter[i].moved);
	pthread_mutex_destroy(&t->lock);
}

bool
turn_wait(struct turn *t, uint64_t off)
{
	struct turn_waiter *w;
	bool mine;

	pthread_mutex_lock(&t->lock);
	for (w = t->waiter; w < t->waiter + TURN_WAITERS && w->here;)
		w++;
	assert(w < t->waiter + TURN_WAITERS);
	w->off = off;
	w->here = true;
	while (t->next != off && !t->stopped)
		pthread_cond_wait(&w->moved, &t->lock);
	w->here = false;
	mine = !t->stopped;
	pthread_mutex_unlock(&t->lock);
	return mine;
}

/* Wake the thread whose turn it is; all of them when turns have ended. */
static void
turn_wake(struct turn *t)
{
	size_t i;

	for (i = 0; i < TURN_WAITERS; i++)
		if (t->waiter[i].here &&
		    (t->waiter[i].off == t->next || t->stopped))
			pthread_cond_signal(&t->waiter[i].moved);
}

void
turn_pass(struct turn *t, uint64_t next)
{
	pthread_mutex_lock(&t->lock);
	t->next = next;
	turn_wake(t);
	pthread_mutex_unlock(&t->lock);
}

void
turn_stop(struct turn *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopped = true;
	turn_wake(t);
	pthread_mutex_unlock(&t->lock);
}
