/*
 * rate=: a schedule without a lock.  "paid" is the time at which all bytes
 * admitted so far have used up their share; the next request may go then.  A
 * worker that is late by up to LATE (a timer, a slow request) may catch up, or
 * the rate would never be reached; longer delays are lost.
 */
#include "copy/job.h"

#include <poll.h>
#include <time.h>

#include "base/clock.h"
#include "cli/opts.h"

enum {
	SECOND = 1000000000,
	LATE = 20000000,	/* ns that may be caught up */
	PARTS = 16,		/* requests a second, at least */
	PIECE_LEAST = 4096,
};

void
rate_set(struct rate *r, uint64_t bytes)
{
	r->paid = clock_ns();
	r->bytes = bytes;
}

/* The time in ns that len bytes take. */
static uint64_t
rate_price(uint64_t len, uint64_t bytes)
{
	uint64_t ns;

	if (__builtin_mul_overflow(len, (uint64_t)SECOND, &ns))
		ns = UINT64_MAX;
	ns /= bytes;
	return ns < UINT64_MAX / 4 ? ns : UINT64_MAX / 4;
}

uint64_t
rate_due(struct rate *r, uint64_t len)
{
	uint_fast64_t paid = r->paid;
	uint64_t bytes = r->bytes, now, cost, from, due;

	if (r->paused)
		return RATE_LOOK;
	if (bytes == 0)
		return 0;
	cost = rate_price(len, bytes);
	do {
		now = clock_ns();
		from = now > cost + LATE ? now - cost - LATE : 0;
		due = (paid > from ? paid : from) + cost;
		if (due > now)
			return due - now;
	} while (!atomic_compare_exchange_weak(&r->paid, &paid, due));
	return 0;
}

bool
rate_wait(struct rate *r, uint64_t len, int halt)
{
	struct pollfd p = { .fd = halt, .events = POLLIN };
	uint64_t due;

	while ((due = rate_due(r, len)) > 0) {
		struct timespec t = { 0, (long)(due < RATE_LOOK ? due :
		    RATE_LOOK) };

		if (ppoll(&p, 1, &t, NULL) > 0)
			return false;
	}
	return true;
}

size_t
rate_piece(const struct rate *r, const struct plan *p, size_t most)
{
	uint64_t bytes = r->bytes;
	size_t n = most;

	if (bytes == 0 || p->opts->bpt > 0 || p->verify != 0 ||
	    p->opts->manifest != NULL || p->opts->base != NULL)
		return n;		/* each piece needs its own digest */
	while (n > bytes / PARTS && n % 2 == 0 && n / 2 >= PIECE_LEAST &&
	    n / 2 % p->pad == 0)
		n /= 2;
	return n;
}
