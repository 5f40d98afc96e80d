/*
 * A run in progress: what the workers share with each other and with the main
 * thread.  Used by copy.c, which conducts, and by worker.c and the steps it
 * has the workers take, of which piece.c is the plain one.
 *
 *	lock		held			guards
 *	order		from claim to end of	the place in a streamed source:
 *			read, if streamed	who is given a place reads it
 *			over a claim, if the	extent
 *			source has holes
 *	liveness.look	over some reads		whether the source is there
 *	verify.lock	a few instructions	what verify=stream checks next
 * leaves:
 *	first		a few instructions	the first fatal fault
 *	map.lock	one call of map.h	the map; each map has its own
 *	digests.lock	one call of digest_table.h	a table of digests
 *	turn.lock	a few instructions	whose turn a streamed target is
 *	hash.lock	a few instructions	what waits to be digested
 *	exclusive.lock	a few instructions	who reads alone, in a rescue
 *	course.lock	a few instructions	what its first pass has learned
 *	gaps.lock	a few instructions	what it has yet to read
 *	liveness.lock	a few instructions	the last reads of a rescue
 *	zeros.lock	a few instructions	zeros that a rescue has read
 *	meter.lock	a few instructions	who is in flight
 *
 * Nobody holds two of the first three, and no lock is taken while a leaf is
 * held.
 */
#ifndef PARDD_JOB_H
#define PARDD_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/title.h"
#include "copy/outcome.h"
#include "copy/rate.h"
#include "copy/turn.h"
#include "end/endpoint.h"
#include "map/map.h"
#include "plan/plan.h"

enum { WORKERS_MOST = 16 };

struct worker {			/* its thread's alone */
	pthread_t	 thread;
	struct job	*job;
	struct lane	 src, dst;
	struct lane	 back;	/* of job->back, if there is one */
	struct requests	 asked[2];	/* of the source; of the target */
	unsigned char	*buf;	/* page aligned, plan->room bytes, job's */
	unsigned char	*other;	/* the same, plan->other bytes */
	struct queue	*queue;	/* of the asynchronous engine, or NULL: buf is
				 * that of the piece it deals with */
	uint64_t	 zeros;	/* bytes that it zeroes at once, see sparse.c */
	atomic_uint	 writes;	/* begun and over, each: odd while it
				 * is not known how one has ended */
};

struct task {			/* what workers do until nothing is left */
	enum phase	 phase;
	bool	       (*step)(struct worker *);	/* a piece; false: no
						 * further one */
	bool		 ring;			/* reads and writes only: may
						 * be many in flight */
};

struct job {			/* I: set before the workers start */
	const struct plan *p;		/* I */
	struct rescue	*rescue;	/* I: NULL in a plain copy */
	struct profile	*profile;	/* I: or NULL; its workers write it */
	struct digest_table *digests;	/* I: of what is written, or NULL */
	struct verify	*verify;	/* I: NULL without verify= */
	struct compare	*compare;	/* I: NULL without compare=1 */
	const struct task *task;	/* I while workers run */
	struct endpoint	 back;		/* the lead's to open: reads the */
	bool		 reads_back;	/* target back; whether it is open */
	struct tally	 before;	/* I: of runs that this one goes on */
	struct map	 map;		/* locks for itself */
	struct turn	 turn;		/* locks for itself */
	pthread_mutex_t	 order;
	pthread_mutex_t	 first;
	struct fault	 fault;		/* first; status 0: none */
	struct fault	 flush;		/* the lead's, until it has left */
	struct fault	 unsaved;	/* the same: wrong with map='s file */
	bool		 began;		/* the lead's: the target is ready */
	struct rate	 rate;		/* atomic in itself */
	pthread_t	 thermometer;	/* the main thread's: */
	bool		 measured;	/* the same: there is that thread */
	bool		 warm;		/* the same: and that it is was told */
	_Atomic double	 celsius;	/* of the source; NaN: not known */
	int		 ioprio;	/* the main thread's: as set last */
	struct title	 title;		/* the main thread's */
	double		 signalled;	/* the main thread's: when, in s */
	unsigned	 dropped;	/* the same: a bit for each target that
					 * was told to be */
	struct requests	 flushes;	/* of the target */
	atomic_bool	 stop;		/* claim nothing more */
	atomic_bool	 doubt;		/* the target has failed: what it took
					 * before may be lost too */
	atomic_bool	 gone;		/* the source is not there any more */
	atomic_uint_fast64_t gone_at;	/* which byte of it said so first; or
					 * NOWHERE */
	atomic_int	 phase;		/* enum phase */
	atomic_uint_fast64_t read, written, padded;	/* bytes */
	atomic_uint_fast64_t holes;	/* bytes read as holes */
	atomic_uint_fast64_t zeroed;	/* bytes written by OP_ZERO */
	atomic_uint_fast64_t shared;	/* bytes of both files */
	struct extent	 extent;	/* order: of the source, last asked */
	atomic_uint_fast64_t spared;	/* bytes the target had already */
	int		 halt;		/* I: readable once stop is set */
	int		 done;		/* I: readable once all is over */
	unsigned char	*bufs;		/* I: of all workers, in "mapping" */
	void		*mapping;	/* I */
	size_t		 mapped;	/* I: its bytes */
	unsigned	 workers;	/* I: of them */
	struct worker	 worker[WORKERS_MOST];	/* I, but for their own */
};

/*
 * The buffers of all workers, for the engine that the plan has chosen, in one
 * mapping.  Returns 0, or -1 with *f; job_unbuffer gives them back.
 */
int job_buffers(struct job *, struct fault *f);
void job_unbuffer(struct job *);

/*
 * Another buffer for a worker, in place of one that somebody else has still.
 * Returns 0, or an errno value.
 */
int job_buffer_anew(struct worker *);

/* Bytes from the buffer of one piece to that of the next. */
size_t job_stride(const struct plan *);

/*
 * A piece and a second buffer for each of plan->workers, in place of queues.
 * The lead's, between two steps.
 */
void job_threads(struct job *);

/* endpoint_flush of the target, which is watched. */
int job_flush(struct job *, struct fault *);

/* Claim nothing more, and wake who waits for a stream.  For anybody. */
void job_stop(struct job *);

/*
 * Whether what was read is to be believed: -1 with *f, if a device that was the
 * source is not what it was, but reads on without an error.  For anybody.
 */
int job_source_kept(struct job *, struct fault *f);

/* Keep the first fault, and stop the copy.  For anybody. */
void job_fail(struct job *, const struct fault *);

#endif
