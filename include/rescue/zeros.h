/*
 * Zeros that a rescue reads after errors: whether they are the disk's.  Used by
 * liveness.c.
 */
#ifndef PARDD_ZEROS_H
#define PARDD_ZEROS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "end/endpoint.h"
#include "map/map.h"

struct job;
struct worker;

enum { ZEROS_KNOWN = 16, ZEROS_HELD = 96 };

struct zeros {
	bool		 sick;	/* const: runs before have met errors */
	pthread_mutex_t	 lock;
	uint64_t	 known[ZEROS_KNOWN];	/* lock: bytes of the source, */
	size_t		 n, next;	/* lock: where blocks are no zeros */
	struct seg	 held[ZEROS_HELD];	/* lock: not believed yet, */
	size_t		 helds;		/* lock: and what they were before; */
	size_t		 asked;		/* lock: so many are being looked at */
	size_t		 errors;	/* lock: when some last were */
};

/* With nothing noted yet; and with what it takes given back. */
void zeros_begin(struct zeros *);
void zeros_end(struct zeros *);

/* Take note of a byte of the source: its block was read, and is no zeros. */
void zeros_know(struct zeros *, uint64_t off);

/*
 * Take note of what was read, by io, for off on of what had the status "was",
 * after so many errors.  False when it is zeros, and so is by now what was not:
 * no zeros can be believed.  Holds no lock meanwhile but liveness.look.
 */
bool zeros_feel(struct worker *, const struct io *, uint64_t off,
    enum seg_status was, size_t errors);

/* Whether some are held, for zeros_confirm to look at after so many errors. */
bool zeros_held(struct job *, size_t errors);

/*
 * Read a block again that is no zeros.  False when it has become zeros.  By who
 * has liveness.look, or the lead, when nobody else reads.
 */
bool zeros_confirm(struct worker *, size_t errors);

/* What was not confirmed has the status that it had.  The lead's. */
void zeros_forgive(struct job *);

#endif
