/*
 * A lock with limited waiting.  A waiter that loses patience takes it over, and
 * the previous ticket becomes void.
 *
 * With two seats, a worker that seems stuck keeps its seat when another is let
 * in.  A worker that only waits behind a stuck one looks stuck itself.  So its
 * time counts from when the one before it has left, unless the disk was seen to
 * serve two reads at the same time.
 *
 * There are more seats only once two errors were seen to take their time side
 * by side.  Many disks drop their whole queue when one read fails, and restart
 * it: there each additional read would only repeat the errors of the others.
 *
 * A read that waits behind a slow error is not slow itself.  So all are timed
 * from their beginning, or from the last answer to an earlier read, because the
 * disk may serve them one after the other.  Answers to later reads do not
 * count, because the disk may serve many at a time.
 *
 *	x	exclusive->lock, a leaf; held for a few instructions
 */
#include "rescue/exclusive.h"

#include <time.h>

#include "base/clock.h"

void
exclusive_init(struct exclusive *x, unsigned most)
{
	*x = (struct exclusive){ .most = most,
		.seats = most < 2 ? most : 2 };
	clock_condition(&x->left);
	pthread_mutex_init(&x->lock, NULL);
}

void
exclusive_destroy(struct exclusive *x)
{
	pthread_cond_destroy(&x->left);
	pthread_mutex_destroy(&x->lock);
}

/* Wait until someone leaves, or until "when". */
static void
wait_until(struct exclusive *x, double when)
{
	time_t s = (time_t)when;
	struct timespec t = { .tv_sec = s,
		.tv_nsec = (long)((when - (double)s) * 1e9) };

	pthread_cond_timedwait(&x->left, &x->lock, &t);
}

/* The seat of a ticket; NULL if it was left behind, or is 0. */
static struct seat *
seat_of(struct exclusive *x, uint64_t ticket)
{
	unsigned i;

	for (i = 0; i < x->seats && ticket > 0; i++)
		if (x->seat[i].ticket == ticket)
			return &x->seat[i];
	return NULL;
}

static struct seat *
empty_seat(struct exclusive *x)
{
	unsigned i;

	for (i = 0; i < x->seats; i++)
		if (x->seat[i].ticket == 0)
			return &x->seat[i];
	return NULL;
}

/*
 * The worker that has spent longest on one read, of those that are not stuck if
 * there is one; NULL if nobody is inside.
 */
static struct seat *
exclusive_slowest(struct exclusive *x)
{
	struct seat *s = NULL, *at;
	unsigned i;

	for (i = 0; i < x->seats; i++) {
		at = &x->seat[i];
		if (at->ticket > 0 && (s == NULL || at->stuck < s->stuck ||
		    (at->stuck == s->stuck && at->since < s->since)))
			s = at;
	}
	return s;
}

/*
 * Wait for a seat.  *who is its previous owner, or the one stuck on the other
 * seat, or NULL.
 */
static struct seat *
wait_for_seat(struct exclusive *x, struct seat **who)
{
	struct seat *empty;
	double when;

	for (;;) {
		empty = empty_seat(x);
		*who = exclusive_slowest(x);
		if (*who == NULL || (empty != NULL && (*who)->stuck))
			return empty;
		when = (*who)->since + (empty != NULL ? x->hint : x->patience);
		if (clock_seconds() >= when)
			return empty != NULL ? empty : *who;
		wait_until(x, when);
	}
}

uint64_t
exclusive_enter(struct exclusive *x, double hint, double patience,
    struct seg *stuck)
{
	struct seat *seat, *who;
	uint64_t ticket;

	pthread_mutex_lock(&x->lock);
	x->hint = hint;
	x->patience = patience;
	seat = wait_for_seat(x, &who);
	*stuck = (struct seg){ .len = 0 };
	if (who != NULL && !who->stuck) {
		*stuck = who->at;
		who->stuck = true;
	}
	ticket = ++x->ticket;
	*seat = (struct seat){ .ticket = ticket, .since = clock_seconds() };
	if (empty_seat(x) != NULL)	/* another waiter can watch this one */
		pthread_cond_signal(&x->left);
	pthread_mutex_unlock(&x->lock);
	return ticket;
}

void
exclusive_reads(struct exclusive *x, uint64_t ticket, const struct seg *at)
{
	struct seat *s;

	pthread_mutex_lock(&x->lock);
	s = seat_of(x, ticket);
	if (s != NULL) {
		s->since = clock_seconds();
		s->at = *at;
		s->stuck = false;
	}
	pthread_mutex_unlock(&x->lock);
}

/* Whether the disk answers a ticket while an earlier one still waits. */
static bool
exclusive_overtakes(const struct exclusive *x, uint64_t ticket)
{
	unsigned i;

	for (i = 0; i < x->seats; i++)
		if (x->seat[i].at.len > 0 && x->seat[i].ticket > 0 &&
		    x->seat[i].ticket < ticket)
			return true;
	return false;
}

/* The disk may only now have come to those admitted after a ticket. */
static void
begin_anew(struct exclusive *x, uint64_t ticket)
{
	unsigned i;

	for (i = 0; i < x->seats && !x->parallel; i++)
		if (x->seat[i].ticket > ticket)
			x->seat[i].since = clock_seconds();
}

bool
exclusive_passed(struct exclusive *x, uint64_t ticket)
{
	struct seat *s;
	bool passed;

	pthread_mutex_lock(&x->lock);
	s = seat_of(x, ticket);
	passed = ticket > 0 && (s == NULL || s->stuck);
	if (s != NULL) {
		s->at.len = 0;
		x->parallel = x->parallel || exclusive_overtakes(x, ticket);
	} else if (ticket == 0) {
		begin_anew(x, 0);
	}
	pthread_mutex_unlock(&x->lock);
	return passed;
}

void
exclusive_failed(struct exclusive *x, uint64_t ticket, double longest)
{
	double now = clock_seconds();
	const struct seat *s;

	pthread_mutex_lock(&x->lock);
	s = seat_of(x, ticket);
	if (s != NULL && x->parallel && x->failed >= s->since &&
	    now - x->failed < longest * 3 / 4)
		x->seats = x->most;
	x->failed = now;
	pthread_mutex_unlock(&x->lock);
}

void
exclusive_leave(struct exclusive *x, uint64_t ticket)
{
	struct seat *s;

	pthread_mutex_lock(&x->lock);
	s = seat_of(x, ticket);
	if (s != NULL) {
		s->ticket = 0;
		begin_anew(x, ticket);
		pthread_cond_signal(&x->left);
	}
	pthread_mutex_unlock(&x->lock);
}

static size_t
place_of(const struct worker *w)
{
	return (size_t)(w - w->job->worker);
}

void
exclusive_begins(struct exclusive *x, const struct worker *w)
{
	size_t me = place_of(w);

	pthread_mutex_lock(&x->lock);
	x->read[me].number = ++x->begun;
	x->read[me].since = clock_seconds();
	pthread_mutex_unlock(&x->lock);
}

double
exclusive_ends(struct exclusive *x, const struct worker *w)
{
	double now = clock_seconds(), seconds;
	size_t me = place_of(w), i;

	pthread_mutex_lock(&x->lock);
	seconds = now - x->read[me].since;
	for (i = 0; i < WORKERS_MOST; i++)
		if (x->read[i].number > x->read[me].number)
			x->read[i].since = now;
	x->read[me].number = 0;
	pthread_mutex_unlock(&x->lock);
	return seconds;
}
