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

enum { MOMENT = 100000000 };	/* ns */

struct errand {
	void		(*run)(void *);	/* set before the thread starts */
	void		*arg;		/* likewise; the caller's */
	pthread_t	 thread;	/* for who waits */
	pthread_mutex_t	 lock;
	pthread_cond_t	 moved;
	bool		 over;	/* l */
	bool		 abandoned;	/* l; the thread frees it */
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
	left = e->abandoned;
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

/* Wait a moment for it to return; if it does not, leave it if "last". */
static bool
errand_await(struct errand *e, bool last)
{
	struct timespec until = clock_spec(clock_ns() + MOMENT);
	bool over;

	pthread_mutex_lock(&e->lock);
	while (!e->over && pthread_cond_timedwait(&e->moved, &e->lock,
	    &until) != ETIMEDOUT)
		continue;
	over = e->over;
	e->abandoned = !over && last;
	pthread_mutex_unlock(&e->lock);
	return over;
}

struct errand *
errand_start(void (*run)(void *), void *arg, int *err)
{
	struct errand *e = errand_begin(run, arg);

	*err = e == NULL ? ENOMEM : pthread_create(&e->thread, NULL,
	    errand_thread, e);
	if (*err == 0 || e == NULL)
		return e;
	errand_free(e);
	return NULL;
}

bool
errand_over(struct errand *e, bool last)
{
	pthread_t thread = e->thread;

	if (!errand_await(e, last))
		return false;
	pthread_join(thread, NULL);
	errand_free(e);
	return true;
}

bool
errand_watch(void (*run)(void *), void *arg, bool (*stay)(void *), void *with,
    int *err)
{
	struct errand *e = errand_start(run, arg, err);
	bool last = false;

	while (e != NULL && !errand_over(e, last)) {
		if (last) {
			*err = ETIMEDOUT;
			return false;
		}
		last = !stay(with);
	}
	return e != NULL;
}

bool
errand_attend(void (*run)(void *), void *arg, bool (*stay)(void *), void *with)
{
	int err = 0;

	if (!errand_watch(run, arg, stay, with, &err) && err != ETIMEDOUT)
		run(arg);
	return err != ETIMEDOUT;
}

static bool
errand_has_time(void *limit)
{
	return clock_within(limit);
}

bool
errand_run(void (*run)(void *), void *arg, unsigned seconds, int *err)
{
	struct clock_limit limit = { .seconds = seconds };

	return errand_watch(run, arg, errand_has_time, &limit, err);
}
