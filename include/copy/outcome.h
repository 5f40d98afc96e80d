/*
 * What a run has come to: while it runs a tally, at its end an outcome.
 */
#ifndef PARDD_OUTCOME_H
#define PARDD_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/title.h"
#include "map/map.h"
#include "part/damage.h"
#include "plan/plan.h"

enum { GRACE = 10 };		/* s; for what is in flight, to come back */

enum phase {
	PHASE_COPYING, PHASE_FLUSHING, PHASE_VERIFYING, PHASE_REPAIRING,
	PHASE_COMPARING,
	PHASE_TRIMMING, PHASE_SCRAPING, PHASE_RETRYING,	/* of a rescue, */
	PHASE_FILLING,					/* see rescue.c */
};

enum order {			/* of what used=first|meta make of a rescue */
	ORDER_NONE,		/* there is none */
	ORDER_META,		/* what file systems need, by its place */
	ORDER_DEEP,		/* and what that tells of */
	ORDER_USED,
	ORDER_REST,
};

struct silence {		/* what is waited for, longer than usual */
	const struct endpoint *end;	/* or NULL: nothing */
	bool		 flush;		/* it is being flushed; else it has */
	double		 seconds;	/* answered no request for so long */
};

struct tally {			/* of a run, or of a run so far */
	uint64_t	read, written;	/* bytes; padding is written */
	uint64_t	padded;		/* bytes */
	uint64_t	holes;		/* of read: counted, not read */
	uint64_t	zeroed;		/* of written: zeros, not written */
	uint64_t	shared;		/* of both: the same blocks */
	uint64_t	spared;		/* bytes that were there already */
	uint64_t	verified;	/* bytes read back or compared */
	uint64_t	mended;		/* bytes of them, once wrong */
	uint64_t	passed;		/* bytes this phase has dealt with, */
	uint64_t	whole;		/* of so many; if the length is known */
	uint64_t	had;		/* of passed: by runs before */
	uint64_t	finished;	/* bytes of the copy, by the map */
	uint64_t	left;		/* the rest; if the length is known */
	uint64_t	outside;	/* bytes that are not wanted */
	uint64_t	differing;	/* bytes that differ, as far as known */
	uint64_t	lost;		/* bytes, unreadable, or so far */
	double		seconds;	/* since the start */
	double		celsius;	/* of the source; NaN: not known */
	enum phase	phase;
	enum order	order;
	bool		stopping;	/* nothing new is begun */
	struct silence	silence;
	unsigned	in_flight_read, in_flight_written;	/* requests at
				 * most, once it is over; 0: one a worker */
};

struct share {			/* of an outcome: that of one of several */
	struct fault	 verdict;	/* verdict_judge's */
	struct map	 differ;	/* as in the outcome */
	bool		 proven;
	bool		 flushed;	/* verdict_judge's */
};

struct outcome {
	struct tally	 tally;
	struct map	 map;		/* outcome_free frees it */
	struct profile	*profile;	/* the same; NULL: not wanted */
	struct map	 differ;	/* the same; BAD: differs */
	struct share	*each;		/* of several targets; outcome_free's */
	unsigned	 targets;	/* of them, or 0 */
	bool		 proven;	/* all was held against the digests */
	const struct endpoint *longer;	/* of two compared, or NULL */
	struct fault	 fault;		/* what stopped it; status 0: nothing */
	struct fault	 flush;		/* wrong after the last write */
	struct fault	 unsaved;	/* wrong with map='s file at the end */
	struct fault	 outputs;	/* wrong with one, see outputs.h */
	struct fault	 verdict;	/* verdict_judge's */
	struct damage	 damage;	/* main's; outcome_free frees it */
	int		 signal;	/* that stopped it, else 0 */
	uint64_t	 rate;		/* bytes a second, as set last, or 0 */
	int		 ioprio;	/* the same; 0: not set */
	struct title	 title;		/* of the process, so far */
	uint64_t	 gone_at;	/* the byte of it that was not, or
					 * NOWHERE */
	bool		 gone;		/* the fault: there is no source now */
	bool		 doubt;		/* the target failed: what was written
					 * before may not be on the medium */
	bool		 abandoned;	/* left with workers running: signal */
	bool		 again;		/* twice; else what was in flight did
					 * not come back: maxtime=, signal */
};

/* A phase in a word. */
const char *phase_name(enum phase);

/* Where the copy ended (bytes), if all of it was copied, else NOWHERE. */
uint64_t outcome_end(const struct plan *, struct outcome *);

/* Free what copy_run filled in. */
void outcome_free(struct outcome *);

#endif
