/*
 * Calls to several targets at the same time, each in its own thread: flush and
 * close.  A target that takes too long is given up, as in a lane.
 *
 *	l	errands->lock
 */
#include "targets.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/status.h"

struct errand {			/* a call to one target */
	pthread_t	 thread;
	struct errands	*all;
	unsigned	 i;
	uint64_t	 since, limit;	/* ns */
	void		(*run)(struct endpoint *, struct fault *);
	bool		 begun;		/* there is a thread to join */
	bool		 under_way;	/* l */
	struct fault	 f;		/* l: its result; status 0: success */
};

struct errands {		/* l: lock.  One kind of call at a time */
	struct targets	*t;
	const char	*what;		/* for messages */
	pthread_mutex_t	 lock;
	pthread_cond_t	 over;
	unsigned	 left;		/* l */
	struct errand	 one[TARGETS_MOST];
};

struct errands *
errands_new(struct targets *t)
{
	struct errands *all = calloc(1, sizeof(*all));
	unsigned i;

	if (all == NULL)
		return NULL;
	all->t = t;
	pthread_mutex_init(&all->lock, NULL);
	clock_condition(&all->over);
	for (i = 0; i < t->n; i++) {
		all->one[i].all = all;
		all->one[i].i = i;
	}
	return all;
}

void
errands_free(struct errands *all)
{
	pthread_cond_destroy(&all->over);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

static void *
carry_out(void *arg)
{
	struct errand *e = arg;
	struct errands *all = e->all;
	struct fault f = { .status = 0 };

	e->run(&all->t->target[e->i].ep, &f);
	pthread_mutex_lock(&all->lock);
	if (e->under_way) {		/* unless it was given up */
		targets_answer(all->t, e->i, e->since);
		e->under_way = false;
		e->f = f;
		all->left--;
		pthread_cond_signal(&all->over);
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* l: give up those that take too long. */
static void
tee_errands_hurry(struct errands *all)
{
	uint64_t now = clock_ns();
	struct errand *e;

	for (e = all->one; e < all->one + all->t->n; e++)
		if (e->under_way && now - e->since > e->limit) {
			targets_give_up(all->t, e->i, e->limit, all->what,
			    STATUS_NOT_FLUSHED);
			e->under_way = e->begun = false;
			all->left--;
		}
}

/*
 * The limit for a flush, which may have to write the rest of the page cache: at
 * least 1 MB/s is expected of a medium.
 */
static uint64_t
tee_errands_timeout(const struct targets *t, const struct target *to)
{
	return t->limit + (to->ep.is.past_cache ? 0 : to->written * 1000);
}

static void
tee_errands_begin(struct errands *all, struct errand *e,
    void (*run)(struct endpoint *, struct fault *))
{
	struct target *to = &all->t->target[e->i];

	e->run = run;
	e->since = clock_ns();
	e->limit = tee_errands_timeout(all->t, to);
	e->under_way = true;
	targets_ask(all->t, e->i);
	pthread_mutex_lock(&all->lock);
	all->left++;
	pthread_mutex_unlock(&all->lock);
	e->begun = pthread_create(&e->thread, NULL, carry_out, e) == 0;
	if (!e->begun)
		carry_out(e);
}

void
errands_send(struct targets *t, const char *what, bool dropped,
    void (*run)(struct endpoint *, struct fault *))
{
	struct errands *all = t->errands;
	uint64_t stood;
	bool in_vain;
	unsigned i;

	all->what = what;
	for (i = 0; i < t->n; i++)
		if (!t->target[i].hung && (dropped || !t->target[i].dropped))
			tee_errands_begin(all, &all->one[i], run);
	pthread_mutex_lock(&all->lock);
	while (all->left > 0) {
		in_vain = targets_wait(&all->over, &all->lock, &stood);
		for (i = 0; i < t->n; i++)
			all->one[i].since += stood;
		if (in_vain)
			tee_errands_hurry(all);
	}
	pthread_mutex_unlock(&all->lock);
	for (i = 0; i < t->n; i++) {
		if (all->one[i].begun)
			pthread_join(all->one[i].thread, NULL);
		all->one[i].begun = false;
		if (all->one[i].f.status != 0)
			targets_drop(t, i, &all->one[i].f);
	}
}
