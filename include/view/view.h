/*
 * view=: a file that shows what is being rescued, while it is.
 */
#ifndef PARDD_VIEW_H
#define PARDD_VIEW_H

#include "base/fault.h"
#include "copy/outcome.h"

struct job;
struct map;
struct plan;
struct viewer;

/*
 * Check view=, without changing anything.  Returns 0, also without view=, or -1
 * with *f.
 */
int viewer_look(const struct plan *, struct fault *f);

/*
 * Make p->view: the file if there is none, and on it a mount that nobody serves
 * yet.  What a killed run has left mounted there is unmounted.  Before
 * confine().  Returns 0, also without view=, or -1 with *f.
 */
int viewer_open(struct plan *p, struct fault *f);

/*
 * Unmount it, and remove the file if viewer_open has made it.  Who still reads
 * gets an error.  viewer_close frees it as well.  Both take NULL.
 */
void viewer_finish(struct viewer *);
void viewer_close(struct viewer *);

/*
 * For the lead: begin to answer readers, in a thread, once the target can be
 * read.  If it cannot be begun, the copy is being stopped.
 */
void viewer_begin(struct job *);

/*
 * Between two runs, while the source is waited for: what is finished according
 * to the map of the last one is answered, what is bad an error, and who reads
 * anything else waits.  Takes NULL.
 */
void viewer_await(struct viewer *, struct map *);

/* Stop answering readers.  Takes NULL. */
void viewer_end(struct viewer *);

/*
 * The process is about to end while its threads run: unmount it lazily.  Takes
 * NULL.
 */
void viewer_abandon(const struct viewer *);

/* Any thread; all 0 for NULL. */
struct viewer_counts viewer_count(const struct viewer *);

#endif
