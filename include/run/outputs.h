/*
 * The files of a run besides the copy: digests, manifests, profile and report,
 * and the manifest or block map that the run is checked against.
 */
#ifndef PARDD_OUTPUTS_H
#define PARDD_OUTPUTS_H

#include "base/fault.h"
#include "base/newfile.h"
#include "copy/outcome.h"
#include "copy/ranges.h"
#include "digest/bmap.h"
#include "digest/hash.h"
#include "part/used.h"
#include "plan/plan.h"
#include "record/hashfile.h"

struct outputs {			/* for the main thread only */
	struct hash	*hash;
	struct newfile	 hashfile, profile, usedmap;
	struct report	*report;	/* NULL without report= */
	struct ranges	 ranges;
	struct ends_told ends;	/* for manifest= */
	struct bmap	 bmap;	/* the file of bmap= */
	struct layout	 whole;	/* the layout of its image */
	struct used	 used;	/* what the copy is limited to */
	const struct layout *layout;	/* passed to the plan, or NULL */
};

/*
 * Read the files that the plan needs.  Returns 0, or -1 with *f and nothing to
 * close.
 */
int outputs_load(struct outputs *, const struct opts *, struct fault *f);

/*
 * Check that every file can be made, and set p->hash and p->ranges.  Nothing is
 * made yet.  Returns 0, or -1 with *f.
 */
int outputs_open(struct outputs *, struct plan *p, struct fault *f);

/*
 * When the copy begins and signals are blocked: reserve the names of the files,
 * while a signal ends the program, because a file system may not answer; and
 * start the digests.  Returns 0, or -1 with *f.
 */
int outputs_start(struct outputs *, struct fault *f);

/*
 * After the copy: finish the digests, and record in the outcome what differs
 * from a manifest.
 */
void outputs_finish(struct outputs *, const struct plan *, struct outcome *);

/* Abandon the files; workers that are still running do not use them. */
void outputs_abandon(struct outputs *);

/* Free what outputs_load and outputs_open have made. */
void outputs_close(struct outputs *);

#endif
