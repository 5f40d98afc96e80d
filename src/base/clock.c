/*
 * A clock that nobody sets.
 */
#include "base/clock.h"

uint64_t
clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

double
clock_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

uint64_t
clock_stood(uint64_t due)
{
	uint64_t now = clock_ns();

	return now > due && now - due > 1000000000 ? now - due : 0;
}

uint64_t
clock_missed(uint64_t *looked)
{
	uint64_t now = clock_ns(), since = now - *looked;

	*looked = now;
	return since > 1500000000 ? since : 0;
}

bool
clock_within(struct clock_limit *l)
{
	if (l->until == 0) {
		l->looked = clock_ns();
		l->until = l->looked + (uint64_t)l->seconds * 1000000000;
	}
	l->until += clock_missed(&l->looked);
	return l->looked < l->until;
}

void
clock_condition(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

bool
clock_anew(struct timespec *until, uint64_t limit)
{
	if (clock_stood((uint64_t)until->tv_sec * 1000000000 +
	    (uint64_t)until->tv_nsec) == 0)
		return false;
	*until = clock_spec(clock_ns() + limit);
	return true;
}
