/*
 * SLEPT=SECONDS: the machine sleeps for so long between the first time that the
 * clock which goes on meanwhile is looked at, and the second.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *t);

int
clock_gettime(clockid_t id, struct timespec *t)
{
	static int looked;
	const char *slept = id == CLOCK_BOOTTIME ? getenv("SLEPT") : NULL;
	int failed = (int)syscall(SYS_clock_gettime, id, t);

	if (slept != NULL && failed == 0 && looked++ > 0)
		t->tv_sec += atoi(slept);
	return failed;
}
