/*
 * Measuring the requests of a copy.
 *
 * Each worker records its own requests in a fixed amount of memory.  The
 * workers share only the number of requests in flight, under a lock held for a
 * few instructions.  The records are added up once the workers have ended.
 *
 * Times are ns of clock_ns(), positions are bytes of the end.
 */
#ifndef PARDD_GAUGE_H
#define PARDD_GAUGE_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "end/endpoint.h"

struct plan;

/* Reads of the source, writes to the target, and reads of the target. */
enum series { SERIES_SOURCE, SERIES_TARGET, SERIES_VERIFY, SERIES_MOST };

enum {
	PROFILE_BINS = 1024,	/* of positions */
	PROFILE_SLOTS = 1024,	/* of time */
	PROFILE_BUCKETS = 128,	/* of latencies, 4 per doubling */
	PROFILE_SLOW = 16,	/* slowest requests, kept one by one */
};

struct bin {			/* requests that begin in a range of
				 * positions */
	uint64_t	bytes;	/* moved */
	uint64_t	spent;	/* ns, sum of latencies */
	uint64_t	busy;	/* ns, their shares of the time in which
				 * requests were in flight */
	uint64_t	wall;	/* busy, and idle time before them */
	uint64_t	most;	/* ns, longest latency */
	uint64_t	requests, errors;
};

struct slow {			/* one request */
	uint64_t	off, len;	/* bytes */
	uint64_t	ns;		/* duration */
	uint64_t	at;		/* when it began */
};

struct gauge {			/* one series, of one worker or of all */
	uint64_t	width;	/* bytes per bin */
	uint64_t	tick;	/* ns per slot */
	struct bin	all;
	uint64_t	least;	/* ns, the shortest latency */
	uint64_t	slows;	/* entries used in slow, in no order */
	struct slow	slow[PROFILE_SLOW];
	uint64_t	latency[PROFILE_BUCKETS];	/* requests */
	uint64_t	slot[PROFILE_SLOTS];	/* bytes moved */
	struct bin	bin[PROFILE_BINS];
};

struct meter {			/* shared by the workers, for one series */
	pthread_mutex_t	 lock;	/* a leaf; guards the rest */
	uint64_t	 flying;	/* requests in flight */
	uint64_t	 last;	/* time of the last begin or end; 0: none */
	uint64_t	 share;	/* 2^-8 ns: the time since the start, each
				 * moment divided by the requests in flight */
};

struct profile {
	const struct plan *p;		/* for reports; may be NULL */
	unsigned	 workers;
	uint64_t	 origin[SERIES_MOST];	/* byte where the bins begin */
	uint64_t	 start;
	struct timespec	 started;	/* time of day */
	struct meter	 meter[SERIES_MOST];
	struct gauge	 gauge[];	/* SERIES_MOST per worker */
};

/*
 * Allocate a profile.  Bins start at byte "source" and "target", and are width
 * bytes wide at first.  Returns 0 or ENOMEM. gauge_free frees it; NULL is
 * allowed.
 */
int gauge_new(struct profile **pr, const struct plan *, unsigned workers,
    uint64_t width, uint64_t source, uint64_t target);
void gauge_free(struct profile *);

/*
 * The copy resumes after an interruption, which counts for no request.  No
 * request may be in flight.  NULL is allowed.
 */
void gauge_go_on(struct profile *);

/*
 * Record the requests of a lane of worker n.  Does nothing if pr is NULL, or if
 * the end generates or discards bytes.
 */
void gauge_lane(struct profile *pr, unsigned n, struct lane *);

/*
 * Call gauge_begin when a request starts and gauge_note when it has ended, in
 * any order of requests, from the thread of the lane.  "now" is in ns.
 * gauge_note reads op, off, len, done and err of the io; in between, io->stamp
 * belongs to the profile.  OP_ZERO is not recorded.  The lane must have been
 * given to gauge_lane.
 */
void gauge_begin(const struct lane *, struct io *, uint64_t now);
void gauge_note(const struct lane *, const struct io *, uint64_t now);

/* The latency in ns at which a bucket begins; it ends where the next begins. */
uint64_t gauge_bucket(unsigned i);

/*
 * Add one gauge to another, with the wider bins of the two; each width is a
 * power of two times the other.
 */
void gauge_merge(struct gauge *to, const struct gauge *from);

#endif
