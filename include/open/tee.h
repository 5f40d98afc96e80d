/*
 * Several targets as one end: a write goes to all of them, and is complete when
 * all have completed.
 *
 * A target that fails, or does not answer within timeout=, is dropped: it gets
 * no more requests, and the reason is kept.  The end fails only when none is
 * left.
 *
 * The endpoint is one opened by tee_open, unless it says "any end".
 */
#ifndef PARDD_TEE_H
#define PARDD_TEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"
#include "cli/opts.h"
#include "end/endpoint.h"

/*
 * Open every target of opts, as endpoint_open does.  Returns 0, or -1 with *f
 * and nothing to close.
 */
int tee_open(struct endpoint *, const struct opts *, bool look,
    struct fault *f);

/*
 * Free what endpoint_close has kept about each target.  Any end; nothing
 * happens unless it is a tee.
 */
void tee_free(struct endpoint *);

/*
 * Once each target is limited to its partition, work out what they have in
 * common: the strictest of all limits.  Returns 0, or -1 with *f if they do not
 * fit together.
 */
int tee_join(struct endpoint *, struct fault *f);

/*
 * The i-th target of any end; unless it is a tee, it has one target, itself.
 * NULL when there are no more.
 */
struct endpoint *tee_target(struct endpoint *, unsigned i);

/* endpoint_is and endpoint_look for each target of any end. */
bool tee_is(struct endpoint *, int fd);
int tee_look(struct endpoint *, struct fault *f);

/*
 * endpoint_prepare for all.  Files are created before any is truncated, and
 * removed again if one cannot be created. length is in bytes from the base of
 * each.
 */
int tee_prepare(struct endpoint *, mode_t, int64_t length, struct fault *f);

/* Why the i-th target of any end was dropped; NULL: it was not.  Any thread. */
const struct fault *tee_dropped(const struct endpoint *, unsigned i);

/* How many targets are left; how many bytes one has taken.  Any thread. */
unsigned tee_left(const struct endpoint *);
uint64_t tee_written(const struct endpoint *, unsigned i);

/*
 * The remaining target whose requests have taken longest in total; and the one
 * that has been silent for longest.  Without any, the tee itself; and NULL, if
 * no request is in flight.  Any thread.
 */
struct endpoint *tee_slowest(struct endpoint *);
struct endpoint *tee_silent(struct endpoint *);

/*
 * After a read by a lane of a reader (endpoint_readback): the result at the
 * i-th target, i * stride bytes into the buffer of the request; NULL if it is
 * dropped.  The stride consists of whole pages, and is the same for all
 * requests of a buffer: an abandoned target may still write there.
 */
const struct io *tee_read(const struct lane *, unsigned i);

/*
 * Whether a call to a target was abandoned.  It may return at any time, so
 * nothing that it uses may be freed, and the process has to end by _exit.
 */
bool tee_stuck(const struct endpoint *);

#endif
