/*
 * A clock that nobody sets.
 */
#ifndef PARDD_CLOCK_H
#define PARDD_CLOCK_H

#include <stdint.h>

/* ns since some moment that is the same for all threads. */
uint64_t clock_ns(void);

/* The same in seconds. */
double clock_seconds(void);

#endif
