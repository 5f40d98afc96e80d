/*
 * What a run leaves behind beside the copy: digests, the files of them, and
 * what requests took.
 */
#ifndef PARDD_RECORD_H
#define PARDD_RECORD_H

#include "copy.h"
#include "fault.h"
#include "hash.h"
#include "newfile.h"
#include "plan.h"

struct record {			/* the main thread's */
	struct hash	*hash;
	struct newfile	 hashfile, profile;
};

/*
 * See that all that is asked for can be made; nothing is made yet, and p->hash
 * is set.  Returns 0, or -1 with *f, and then there is nothing to close.
 */
int record_open(struct record *, struct plan *p, struct fault *f);

/* The copy begins, signals are blocked.  Returns 0, or -1 with *f. */
int record_start(struct record *, struct fault *f);

/*
 * The copy is over: make the digests and the files.  What cannot be made stands
 * in out->record.
 */
void record_finish(struct record *, const struct plan *, struct outcome *);

/* The copy was left with its threads running: they keep what they use. */
void record_leave(struct record *);

/* Free what record_open took. */
void record_close(struct record *);

#endif
