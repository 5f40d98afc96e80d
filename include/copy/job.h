/*
 * A job: a run in progress, with everything that its workers share with each
 * other and with the main thread.  copy.c owns it.
 *
 *	lock		held			guards
 *	order		from claim to end of	the place in a streamed source:
 *			read, if streamed	whoever claims a place reads it
 *			during a claim, if the	extent
 *			source has holes
 *	first		a few instructions	the first fatal fault; a leaf
 *
 * All locks of the program, and their order, are in src/README.md.
 */
#ifndef PARDD_JOB_H
#define PARDD_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/title.h"
#include "copy/junk.h"
#include "copy/outcome.h"
#include "end/endpoint.h"
#include "map/map.h"
#include "plan/plan.h"

/*
 * Taking turns at a target that is written in order: a pipe, a terminal, a file
 * in append mode.
 */

enum { TURN_WAITERS = 16 };	/* threads that may wait at a time */

struct turn {			/* t: lock */
	pthread_mutex_t	lock;
	uint64_t	next;		/* t: the byte whose turn it is */
	bool		stopped;	/* t: there will be no further turn */
	struct turn_waiter {
		pthread_cond_t	moved;
		uint64_t	off;
		bool		here;
	}		waiter[TURN_WAITERS];	/* t */
};

/* The first turn is that of byte 0.  Destroy it once no thread uses it. */
void turn_init(struct turn *);
void turn_destroy(struct turn *);

/* Wait for the turn of byte off.  Returns false if turn_stop was called. */
bool turn_wait(struct turn *, uint64_t off);

/* Pass the turn on to byte "next".  Only the holder of the turn may. */
void turn_pass(struct turn *, uint64_t next);

/* End all turns, and wake all waiters.  Safe in any thread. */
void turn_stop(struct turn *);

/*
 * rate=: a limit in bytes per second.  All workers share one schedule, and a
 * worker waits before it moves bytes, not after, so there is no burst at the
 * start.
 */

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

enum { WORKERS_MOST = 16 };

struct worker {			/* used by its own thread only */
	pthread_t	 thread;
	struct job	*job;
	struct lane	 src, dst;
	struct lane	 back;	/* of job->back, if there is one */
	struct requests	 asked[2];	/* of the source; of the target */
	struct seg	 zone;	/* what is left of its zone of the target, see
				 * piece.c */
	unsigned char	*buf;	/* page aligned, plan->room bytes; the job's.
				 * With a queue: that of the current piece */
	unsigned char	*other;	/* a second one, plan->other bytes */
	struct queue	*queue;	/* of the asynchronous engine, or NULL */
	bool		 buf_in_use;	/* by a request that was given up: do
					 * not use it again */
	uint64_t	 zeros;	/* bytes it zeroes at a time, see sparse.c */
	atomic_uint	 writes;	/* counts begins and ends: odd while
				 * the result of one is unknown */
};

struct task {			/* what workers do until nothing is left */
	enum phase	 phase;
	bool	       (*step)(struct worker *);	/* do one piece;
						 * false: none left */
	bool		 ring;			/* just reads and writes: may
						 * be asynchronous */
};

