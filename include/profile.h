/*
 * What the requests of a copy took, by position, by time and by latency: for
 * time=1 and profile=.
 *
 * Each worker notes its own requests, in a fixed amount of memory; they share
 * how many requests are in flight, under a lock of a few instructions.  The
 * notes are added up when the workers have left.
 *
 * Times are ns of clock_ns(), positions bytes of the end.
 */
#ifndef PARDD_PROFILE_H
#define PARDD_PROFILE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "endpoint.h"
#include "fault.h"
#include "newfile.h"
#include "plan.h"

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
	const struct plan *p;
	uint64_t	 start;
	struct timespec	 started;	/* the time of day */
	struct meter	 meter[SERIES_MOST];
	struct gauge	 gauge[];	/* SERIES_MOST for each worker */
};

/*
 * A profile for the workers of a plan that asks for one.  *pr is NULL if it
 * does not.  Returns 0 or ENOMEM.  profile_free frees it, and takes NULL too.
 */
int profile_new(struct profile **pr, const struct plan *);
void profile_free(struct profile *);

/*
 * The copy goes on after an interruption, which was the time of no request.
 * Nobody may be noting.  NULL will do.
 */
void profile_go_on(struct profile *);

/*
 * Let a lane of worker n be noted.  Ends that are generated or discarded are
 * not; nor is anything if pr is NULL.
 */
void profile_lane(struct profile *pr, unsigned n, struct lane *);

/*
 * A request begins; when it has ended, note it: io->op, off, len, done and err
 * count, and io->stamp is the profile's between the two.  One note for each
 * begin, in any order, by the lane's own thread, which tells the time (ns).
 * Requests to zero are not noted.  The lane must be one that is noted.
 */
void profile_begin(const struct lane *, struct io *, uint64_t now);
void profile_note(const struct lane *, const struct io *, uint64_t now);

/* Add up a series into *to, when nobody notes any more.  False: no requests. */
bool profile_sum(const struct profile *, enum series, struct gauge *to);

/* ns that a part of the requests (0.5: half of them) took at most. */
double profile_percentile(const struct gauge *, double part);

/* ns at which a bucket of latencies begins; it ends where the next begins. */
uint64_t profile_bucket(unsigned i);

/* Bytes a second, 0 for no time. */
double profile_rate(uint64_t bytes, uint64_t ns);

/* The byte of its end where the bins of a series begin. */
uint64_t profile_first(const struct plan *, enum series);

/*
 * From there, where bin i ends, and where all end: with the copy, or if nobody
 * knew its length, with the last that has requests.
 */
uint64_t profile_end(const struct gauge *, const struct plan *, unsigned i);
uint64_t profile_extent(const struct gauge *, const struct plan *);

/* "source", "target" or "verify". */
const char *profile_series(enum series);

/*
 * Write what profile= names, as newfile_open found it; seconds is how long the
 * copy took.  Nothing if there is no profile or no name.  Returns 0, or -1 with
 * *f, and then what was there before is there still.
 */
int profile_write(const struct profile *, struct newfile *, double seconds,
    struct fault *f);

#endif
