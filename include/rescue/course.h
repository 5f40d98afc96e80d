/*
 * The course of the first pass of a rescue: how much it reads at a time, and
 * how far it jumps after an error, adapted to the disk.
 */
#ifndef PARDD_COURSE_H
#define PARDD_COURSE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rescue/forecast.h"

struct bad_run {		/* bytes, as far as the pass has seen it */
	uint64_t	 off, first;	/* it begins in the first bad piece, */
	uint64_t	 last, end;	/* and ends between last and end */
	bool		 sure;		/* longer than a single block */
};

struct course {			/* c: lock */
	pthread_mutex_t	 lock;
	uint64_t	 least, most;	/* I: bytes, shortest and longest
					 * jump */
	uint64_t	 areas;	/* c: bad areas so far */
	uint64_t	 enough;	/* c: bytes that were enough after an
					 * error */
	uint64_t	 shorter;	/* c: bytes that were too few, or 0 */
	uint64_t	 jump;	/* c: the last one; 0 once it has landed */
	uint64_t	 far;	/* c: bytes past the first error so far */
	uint64_t	 landing;	/* c: where it leads, in bytes of the
					 * pass */
	unsigned	 part;	/* c: 1/part is taken off "shorter" next */
	unsigned	 calm;	/* c: jumps in a row that landed well at once */
	struct bad_run	 run;	/* c: the run that the last jump is crossing */
	struct forecast	 forecast;	/* c */
	bool		 foretold;	/* c: the last jump leads to a forecast
					 * end */
};

/* Begin for a copy of length bytes; and free it. */
void course_begin(struct course *, uint64_t length);
void course_end(struct course *);

/* Earlier runs have found this many bad areas. */
void course_resume(struct course *, uint64_t areas);

/*
 * The bytes to read at a time, after the first "bytes" of the copy: a power of
 * two, not above "most".
 */
size_t course_piece(struct course *, uint64_t bytes, size_t most);

/*
 * A piece of len bytes was bad or slow, or has not returned, "at" bytes from
 * where the pass began.  Returns the bytes to skip after it; 0 if that was done
 * already.
 */
uint64_t course_bad(struct course *, uint64_t at, uint64_t len);

/* A piece counted as bad because it had not returned was good after all. */
void course_forgive(struct course *);

/*
 * A piece was good.  Returns true if this is where a jump has landed, and the
 * edges of the run that it crossed should be found: *run.
 */
bool course_good(struct course *, uint64_t at, struct bad_run *run);

/* Those edges are known. */
void course_learn(struct course *, const struct run *);

/* Where the next bad run is expected, after "at"; UINT64_MAX: unknown. */
uint64_t course_foretells(struct course *, uint64_t at);

#endif