struct job {			/* I: set before the workers start */
	const struct plan *p;		/* I */
	struct rescue	*rescue;	/* I: NULL in a plain copy */
	struct profile	*profile;	/* I: or NULL; workers write to it */
	struct digest_table *digests;	/* I: of what is written, or NULL */
	struct verify	*verify;	/* I: NULL without verify= */
	struct compare	*compare;	/* I: NULL without compare=1 */
	const struct task *task;	/* I while workers run */
	struct endpoint	 back;		/* reads the target; by the lead */
	bool		 reads_back;	/* back is open */
	struct tally	 before;	/* I: of runs that this one continues */
	struct map	 map;		/* locks for itself */
	struct turn	 turn;		/* locks for itself */
	struct junk	 junk;		/* locks for itself */
	pthread_mutex_t	 order;
	pthread_mutex_t	 first;
	struct fault	 fault;		/* first: status 0: none */
	uint64_t	 unread;	/* first: the byte that it could not
					 * read, if it is STATUS_MEDIUM */
	struct fault	 flush;		/* lead: why the flush failed */
	struct fault	 unsaved;	/* lead: why the map was not saved */
	bool		 began;		/* lead: the target is prepared */
	struct rate	 rate;		/* atomic in itself */
	pthread_t	 thermometer;	/* main thread: maxtemp= */
	bool		 measured;	/* main thread: thermometer runs */
	_Atomic double	 celsius;	/* of the source; NaN: unknown */
	int		 ioprio;	/* main thread: the last one set */
	struct title	 title;		/* main thread */
	struct requests	 flushes;	/* of the target */
	atomic_bool	 stop;		/* claim nothing more */
	atomic_bool	 doubt;		/* a write or flush has failed: earlier
					 * writes may be lost too */
	atomic_bool	 bufs_in_use;	/* some may be, by requests given up:
					 * none is unmapped */
	atomic_uint	 failing[2];	/* reads in a row that failed, coe=1; of
					 * the second end with compare=1 */
	atomic_bool	 gone;		/* the source has gone */
	atomic_uint_fast64_t gone_at;	/* the byte where that showed, or
					 * NOWHERE */
	atomic_int	 phase;		/* enum phase */
	atomic_uint_fast64_t read, written, padded;	/* bytes */
	atomic_uint_fast64_t holes;	/* bytes read as holes */
	atomic_uint_fast64_t zeroed;	/* bytes written by OP_ZERO */
	atomic_uint_fast64_t shared;	/* bytes shared by both files */
	struct extent	 extent;	/* order: of the source, the last one */
	atomic_uint_fast64_t spared;	/* bytes that the target had already */
	atomic_uint_fast64_t rest;	/* bytes behind the copy, cleared */
	atomic_uint_fast64_t rest_whole;	/* of so many, then */
	uint64_t	 hole_bytes;	/* lead: bytes of holes in a target
					 * that may be kept */
	int		 halt;		/* I: readable once stop is set */
	int		 done;		/* I: readable once the lead is done */
	unsigned char	*bufs;		/* I: of all workers, in "mapping" */
	void		*mapping;	/* I */
	size_t		 mapped;	/* I: bytes of it */
	unsigned	 workers;	/* I */
	struct worker	 worker[WORKERS_MOST];
};

/*
 * Allocate the buffers of all workers, for the engine of the plan, in one
 * mapping.  Returns 0, or -1 with *f.  job_unbuffer frees them.
 */
int job_buffers(struct job *, struct fault *f);
void job_unbuffer(struct job *);

/* The distance in bytes between the buffers of two pieces. */
size_t job_stride(const struct plan *);

/*
 * Switch from queues to the engine with threads: a buffer and a second one for
 * each of plan->workers.  For the lead, between two tasks.
 */
void job_threads(struct job *);

/* Flush the target; the main thread watches how long it takes. */
int job_flush(struct job *, struct fault *);

/* Stop claiming, and wake whoever waits for a stream.  Safe in any thread. */
void job_stop(struct job *);

/* Where a target is written next that is written in order, from off on. */
uint64_t job_next_turn(struct job *, uint64_t off);

/*
 * Check that the source device is still the one that was opened: some return
 * data without an error when they are not.  Returns 0, or -1 with *f.  Safe in
 * any thread.
 */
int job_source_kept(struct job *, struct fault *f);

/*
 * Bytes that may be holes among the first "length" of the target's range, of
 * which so many are finished.
 */
uint64_t job_holes(const struct job *, uint64_t length, uint64_t finished);

/*
 * Record the fault of the byte at "off" of the copy, which cannot be read, and
 * stop the copy.  Any thread.  Of several such it is that of the lowest.
 */
void job_fail_at(struct job *, const struct fault *, uint64_t off);

/* The same for any other fault, if it is the first. */
static inline void
job_fail(struct job *job, const struct fault *f)
{
	job_fail_at(job, f, UINT64_MAX);
}

#endif
