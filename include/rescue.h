/*
 * Rescue: a copy with a map file, good parts first.  Used by copy.c (begin,
 * end) and worker.c (run, piece).
 */
#ifndef PARDD_RESCUE_H
#define PARDD_RESCUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "fault.h"
#include "job.h"
#include "mapfile.h"

struct rescue {
	struct mapfile	 file;	/* as loaded; what is outside stays */
	char		 source[512];	/* which disk the map is of */
	const struct pass *_Atomic pass;	/* the lead's to set */
	atomic_int	 retry;	/* which one, from 1 */
	atomic_bool	 doubt;	/* what was written may be lost: save nothing */
	atomic_bool	 excused;	/* the first fault is the source's */
	pthread_t	 keeper;
	double		 start;	/* seconds, of the monotonic clock */
	int		 quit;	/* readable: the keeper leaves */
};

/*
 * Load the map, hold it against the source and the target, put it into
 * job->map, and write it: a map that cannot be written is found out before the
 * first byte is copied.  Returns 0, or -1 with *f.
 */
int rescue_begin(struct rescue *, struct job *, struct fault *f);
void rescue_free(struct rescue *);

/*
 * The lead's: all passes, each with all workers (start runs one), while a
 * thread of its own saves the map now and then.
 */
void rescue_run(struct job *, void (*start)(struct job *));

/*
 * The map as it is now, to its file.  rescue_save flushes the target first;
 * once a write or a flush has failed it leaves the file as it is, since such an
 * error is told only once.  rescue_write is for before the first byte.  Return
 * 0, or -1 with *f.
 */
int rescue_save(struct job *, struct fault *f);
int rescue_write(struct job *, struct fault *f);

/* One piece of the pass; false when there is no further one. */
bool rescue_piece(struct worker *);

#endif
