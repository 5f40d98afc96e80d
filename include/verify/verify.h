/*
 * verify=: the target is read back from its medium and held against the digests
 * of what it was given, or against the source.  Used by copy.c (begin), piece.c
 * (digests) and worker.c (run).
 */
#ifndef PARDD_VERIFY_H
#define PARDD_VERIFY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/fault.h"
#include "copy/job.h"
#include "digest/digest_table.h"
#include "map/map.h"

struct column {			/* of one of several targets */
	struct map	 differ;	/* as below */
	atomic_uint_fast64_t right;
	atomic_uint_fast64_t first;
	bool		 told;		/* the main thread's: first was */
};

struct verify {
	struct digest_table	 digests;	/* locks for itself */
	struct map	 differ;	/* BAD: differs; locks for itself */
	atomic_size_t	 next;		/* the entry that a pass takes next */
	atomic_size_t	 differing;	/* entries that differ now */
	atomic_uint_fast64_t read;	/* bytes read back in this pass */
	atomic_uint_fast64_t right;	/* bytes found right */
	atomic_uint_fast64_t masked;	/* bytes that were left out */
	atomic_uint_fast64_t mended;	/* of them: after having differed */
	atomic_uint_fast64_t first;	/* byte that differed, or NOWHERE */
	bool		 done;		/* the lead's: all was held against */
	bool		 told;		/* the main thread's: first was */
	pthread_mutex_t	 lock;		/* s: of verify=stream */
	size_t		 low;		/* s: entries below it are written */
	size_t		 ready;		/* s: ... and flushed */
	size_t		 begun;		/* s: ... and checked, or being so */
	unsigned	 checking;	/* s: workers that check */
	bool		 flushing;	/* s: somebody does */
	double		 flushed;	/* s: seconds of clock_seconds */
	unsigned	 targets;
	struct column	 column[];	/* of each, if there are several: then
					 * they have right, differ and first */
};

/* Make the table for a job that has a map.  Returns 0, or -1 with *f. */
int verify_begin(struct job *, struct fault *f);
void verify_free(struct verify *);

/*
 * The lead's, after a flush: check what was copied, copy again what differs,
 * and check that, by all workers.  Does nothing for a copy that is not
 * complete.
 */
void verify_run(struct job *);

/*
 * Bytes that are right, at all targets that are left; that differ, at any.
 * And of one of several: whether all was held against the digests.
 */
uint64_t verify_right(struct job *);
uint64_t verify_differing(struct job *);
bool verify_proven(struct job *, unsigned target);

/* verify=stream: pieces of the copy, of its check, and flushes. */
extern const struct task verify_streaming;

#endif
