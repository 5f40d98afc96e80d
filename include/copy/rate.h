/*
 * rate=: a limit in bytes per second.  All workers share one schedule, and a
 * worker waits before it moves bytes, not after, so there is no burst at the
 * start.
 */
#ifndef PARDD_RATE_H
#define PARDD_RATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

enum {
	RATE_LEAST = 4096,	/* bytes per second */
	RATE_LOOK = 100000000,	/* ns until all obey a new rate */
};

struct rate {
	atomic_uint_fast64_t bytes;	/* per second; 0: no limit */
	atomic_bool	 paused;	/* nothing may move */
	atomic_uint_fast64_t paid;	/* ns: the time until which the bytes
					 * granted so far take */
};

/*
 * Set the limit in bytes per second; 0: none.  Threads that are waiting obey it
 * within a tenth of a second.
 */
void rate_set(struct rate *, uint64_t bytes);

/*
 * Ask to move len bytes.  Returns 0 if they may move now; they are then
 * accounted for.  Else returns the ns after which to ask again.  Never blocks.
 * Safe in any thread.
 */
uint64_t rate_due(struct rate *, uint64_t len);

/*
 * The same, but wait.  Returns false, with nothing accounted for, if the
 * descriptor "halt" became readable meanwhile.
 */
bool rate_wait(struct rate *, uint64_t len, int halt);

/*
 * How many bytes to move at a time, up to "most": a tenth of a second's worth,
 * but at least 4096.  It is "most" if bpt= is given, or if each piece has a
 * digest.
 */
size_t rate_piece(const struct rate *, const struct plan *, size_t most);

#endif
