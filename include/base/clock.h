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
 * For how long everything has stood still, in nanoseconds: a wait was to end at
 * "due", by clock_ns, and a process that was stopped (Ctrl-Z, SIGSTOP, a frozen
 * cgroup or machine) comes back long after that.  0 if it is late by less than
 * a second.
 */
uint64_t clock_stood(uint64_t due);

/*
 * The same for who looks again and again, at least once a second, wherever it
 * was stopped in between: the time since it has looked, if that is longer by
 * half a second, else 0.  *looked becomes the time of now.
 */
uint64_t clock_missed(uint64_t *looked);

/* A time of clock_ns, as those who wait by CLOCK_MONOTONIC take it. */
struct timespec clock_spec(uint64_t ns);

/* Initialise a condition variable whose timed waits end at such a time. */
void clock_condition(pthread_cond_t *);

/*
 * A wait of "limit" ns has timed out at *until.  Returns true if everything has
 * stood still meanwhile: then wait again, to the new *until.  False: the time
 * is up.
 */
bool clock_anew(struct timespec *until, uint64_t limit);

#endif
