/*
 * Turns: one number says which byte a stream takes next.  The lock is held for
 * a few instructions, never across the write itself: having the turn is what
 * keeps others from writing.
 *
 *	t	turn->lock, a leaf
 */
#include "turn.h"

void
turn_init(struct turn *t)
{
	*t = (struct turn){ 0 };
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->moved, NULL);
}

void
turn_destroy(struct turn *t)
{
	pthread_cond_destroy(&t->moved);
	pthread_mutex_destroy(&t->lock);
}

bool
turn_wait(struct turn *t, uint64_t off)
{
	bool mine;

	pthread_mutex_lock(&t->lock);
	while (t->next != off && !t->stopped)
		pthread_cond_wait(&t->moved, &t->lock);
	mine = !t->stopped;
	pthread_mutex_unlock(&t->lock);
	return mine;
}

void
turn_pass(struct turn *t, uint64_t next)
{
	pthread_mutex_lock(&t->lock);
	t->next = next;
	pthread_cond_broadcast(&t->moved);
	pthread_mutex_unlock(&t->lock);
}

void
turn_stop(struct turn *t)
{
	pthread_mutex_lock(&t->lock);
	t->stopped = true;
	pthread_cond_broadcast(&t->moved);
	pthread_mutex_unlock(&t->lock);
}
