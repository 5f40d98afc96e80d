/*
 * How many thousand ticks a second this processor's time stamp counter has, which
 * is the one a guest of TCG reads.  By itself a guest measures it against a timer
 * that others keep waiting on a busy machine, and then its seconds are not ours.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>

/* At the same moment, as far as one can tell: of some tries the closest. */
static void
both(uint64_t *tick, int64_t *ns)
{
	struct timespec now;
	uint64_t from, to, least = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		from = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		to = __rdtsc();
		if (to - from < least) {
			least = to - from;
			*tick = from + least / 2;
			*ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
		}
	}
}

int
main(void)
{
	struct timespec pause = {.tv_nsec = 50000000};
	uint64_t tick[2] = {0, 0};
	int64_t ns[2] = {0, 0};

	both(&tick[0], &ns[0]);
	nanosleep(&pause, NULL);
	both(&tick[1], &ns[1]);
	printf("%.0f\n", (double)(tick[1] - tick[0]) * 1e6 / (double)(ns[1] - ns[0]));
	return 0;
}

#else

int
main(void)
{
	return 1;
}

#endif
