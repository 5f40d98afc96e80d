/*
 * A lock that is not waited for for ever.  Who loses patience takes
 * it over, and the ticket of the one before is worth nothing any more.
 *
 *	g	exclusive->lock, a leaf; held for a few instructions
 */
#include "rescue/exclusive.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"

int
exclusive_init(struct exclusive *g)
{
	pthread_condattr_t attr;
	int err;

	*g = (struct exclusive){ .ticket = 0 };
	err = pthread_condattr_init(&attr);
	if (err != 0)
		return err;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	err = pthread_cond_init(&g->left, &attr);
	pthread_condattr_destroy(&attr);
	if (err != 0)
		return err;
	err = pthread_mutex_init(&g->lock, NULL);
	if (err != 0)
		pthread_cond_destroy(&g->left);
	return err;
}

void
exclusive_destroy(struct exclusive *g)
{
	pthread_cond_destroy(&g->left);
	pthread_mutex_destroy(&g->lock);
}

/* Wait until somebody has left, or for a time. */
static void
wait_until(struct exclusive *g, double when)
{
	time_t s = (time_t)when;
	struct timespec t = { .tv_sec = s,
		.tv_nsec = (long)((when - (double)s) * 1e9) };

	pthread_cond_timedwait(&g->left, &g->lock, &t);
}

uint64_t
exclusive_enter(struct exclusive *g, double patience, struct seg *stuck)
{
	uint64_t ticket;

	pthread_mutex_lock(&g->lock);
	while (g->held && clock_seconds() < g->since + patience)
		wait_until(g, g->since + patience);
	*stuck = g->held ? g->at : (struct seg){ .len = 0 };
	g->held = true;
	g->since = clock_seconds();
	g->at.len = 0;
	ticket = ++g->ticket;
	pthread_mutex_unlock(&g->lock);
	return ticket;
}

void
exclusive_reads(struct exclusive *g, uint64_t ticket, const struct seg *at)
{
	pthread_mutex_lock(&g->lock);
	if (g->ticket == ticket) {
		g->since = clock_seconds();
		g->at = *at;
	}
	pthread_mutex_unlock(&g->lock);
}

void
exclusive_leave(struct exclusive *g, uint64_t ticket)
{
	pthread_mutex_lock(&g->lock);
	if (g->ticket == ticket && g->held) {
		g->held = false;
		pthread_cond_signal(&g->left);
	}
	pthread_mutex_unlock(&g->lock);
}
