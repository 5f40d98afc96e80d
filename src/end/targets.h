/*
 * The targets of a tee, and what has become of each: for tee.c and tee_lane.c.
 *
 *	l	targets->lock, a leaf
 */
#ifndef PARDD_TARGETS_H
#define PARDD_TARGETS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "end/endpoint.h"

struct target {
	struct endpoint	 ep;
	struct fault	 why;		/* l: it was dropped; status 0: not */
	atomic_bool	 dropped;
	atomic_bool	 hung;		/* and does not answer */
	atomic_uint_fast64_t written;	/* bytes that it has taken */
	atomic_uint_fast64_t spent;	/* ns that its requests have taken */
	atomic_uint_fast64_t answered;	/* ns: when it last did, or had nothing
					 * to answer */
	atomic_uint	 asked;		/* requests that are under way */
};

struct targets {
	pthread_mutex_t	 lock;
	unsigned	 n;
	uint64_t	 limit;		/* ns that an answer may take */
	atomic_bool	 no_zero;	/* one of them cannot zero */
	atomic_bool	 lost;		/* somebody was given up: tee_lost */
	atomic_uint_fast64_t end, padded;	/* of what was written, without
					 * padding and with it */
	struct errands	*errands;	/* tee_errands.c's */
	struct target	 target[];
};

struct tee {			/* of a tee, or of a reader of one */
	struct targets	*targets;
	struct endpoint	*ep[TARGETS_MOST];	/* theirs, or readers of them */
	struct endpoint	*readers;	/* a reader's own; else NULL */
};

/* See tee_drop; and for who is waited for no more. */
void targets_drop(struct targets *, unsigned i, const struct fault *why);
void targets_give_up(struct targets *, unsigned i, uint64_t ns,
    const char *what, int status);

/* A request, or something else that takes its time, begins, and has ended. */
void targets_ask(struct targets *, unsigned i);
void targets_answer(struct targets *, unsigned i, uint64_t since);

/*
 * Threads that do something at all targets at once.  NULL without memory; free
 * them only once no target hangs.
 */
struct errands *errands_new(struct targets *);
void errands_free(struct errands *);

/*
 * Call run for each target that answers, also for the dropped ones if
 * "dropped", and wait for all.  A target is dropped for the fault that run
 * leaves, and given up where it takes too long; "what" then says what was not
 * done.
 */
void errands_send(struct targets *, const char *what, bool dropped,
    void (*run)(struct endpoint *, struct fault *));

/* The lanes of a tee: see struct backend. */
int tee_attach(struct lane *);
int tee_detach(struct lane *);
void tee_transfer(struct lane *, struct io *);

/* ns from now on by which a condition is to be waited for. */
struct timespec;
void targets_soon(struct timespec *);
void targets_condition(pthread_cond_t *);

#endif
