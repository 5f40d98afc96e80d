/*
 * Noting what the requests of a copy take.
 *
 * Each worker notes its own requests, in a fixed amount of memory; they share
 * how many requests are in flight, under a lock of a few instructions.  The
 * notes are added up when the workers have left.
 *
 * Times are ns of clock_ns(), positions bytes of the end.
 */
#ifndef PARDD_GAUGE_H
#define PARDD_GAUGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "end/endpoint.h"

struct plan;

/* Whose requests: reads of the source, writes and reads of the target. */
enum series { SERIES_SOURCE, SERIES_TARGET, SERIES_VERIFY, SERIES_MOST };

enum {
	PROFILE_BINS = 1024,	/* of positions */
	PROFILE_SLOTS = 1024,	/* of time */
	PROFILE_BUCKETS = 128,	/* of latencies, 4 for each doubling */
	PROFILE_SLOW = 16,	/* requests that took longest */
};

struct bin {			/* requests that begin at some positions */
	uint64_t	bytes;	/* moved */
	uint64_t	spent;	/* ns, latencies added up */
	uint64_t	busy;	/* ns, their shares of the time in which there
				 * were any */
	uint64_t	wall;	/* and the time before them without any */
	uint64_t	most;	/* ns, the longest latency */
	uint64_t	requests, errors;
};

struct slow {			/* a request */
	uint64_t	off, len;	/* bytes */
	uint64_t	ns;		/* that it took */
	uint64_t	at;		/* when it began */
};

struct gauge {			/* requests of one series: a worker's, or all */
	uint64_t	width;	/* bytes of a bin */
	uint64_t	tick;	/* ns of a slot */
	struct bin	all;
	uint64_t	least;	/* ns, the shortest latency */
	uint64_t	slows;	/* of them are in slow, in no order */
	struct slow	slow[PROFILE_SLOW];
	uint64_t	latency[PROFILE_BUCKETS];	/* requests */
	uint64_t	slot[PROFILE_SLOTS];	/* bytes, since the start */
	struct bin	bin[PROFILE_BINS];
};

struct meter {			/* what the workers share of a series */
	pthread_mutex_t	 lock;	/* guards the rest; a leaf */
	uint64_t	 flying;	/* requests */
	uint64_t	 last;	/* when one began or ended; 0: none yet */
	uint64_t	 share;	/* 2^-8 ns: of the time since the start, what
				 * came to a request, if all had the same */
};

struct profile {
	const struct plan *p;		/* for who tells it; may be NULL */
	unsigned	 workers;
	uint64_t	 origin[SERIES_MOST];	/* bytes; where bins begin */
	uint64_t	 start;
	struct timespec	 started;	/* the time of day */
	struct meter	 meter[SERIES_MOST];
	struct gauge	 gauge[];	/* SERIES_MOST for each worker */
};

/*
 * Room for the notes of so many workers, whose requests begin at byte "source"
 * and "target"; bins are width bytes wide at first.  Returns 0 or ENOMEM.
 * gauge_free frees it, and takes NULL too.
 */
int gauge_new(struct profile **pr, const struct plan *, unsigned workers,
    uint64_t width, uint64_t source, uint64_t target);
void gauge_free(struct profile *);

/*
 * The copy goes on after an interruption, which was the time of no request.
 * Nobody may be noting.  NULL will do.
 */
void gauge_go_on(struct profile *);

/*
 * Let a lane of worker n be noted.  Ends that are generated or discarded are
 * not; nor is anything if pr is NULL.
 */
void gauge_lane(struct profile *pr, unsigned n, struct lane *);

/*
 * A request begins; when it has ended, note it: io->op, off, len, done and err
 * count, and io->stamp is the profile's between the two.  One note for each
 * begin, in any order, by the lane's own thread, which tells the time (ns).
 * Requests to zero are not noted.  The lane must be one that is noted.
 */
void gauge_begin(const struct lane *, struct io *, uint64_t now);
void gauge_note(const struct lane *, const struct io *, uint64_t now);

/* ns at which a bucket of latencies begins; it ends where the next begins. */
uint64_t gauge_bucket(unsigned i);

/*
 * Add one gauge to another: as wide as the wider, then added, since each is a
 * power of two times the other.
 */
void gauge_merge(struct gauge *to, const struct gauge *from);

#endif
