/*
 * verify=: the target is read back from its medium and compared with the
 * digests of what was written, or with the source.
 */
#ifndef PARDD_VERIFY_H
#define PARDD_VERIFY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/fault.h"
#include "copy/job.h"
#include "digest/digest_table.h"
#include "end/endpoint.h"
#include "map/map.h"

struct checked {		/* of one target */
	struct map	 differ;	/* BAD: differs; has its own lock */
	atomic_uint_fast64_t right;	/* bytes that are right */
	atomic_uint_fast64_t first;	/* first byte that differed, or
					 * NOWHERE */
	atomic_bool	 unread;	/* some could not be read back */
	atomic_uint_fast64_t before;	/* what was read belongs so many bytes
					 * before or, negative, behind; or 0 */
	bool		 told;		/* main thread: "first" was reported */
};

struct verify {
	struct digest_table	 digests;	/* has its own lock */
	atomic_size_t	 next;		/* next entry of a pass */
	atomic_size_t	 differing;	/* entries that differ now */
	atomic_uint_fast64_t read;	/* bytes read back in this pass */
	atomic_uint_fast64_t masked;	/* bytes that were left out */
	atomic_uint_fast64_t mended;	/* bytes that are right, and were not */
	size_t		*sample;	/* lead: of verify=sample, the entries
					 * to check, in order; or NULL */
	size_t		 samples;	/* lead: their number */
	uint64_t	 wanted;	/* lead: bytes to check */
	bool		 done;		/* lead: all of these were checked */
	pthread_mutex_t	 lock;		/* s: of verify=stream */
	size_t		 low;		/* s: entries below are written */
	size_t		 ready;		/* s: ... and flushed */
	size_t		 begun;		/* s: ... and checked, or being
					 * checked */
	unsigned	 checking;	/* s: workers that check now */
	bool		 flushing;	/* s: a worker flushes now */
	double		 flushed;	/* s: time of the last flush
					 * (clock_seconds) */
	unsigned	 targets;
	struct checked	 target[];
};

/* Make the table for a job that has a map.  Returns 0, or -1 with *f. */
int verify_begin(struct job *, struct fault *f);
void verify_free(struct verify *);

/*
 * For the lead, after a flush: check what was copied, rewrite what differs, and
 * check that, with all workers.  Does nothing unless the copy is complete.
 */
void verify_run(struct job *);

/*
 * Bytes that are right at all remaining targets; bytes that differ at any.
 */
uint64_t verify_right(struct job *);
uint64_t verify_differing(struct job *);

/* At the end: the results of each target, with the maps. */
void verify_results(struct job *, struct result *target);

/* verify=stream: pieces of the copy, checks and flushes. */
extern const struct task verify_streaming;

/*
 * compare=1: both ends are read, and differences reported.
 */

struct compare {
	struct map	 differ;	/* BAD: differs; has its own lock */
	atomic_uint_fast64_t compared;	/* bytes, with holes */
	atomic_uint	 told;	/* ranges that differ, before joining */
	const struct endpoint *longer;	/* I, of streams under job.order */
};

/*
 * Check that map=, if given, can be created: a file that exists already is
 * refused.  Returns 0, or -1 with *f.
 */
int compare_look(const struct plan *, struct fault *f);

/*
 * Prepare a job that has a map, after compare_look; nothing is read yet.
 * Returns 0, or -1 with *f.
 */
int compare_begin(struct job *, struct fault *f);
void compare_free(struct compare *);

/*
 * For the lead: compare everything with all workers, and write the differences
 * to map=.
 */
void compare_run(struct job *);

#endif
