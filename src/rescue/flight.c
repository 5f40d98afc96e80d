/*
 * A read that waits behind a slow error is not slow itself.  So it is timed
 * from its beginning, or from the last answer to an earlier read, because the
 * disk may serve them one after the other.  Answers to later reads do not
 * count, because the disk may serve many at a time.
 *
 *	f	flight->lock, a leaf; held for a few instructions
 */
#include "rescue/flight.h"

#include "base/clock.h"

void
flight_init(struct flight *f)
{
	*f = (struct flight){ .begun = 0 };
	pthread_mutex_init(&f->lock, NULL);
}

void
flight_destroy(struct flight *f)
{
	pthread_mutex_destroy(&f->lock);
}

static size_t
place_of(const struct worker *w)
{
	return (size_t)(w - w->job->worker);
}

void
flight_begin(struct flight *f, const struct worker *w)
{
	size_t i = place_of(w);

	pthread_mutex_lock(&f->lock);
	f->read[i].number = ++f->begun;
	f->read[i].since = clock_seconds();
	pthread_mutex_unlock(&f->lock);
}

double
flight_end(struct flight *f, const struct worker *w)
{
	double now = clock_seconds(), seconds;
	size_t me = place_of(w), i;

	pthread_mutex_lock(&f->lock);
	seconds = now - f->read[me].since;
	for (i = 0; i < WORKERS_MOST; i++)
		if (f->read[i].number > f->read[me].number)
			f->read[i].since = now;
	f->read[me].number = 0;
	pthread_mutex_unlock(&f->lock);
	return seconds;
}
