/*
 * For a program that the scheduler is linked with: it may begin anew.
 */
#ifndef SCHED_H
#define SCHED_H

#include <stdint.h>

/*
 * From here on the schedule is this seed's, but time makes no leaps.  There is
 * no thread but this one.
 */
void sched_begin(uint64_t seed);

/* 0 to n - 1, by the seed. */
uint64_t sched_roll(uint64_t n);

/* Places at which another thread might have gone on, since the beginning. */
uint64_t sched_steps(void);

#endif
