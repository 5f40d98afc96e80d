/*
 * A monotonic clock: nobody can set it.
 */
#ifndef PARDD_CLOCK_H
#define PARDD_CLOCK_H

#include <stdint.h>

/* Nanoseconds since a fixed moment, the same for all threads. */
uint64_t clock_ns(void);

/* The same, in seconds. */
double clock_seconds(void);

#endif
