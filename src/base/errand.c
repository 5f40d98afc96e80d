/*
 * Calls that may never return: each has its own thread, which is abandoned when
 * the time is up.
 *
 *	l	errand->lock, a leaf
 */
#include "base/errand.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"

struct errand {
	void		(*run)(void *);	/* set before the thread starts */
	void		*arg;		/* likewise; the caller's */
	pthread_mutex_t	 lock;
	pthread_cond_t	 moved;
	bool		 over;	/* l */
	bool		 left;	/* l: given up; the thread frees it */
};

static void
errand_free(struct errand *e)
{
	pthread_cond_destroy(&e->moved);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

static void *
errand_thread(void *arg)
{
	struct errand *e = arg;
	bool left;

	e->run(e->arg);
	pthread_mutex_lock(&e->lock);
	e->over = true;
	left = e->left;
	pthread_cond_signal(&e->moved);
	pthread_mutex_unlock(&e->lock);
	if (left)
		errand_free(e);
	return NULL;
}

static struct errand *
errand_begin(void (*run)(void *), void *arg)
{
	struct errand *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->run = run;
	e->arg = arg;
	pthread_mutex_init(&e->lock, NULL);
	clock_condition(&e->moved);
	return e;
}

/* Wait until it returns; false if the time is up first. */
static bool
errand_await_within(struct errand *e, unsigned seconds)
{
	uint64_t limit = (uint64_t)seconds * 1000000000;
	struct timespec until = clock_spec(clock_ns() + limit);
	bool over;

	pthread_mutex_lock(&e->lock);
	while (!e->over && (pthread_cond_timedwait(&e->moved, &e->lock,
	    &until) != ETIMEDOUT || clock_anew(&until, limit)))
		continue;
	over = e->over;
	e->left = !over;
	pthread_mutex_unlock(&e->lock);
	return over;
}

bool
errand_run(void (*run)(void *), void *arg, unsigned seconds, int *err)
{
	struct errand *e = errand_begin(run, arg);
	pthread_t thread;

	*err = e == NULL ? ENOMEM : pthread_create(&thread, NULL, errand_thread,
	    e);
	if (*err != 0) {
		if (e != NULL)
			errand_free(e);
		return false;
	}
	if (!errand_await_within(e, seconds)) {
		*err = ETIMEDOUT;
		return false;
	}
	pthread_join(thread, NULL);
	errand_free(e);
	return true;
}
