/*
 * Several targets as one end: what is written to it is written to all of them,
 * and a write is over when all are.
 *
 * A target that fails, or does not answer for as long as timeout= says, is
 * dropped: it gets no further request, and why is kept.  Nothing fails as long
 * as one is left.
 *
 * Where it does not say "an end", one that tee_open has opened is meant.
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
 * Open all that opts name as targets, as endpoint_open.  Returns 0, or -1 with
 * *f, and then there is nothing to close.
 */
int tee_open(struct endpoint *, const struct opts *, bool look,
    struct fault *f);

/*
 * endpoint_close keeps what has become of each: free that, too, at the very
 * end.  Does nothing for any other end.
 */
void tee_free(struct endpoint *);

/*
 * Each target is limited to its partition: work out what they have in common,
 * the strictest of each.  Returns 0, or -1 with *f: they do not go together.
 */
int tee_join(struct endpoint *, struct fault *f);

/*
 * The targets that an end stands for: of any end but a tee, that one.  NULL:
 * there are no more.
 */
struct endpoint *tee_target(struct endpoint *, unsigned i);

/* endpoint_is and endpoint_look, of any of those that an end stands for. */
bool tee_is(struct endpoint *, int fd);
int tee_look(struct endpoint *, struct fault *f);

/*
 * endpoint_prepare for all: what is to be created is, before anything is cut
 * off, and goes again if one cannot be.  Length is bytes behind their bases.
 */
int tee_prepare(struct endpoint *, mode_t, int64_t length, struct fault *f);

/* Drop a target for this reason, unless it is dropped.  For anybody. */
void tee_drop(struct endpoint *, unsigned i, const struct fault *why);

/* Whether it was dropped, and why; f may be NULL.  For anybody. */
bool tee_dropped(const struct endpoint *, unsigned i, struct fault *f);

/* How many are left; bytes that one has taken.  For anybody. */
unsigned tee_left(const struct endpoint *);
uint64_t tee_written(const struct endpoint *, unsigned i);

/*
 * Of those left the one whose requests have taken longest in all; and the one
 * that has not answered for longest, or the tee itself.  For anybody.
 */
struct endpoint *tee_slowest(struct endpoint *);
struct endpoint *tee_silent(struct endpoint *);

/*
 * A lane of a reader (endpoint_readback) has just read: what came of it at the
 * i-th target, in a buffer of its own behind the request's; NULL: it is
 * dropped.  A reader needs room for as many whole pages as all read.
 */
const struct io *tee_read(const struct lane *, unsigned i);

/*
 * Whether somebody who was given up has the buffer of the lane's last writes
 * still: it must not be written to, nor unmapped.  Asking forgets it.
 */
bool tee_lent(struct lane *);

/*
 * Whether somebody was given up.  It may come back at any time, so nothing of
 * the run may be taken back: the process has to end where it is.
 */
bool tee_lost(const struct endpoint *);

#endif
