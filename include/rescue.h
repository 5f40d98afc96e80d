/*
 * Rescue: a copy with a map file, good parts first.  Used by copy.c (begin,
 * end) and worker.c (run, piece).
 */
#ifndef PARDD_RESCUE_H
#define PARDD_RESCUE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fault.h"
#include "gate.h"
#include "job.h"
#include "keeper.h"
#include "mapfile.h"
#include "pulse.h"

struct rescue {
	struct keeper	 keeper;	/* of the map's file */
	struct pulse	 pulse;		/* of the source; locks for itself */
	struct gate	 gate;		/* for who has to read alone */
	bool		 gated;		/* there is one to destroy */
	_Atomic double	 wary_until;	/* seconds: an error is not far */
	const struct pass *_Atomic pass;	/* the lead's to set */
	atomic_int	 retry;	/* which one, from 1 */
	double		 start;	/* seconds, of the monotonic clock */
};

/*
 * Make the job a rescue: load the map and so on (keeper_begin).  Returns 0, or
 * -1 with *f.
 */
int rescue_begin(struct rescue *, struct job *, struct fault *f);
void rescue_free(struct rescue *);

/*
 * The lead's: all passes, each with all workers (start runs one), while the
 * keeper saves the map now and then.
 */
void rescue_run(struct job *, void (*start)(struct job *));

/*
 * Where the rescue stands, as the map's file tells it: pos, phase and pass of
 * *m.  Returns the same for people.
 */
const char *rescue_where(struct job *, struct mapfile *m);

/* One piece of the pass; false when there is no further one. */
bool rescue_piece(struct worker *);

#endif
