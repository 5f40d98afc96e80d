/*
 * Rescue: a copy with a map file, easy parts first.
 */
#ifndef PARDD_RESCUE_H
#define PARDD_RESCUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "copy/job.h"
#include "rescue/exclusive.h"
#include "rescue/gaps.h"
#include "rescue/liveness.h"
#include "rescue/mapsaver.h"
#include "rescue/pattern.h"

enum rescue_end { NOT_YET, LATE, OVER };

/* Where a rescue stands, according to the map file. */
struct place {
	uint64_t	 pos;	/* bytes of the source */
	char		 phase;
	int64_t		 pass;
};

struct pass {			/* as ddrescue's map file has them */
	const char	*text;
	enum seg_status	 from;		/* what it takes */
	char		 phase;		/* as in the map file */
	int		 number;	/* likewise; of retries: the parity */
	bool		 backwards;
};

struct rescue {
	struct mapsaver	 mapsaver;	/* the map file */
	struct liveness	 liveness;	/* of the source; has its own locks */
	struct exclusive exclusive;	/* who reads alone, and how long;
					 * likewise */
	struct gaps	 gaps;		/* what is unread; likewise */
	struct pattern	 pattern;	/* one worker's until "patterned" */
	atomic_flag	 looked;	/* ... which looks for it */
	atomic_bool	 patterned;
	uint32_t	 unit;		/* I: bytes that fail together: a
					 * physical block */
	bool		 rotates;	/* I: seeking is expensive */
	atomic_bool	 begun;		/* a read of this run has returned */
	_Atomic double	 wary_until;	/* s: errors are expected until then */
	_Atomic double	 longest;	/* s: the longest error so far */
	_Atomic double	 usual, quick;	/* s: a good read, of late; a short one
					 * that needed no seek */
	const struct pass *_Atomic pass;
	atomic_bool	 entered;	/* a pass has begun */
	struct place	 loaded;	/* I: where the map stood before */
	atomic_int	 retry;	/* counted from 1 */
	atomic_uint_fast64_t at;	/* where was read last */
	atomic_int	 order;		/* enum order: what is read now */
	double		 start;	/* s of the monotonic clock */
	atomic_int	 end;	/* enum rescue_end: what came first */
	atomic_bool	 late;	/* maxtime= has passed */
	int		 reader;	/* I: view=: to be told when a piece is
					 * settled (eventfd), or -1 */
	atomic_bool	 asked_all;	/* what is unread by now stays so */
};

/*
 * Make job->rescue and load the map (mapsaver_begin).  Returns 0, or -1 with
 * *f; then job->rescue may still have to be freed.
 */
int rescue_begin(struct job *, struct fault *f);
void rescue_free(struct rescue *);

/*
 * For the lead, while the mapsaver runs: read all that can be read, with all
 * workers.
 */
void rescue_run(struct job *);

/*
 * For the main thread, periodically: stop the run after maxtime=, which workers
 * that wait for a read cannot do.  Returns true if a read or flush has not
 * returned some seconds later; then what can be saved is saved, and job->fault
 * is set.
 */
bool rescue_overdue(struct job *);

#endif
