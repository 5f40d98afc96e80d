/*
 * The targets of a tee and the state of each.
 *
 *	l	targets->lock, a leaf
 */
#ifndef PARDD_TARGETS_H
#define PARDD_TARGETS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/errand.h"
#include "base/fault.h"
#include "end/endpoint.h"

struct target {
	struct endpoint	 ep;
	struct fault	 why;		/* l: why it was dropped; status 0: it
					 * was not.  Const once "dropped" is
					 * set */
	atomic_bool	 dropped;
	atomic_bool	 stuck;		/* dropped because it does not answer */
	atomic_uint_fast64_t written;	/* bytes */
	atomic_uint_fast64_t spent;	/* ns that its requests have taken */
	atomic_uint_fast64_t answered;	/* ns: its last answer, or the last time
					 * that no request was in flight */
	atomic_uint	 asked;		/* requests in flight */
	struct {			/* a flush or a close, see tee.c */
		struct errand	*errand;	/* under way, or NULL */
		void (*run)(struct endpoint *, struct fault *);
		uint64_t	 since, limit;	/* ns */
		struct fault	 f;	/* the errand's, until it is over */
	}		 call;
};

struct targets {
	pthread_mutex_t	 lock;
	unsigned	 n;
	uint64_t	 limit;		/* ns that an answer may take */
	atomic_bool	 stuck;		/* a call was abandoned: tee_stuck */
	atomic_uint_fast64_t end, padded;	/* end of what was written,
						 * without and with padding */
	struct target	 target[];
};

struct tee {			/* priv of a tee, or of its reader */
	struct targets	*targets;
	struct endpoint	*ep[TARGETS_MOST];	/* the targets, or readers of
						 * them */
	struct endpoint	*readers;	/* owned by a reader; else NULL */
};

/* Drop a target for this reason, unless it is dropped already.  Any thread. */
void targets_drop(struct targets *, unsigned i, const struct fault *why);

#endif
