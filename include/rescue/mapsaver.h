/*
 * The map file of a rescue: loading it, checking it against the ends, and
 * saving it while the copy runs.
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
	struct mapfile	 file;	/* as loaded; keeps what is outside the copy */
	char		 source[2560];	/* the disk that the map is of, */
	char		 target[2560];	/* and where it was copied to */
	pthread_t	 thread;
	bool		 runs;	/* lead: the thread exists */
	pthread_t	 prober;	/* of that thread: checks the source */
	bool		 asks;		/* that one exists */
	int		 told;	/* readable: it is about to end; or -1 */
	struct fault	 answer;	/* the prober's, until it has ended */
	atomic_bool	 settled;	/* stopped, whether saved or not */
	struct fault	 unsaved;	/* why it was not; status 0: it was */
	int		 quit;	/* readable: the thread must end; or -1 */
	int		 lock;	/* the map file, locked, or -1 */
	int		 dir;	/* its directory, or -1 */
	bool		 made;	/* the file is new */
	bool		 blank;	/* and was never saved */
	bool		 dated;	/* it says when the target was written */
};

/*
 * Lock and load the map, check it against the source and the target, and put it
 * into job->map.  A missing file is created; an existing one is not changed
 * until it is saved.  If the map cannot be written, that is found out before
 * the first byte is copied.  Returns 0, or -1 with *f; mapsaver_free is called
 * in either case.
 */
int mapsaver_begin(struct mapsaver *, struct job *, struct fault *f);
void mapsaver_free(struct mapsaver *);

/*
 * The copy does not begin: remove a map that was created for it, because it
 * would refuse another source.  After mapsaver_begin, even if that failed.
 */
void mapsaver_forget(const struct mapsaver *, const struct plan *);

/*
 * For --dry-run: check what mapsaver_begin would refuse, and what the map says
 * about this copy.  Changes nothing.  Returns 0, or -1 with *f.
 */
int mapsaver_look(const struct plan *, struct map_totals *, struct fault *f);

/*
 * The byte of the copy where the loaded map stood; NOWHERE if the target has
 * the date that the map says, so that nothing of it is missing.
 */
uint64_t mapsaver_stood(const struct mapsaver *, const struct plan *);

/*
 * Start and stop the thread that saves the map every mapinterval= seconds, and
 * at once when the copy is being stopped.  For the lead.  If it cannot be
 * started, the copy is stopped.
 */
void mapsaver_start(struct job *);
void mapsaver_stop(struct job *);

/*
 * Flush the target, then save the map.  After a failed write or flush
 * (job->doubt) the file is left alone, because such an error is reported only
 * once.  Returns 0, or -1 with *f: STATUS_NOT_FLUSHED for the target, any other
 * status for the file.
 */
int mapsaver_save(struct job *, struct fault *f);

/*
 * Check that the name of the map still refers to the file saved last; it is
 * saved in the directory that had it at the beginning.  Returns 0, or -1 with
 * *f.
 */
int mapsaver_find(const struct job *, struct fault *f);

#endif
