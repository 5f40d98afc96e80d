/*
 * What a run leaves behind beside the copy, and what it is held against:
 * digests, the files of them, and what requests took.
 */
#ifndef PARDD_OUTPUTS_H
#define PARDD_OUTPUTS_H

#include <stdbool.h>

#include "base/fault.h"
#include "base/newfile.h"
#include "copy/outcome.h"
#include "copy/ranges.h"
#include "digest/bmap.h"
#include "digest/hash.h"
#include "part/used.h"
#include "plan/plan.h"

struct outputs {			/* the main thread's */
	struct hash	*hash;
	struct newfile	 hashfile, profile, usedmap;
	struct report	*report;	/* or NULL */
	struct ranges	 ranges;
	struct bmap	 bmap;	/* of bmap= */
	struct layout	 whole;	/* its image's */
	struct used	 used;	/* what it is limited to */
	const struct layout *layout;	/* for the plan, or NULL */
};

/* Before there is a plan.  Returns 0, or -1 with *f and nothing to close. */
int outputs_load(struct outputs *, const struct opts *, struct fault *f);

/*
 * See that all that is asked for can be made; nothing is made yet, p->hash and
 * p->ranges are set.  Returns 0, or -1 with *f.
 */
int outputs_open(struct outputs *, struct plan *p, struct fault *f);

/*
 * The copy begins, signals are blocked: hold the names of the files, start the
 * digests.  Returns 0, or -1 with *f.
 */
int outputs_start(struct outputs *, struct fault *f);

/*
 * The copy is over: make the digests and the files.  What cannot be made stands
 * in out->outputs.
 */
void outputs_finish(struct outputs *, const struct plan *, struct outcome *);

/* Before that, with the ends still open: what the report is to say of them. */
void outputs_look(struct outputs *, struct outcome *);

/*
 * Once it is judged: write the report.  False where that cannot be done, and it
 * stands in out->outputs, to be judged again.
 */
bool outputs_report(struct outputs *, struct outcome *);

/* Give the files up; workers that still run know nothing of them. */
void outputs_abandon(struct outputs *);

/* Free what outputs_load and outputs_open took. */
void outputs_close(struct outputs *);

#endif
