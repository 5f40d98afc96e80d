/*
 * The map of a rescue: loads it, holds it against the ends, and saves it while
 * the copy runs.  Used by rescue.c, and worker.c at the end.
 */
#ifndef PARDD_MAPSAVER_H
#define PARDD_MAPSAVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/fault.h"
#include "map/mapfile.h"

struct job;
struct plan;

struct mapsaver {
	struct mapfile	 file;	/* as loaded; what is outside stays */
	char		 source[2560];	/* which disk the map is of */
	char		 target[2560];	/* and where it was copied to */
	pthread_t	 thread;
	bool		 runs;	/* the lead's: there is such a thread */
	pthread_t	 asker;		/* the thread's, of the source: */
	bool		 asks;		/* there is such a thread */
	struct fault	 answer;	/* the asker's, until it has ended */
	atomic_bool	 settled;	/* stopped, and saved or not: */
	struct fault	 unsaved;	/* why not; status 0: it is */
	int		 quit;	/* readable: it is to leave; or -1 */
	int		 lock;	/* the map, locked, or -1 */
	int		 dir;	/* its folder, or -1 */
	bool		 made;	/* there was none before */
	bool		 blank;	/* nor has it been saved yet */
	bool		 dated;	/* its file says when the target was written */
};

/*
 * Lock the map, load it, hold it against the source and the target, and put it
 * into job->map.  One that is not there is made; one that is stays as it is
 * until it is saved.  A map that cannot be written is found out before the
 * first byte is copied.  Returns 0, or -1 with *f; mapsaver_free in every case
 * once quit, lock and dir are -1.
 */
int mapsaver_begin(struct mapsaver *, struct job *, struct fault *f);
void mapsaver_free(struct mapsaver *);

/*
 * The copy does not begin: a map that was made for it goes again, for it would
 * keep out the next source.  After mapsaver_begin, be it that it failed.
 */
void mapsaver_forget(const struct mapsaver *, const struct plan *);

/*
 * For --dry-run: what mapsaver_begin would refuse, and what the map says of
 * this copy.  Changes nothing.  Returns 0, or -1 with *f.
 */
int mapsaver_look(const struct plan *, struct map_totals *, struct fault *f);

/*
 * The thread that saves the map every mapinterval= seconds, and at once when
 * the copy is being stopped.  The lead's.  Without it the copy is stopped.
 */
void mapsaver_start(struct job *);
void mapsaver_stop(struct job *);

/*
 * The map as it is now, to its file, once the target is flushed.  After a write
 * or a flush that failed (job->doubt) the file stays as it is, since such an
 * error is told only once.  Returns 0, or -1 with *f: STATUS_NOT_FLUSHED is the
 * target's, any other the file's.
 */
int mapsaver_save(struct job *, struct fault *f);

/*
 * Whether the map's name leads to the map that was saved last: it is saved in
 * the folder that was there at the beginning.  Returns 0, or -1 with *f.
 */
int mapsaver_find(const struct job *, struct fault *f);

#endif
