/*
 * The course of a rescue's first pass: how much it reads at a time, and how far
 * it jumps behind an error, as the disk has taught it.  Used by rescue.c.
 */
#ifndef PARDD_COURSE_H
#define PARDD_COURSE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rescue/forecast.h"

struct bad_run {		/* bytes: as far as the pass has seen it */
	uint64_t	 off, first;	/* it begins in the first bad piece, */
	uint64_t	 last, end;	/* and ends between the last and here */
	bool		 sure;		/* it is no single block */
};

struct course {			/* c: lock */
	pthread_mutex_t	 lock;
	uint64_t	 least, most;	/* I: bytes of a jump */
	uint64_t	 areas;	/* c: bad ones, met so far */
	uint64_t	 enough;	/* c: bytes behind a first error; */
	uint64_t	 shorter;	/* c: what was not, or 0 */
	uint64_t	 jump;	/* c: of the last one, 0 once it has landed */
	uint64_t	 far;	/* c: behind the first error, so far */
	uint64_t	 landing;	/* c: where the last one leads */
	unsigned	 part;	/* c: of "shorter", to be taken off it next */
	unsigned	 calm;	/* c: so many landed well at once, in a row */
	struct bad_run	 run;	/* c: that the last jump is to come out of */
	struct forecast	 forecast;	/* c */
	bool		 foretold;	/* c: where the last jump leads */
};

/* For a copy of so many bytes; and to be done with it. */
void course_begin(struct course *, uint64_t length);
void course_end(struct course *);

/* So many bad areas are known from the runs before. */
void course_resume(struct course *, uint64_t areas);

/*
 * Bytes to read at a time, once so many were gone over: a power of two, "most"
 * at most.
 */
size_t course_piece(struct course *, uint64_t bytes, size_t most);

/*
 * A piece was bad, or slow, of so many bytes, "at" bytes from where the pass
 * began; or it does not end.  Returns the bytes to leave out behind it; 0 where
 * that was done.
 */
uint64_t course_bad(struct course *, uint64_t at, uint64_t len);

/* A piece that was taken to be bad, since it did not end, was not. */
void course_forgive(struct course *);

/*
 * A piece was good.  Returns whether a jump has landed there, over a run of
 * which it should be known where exactly it begins and ends: *run is that.
 */
bool course_good(struct course *, uint64_t at, struct bad_run *run);

/* It is known. */
void course_learn(struct course *, const struct run *);

/* Where the next bad run will begin, behind "at"; UINT64_MAX: nobody knows. */
uint64_t course_foretells(struct course *, uint64_t at);

#endif
