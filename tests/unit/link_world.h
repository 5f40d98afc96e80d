/*
 * The mock world of a link to a server: a clock that advances while it waits, a
 * poll that returns what a test says, a bell that can be missing, and a library
 * whose functions fail by name; included once, by a test.
 */
#ifndef PARDD_TEST_LINK_WORLD_H
#define PARDD_TEST_LINK_WORLD_H

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>

#define SECOND	((int64_t)1000)	/* ms */

static struct {
	const char	*fails;		/* this function of the library, */
	const char	*words;		/* because of this */
	bool		 mute;		/* the server never answers */
	int		 poll_err;	/* how the next poll ends, once */
	bool		 no_bell;
	int64_t		 now;		/* ms */
} world;

/*
 * How a poll of these ends: -1 with errno, 0 when the time is over, or 1, and
 * what there is to hear is still to be said.
 */
static int
world_poll(struct pollfd *p, nfds_t n, int ms)
{
	p[0].revents = p[n - 1].revents = 0;
	errno = world.poll_err;
	world.poll_err = 0;
	if (errno != 0)
		return -1;
	if (world.mute)
		world.now += ms > 0 ? ms : 0;
	return world.mute ? 0 : 1;
}

static bool
fails(const char *name)
{
	return world.fails != NULL && strcmp(world.fails, name) == 0;
}

/* -------------------------------------------- in the place of the C library */

int
clock_gettime(clockid_t clock, struct timespec *t)
{
	*t = (struct timespec){ world.now / SECOND,
		world.now % SECOND * 1000000 };
	return 0;
}

int
eventfd(unsigned value, int flags)
{
	if (world.no_bell) {
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_eventfd2, value, flags);
}

#endif
