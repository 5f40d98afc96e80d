/*
 * rate=: no more than so many bytes a second.  All workers share one schedule,
 * and whoever wants to move bytes waits until they are paid for, so that even
 * the first do not come in a burst.
 */
#ifndef PARDD_RATE_H
#define PARDD_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

enum {
	RATE_LEAST = 4096,	/* bytes a second */
	RATE_LOOK = 100000000,	/* ns; so soon a new rate counts for all */
};

struct rate {
	atomic_uint_fast64_t bytes;	/* a second; 0: no limit */
	atomic_bool	 paused;	/* nothing goes */
	atomic_uint_fast64_t paid;	/* ns of job's clock: for what was let
					 * go, time has been paid until then */
};

/*
 * Limit to bytes a second from now on; 0: no limit.  Before the start, or while
 * others wait: they see it within a tenth of a second.
 */
void rate_set(struct rate *, uint64_t bytes);

/*
 * Ask to move len bytes.  0: they may go now, and are accounted for.  Else the
 * ns after which it is worth asking again.  Never blocks; for anybody.
 */
uint64_t rate_due(struct rate *, uint64_t len);

/*
 * The same, and wait for it.  False if halt became readable before, and then
 * nothing is accounted for.
 */
bool rate_wait(struct rate *, uint64_t len, int halt);

/*
 * How much to move at once, most at most: so little that it takes no tenth of a
 * second, and never less than 4096 bytes.  All of it where bpt= says so, or
 * where each piece has a digest.
 */
size_t rate_piece(const struct rate *, const struct plan *, size_t most);

#endif
