/*
 * What a run leaves behind beside the copy, and what it is held against:
 * digests, the files of them, and what requests took.
 */
#ifndef PARDD_RECORD_H
#define PARDD_RECORD_H

#include "base/fault.h"
#include "base/newfile.h"
#include "copy/outcome.h"
#include "copy/ranges.h"
#include "digest/hash.h"
#include "plan/plan.h"

struct record {			/* the main thread's */
	struct hash	*hash;
	struct newfile	 hashfile, profile;
	struct ranges	 ranges;
	const struct layout *layout;	/* for the plan, or NULL */
};

/* Before there is a plan.  Returns 0, or -1 with *f and nothing to close. */
int record_load(struct record *, const struct opts *, struct fault *f);

/*
 * See that all that is asked for can be made; nothing is made yet, p->hash and
 * p->ranges are set.  Returns 0, or -1 with *f.
 */
int record_open(struct record *, struct plan *p, struct fault *f);

/*
 * The copy begins, signals are blocked: hold the names of the files, start the
 * digests.  Returns 0, or -1 with *f.
 */
int record_start(struct record *, struct fault *f);

/*
 * The copy is over: make the digests and the files.  What cannot be made stands
 * in out->record.
 */
void record_finish(struct record *, const struct plan *, struct outcome *);

/* Give the files up; workers that still run know nothing of them. */
void record_abandon(struct record *);

/* Free what record_load and record_open took. */
void record_close(struct record *);

#endif
