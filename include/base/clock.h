/*
 * A monotonic clock: nobody can set it.
 */
#ifndef PARDD_CLOCK_H
#define PARDD_CLOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds since a fixed moment, the same for all threads. */
uint64_t clock_ns(void);

/* The same, in seconds. */
double clock_seconds(void);

/*
 * For how long this process was stopped (Ctrl-Z, SIGSTOP, a frozen cgroup or
 * machine), in nanoseconds: a wait that should have ended at "due", by
 * clock_ns, ends long after that.  0 if it is late by less than a second.
 */
uint64_t clock_stood(uint64_t due);

/*
 * The same for a caller that polls at least once a second, wherever it was
 * stopped in between: the time since *looked, if that is more than 1.5 s, else
 * 0.  *looked becomes the current time.
 */
uint64_t clock_missed(uint64_t *looked);

/*
 * A wait that may take so many seconds from the first call on: false once they
 * are over.  The time that this process was stopped does not count.
 */
struct clock_limit {
	unsigned	 seconds;
	uint64_t	 until, looked;	/* by clock_ns; 0 at first */
};
bool clock_within(struct clock_limit *);

/* A time of clock_ns, for waits by CLOCK_MONOTONIC. */
static inline struct timespec
clock_spec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000) };
}

/* Initialise a condition variable whose timed waits end at such a time. */
void clock_condition(pthread_cond_t *);

/*
 * A wait of "limit" ns has timed out at *until.  Returns true if the process
 * was stopped meanwhile: then wait again, until the new *until.  False: the
 * time is up.
 */
bool clock_anew(struct timespec *until, uint64_t limit);

#endif
