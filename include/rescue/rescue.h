/*
 * Rescue: a copy with a map file, good parts first.  Used by copy.c (begin,
 * end) and worker.c (run, piece).
 */
#ifndef PARDD_RESCUE_H
#define PARDD_RESCUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "copy/job.h"
#include "map/mapfile.h"
#include "rescue/course.h"
#include "rescue/exclusive.h"
#include "rescue/flight.h"
#include "rescue/gaps.h"
#include "rescue/liveness.h"
#include "rescue/mapsaver.h"
#include "rescue/pattern.h"
#include "rescue/zeros.h"

enum rescue_end { NOT_YET, LATE, OVER };

struct rescue {
	struct mapsaver	 mapsaver;	/* of the map's file */
	struct liveness	 liveness;	/* of the source; locks for itself */
	struct zeros	 zeros;		/* likewise */
	struct exclusive exclusive;	/* for who has to read alone */
	struct flight	 flight;	/* what is being read; the same */
	struct course	 course;	/* of the first pass; the same */
	struct gaps	 gaps;		/* of the present one; the same */
	struct pattern	 pattern;	/* the lead's until it is patterned */
	atomic_bool	 patterned;
	bool		 has_exclusive;	/* to be destroyed */
	uint32_t	 unit;		/* I: bytes that fail together: the */
	uint64_t	 unit_off;	/* I: disk's blocks; of byte 0 in one */
	bool		 rotates;	/* I: a jump is dear */
	unsigned	 seats;	/* I: so many may read near an error */
	_Atomic double	 wary_until;	/* seconds: an error is not far */
	_Atomic double	 longest;	/* seconds that an error took */
	const struct pass *_Atomic pass;	/* the lead's to set */
	atomic_int	 retry;	/* which one, from 1 */
	atomic_int	 order;		/* enum order: what is read now */
	double		 start;	/* seconds, of the monotonic clock */
	atomic_int	 end;	/* enum rescue_end: what came first */
	atomic_bool	 late;	/* that was maxtime= */
};

/*
 * Make job->rescue: load the map and so on (mapsaver_begin).  Returns 0, or -1
 * with *f, and then there may be one to free all the same.
 */
int rescue_begin(struct job *, struct fault *f);
void rescue_free(struct rescue *);

/*
 * The lead's: all passes, each with all workers, while the mapsaver saves the
 * map now and then.
 */
void rescue_run(struct job *);

/* The pattern in what is bad; NULL until there is one. */
const struct pattern *rescue_pattern(const struct rescue *);

/*
 * The main thread's, now and then: stops the run after maxtime=, which is not
 * seen by who reads.  True when some seconds later a read, or a flush, has not
 * come back yet: what could be saved is, and job->fault says why.
 */
bool rescue_overdue(struct job *);

/* One piece of the pass; false when there is no further one. */
bool rescue_piece(struct worker *);

#endif
