/*
 * maxtemp=: a thread watches the temperature of the source, because the disk
 * may not answer.  While it is too warm, every caller of rate_wait waits.  It
 * has to cool down by COOLER, or it would be too warm again at once.
 */
#include "conduct.h"

#include <math.h>
#include <poll.h>

#include "disk/disk.h"
#include "end/endpoint.h"

enum {
	EVERY = 1000,		/* ms */
	COOLER = 3,		/* degrees */
};

/* Without a measurement nobody waits. */
static void
thermometer_look(struct job *job)
{
	double most = (double)job->p->opts->maxtemp, is = NAN;
	struct disk d;

	if (!endpoint_disk(job->p->src, &d) || !disk_temperature(d.whole, &is))
		is = NAN;
	job->celsius = is;
	job->rate.paused = job->rate.paused ? is > most - COOLER : is > most;
}

static void *
thermometer_thread(void *arg)
{
	struct job *job = arg;
	struct pollfd p[2] = { { .fd = job->done, .events = POLLIN },
		{ .fd = job->halt, .events = POLLIN } };
	int n;

	while ((n = poll(p, 2, EVERY)) <= 0)
		if (n == 0)
			thermometer_look(job);
	job->rate.paused = false;
	return NULL;
}

void
thermometer_begin(struct job *job)
{
	job->celsius = NAN;
	if (job->p->opts->maxtemp < 0)
		return;
	thermometer_look(job);
	job->measured = pthread_create(&job->thermometer, NULL,
	    thermometer_thread, job) == 0;
	if (!job->measured)
		job->rate.paused = false;
}

void
thermometer_end(struct job *job)
{
	if (job->measured)
		pthread_join(job->thermometer, NULL);
}
