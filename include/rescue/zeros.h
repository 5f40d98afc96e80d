/*
 * Whether zeros that a rescue reads after errors are really on the disk.  Used
 * by liveness.c.
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
	bool		 sick;	/* const: earlier runs had errors */
	pthread_mutex_t	 lock;
	uint64_t	 known[ZEROS_KNOWN];	/* lock: bytes of the source
						 * whose blocks are not zeros */
	size_t		 n, next;	/* lock: how many; the one read next */
	struct seg	 held[ZEROS_HELD];	/* lock: zeros not confirmed
						 * yet, and their old status */
	size_t		 helds;		/* lock: how many */
	size_t		 asked;		/* lock: of these, being confirmed
					 * now */
	size_t		 errors;	/* lock: errors when last confirmed */
};

/* Begin empty; and free it. */
void zeros_begin(struct zeros *);
void zeros_end(struct zeros *);

/* Remember a byte of the source whose block was read and is not zeros. */
void zeros_know(struct zeros *, uint64_t off);

/*
 * Record what io has read at off, in a range that had the status "was", after
 * so many errors.  Returns false if these are zeros and a block known to differ
 * now reads as zeros too: then no zeros can be trusted.  Holds no lock
 * meanwhile except liveness.look.
 */
bool zeros_feel(struct worker *, const struct io *, uint64_t off,
    enum seg_status was, size_t errors);

/*
 * Whether there are zeros that zeros_confirm should check, after so many
 * errors.
 */
bool zeros_held(struct job *, size_t errors);

/*
 * Reread a block that is known not to be zeros.  Returns false if it is zeros
 * now.  Call with liveness.look held, or as the lead when nobody else reads.
 */
bool zeros_confirm(struct worker *, size_t errors);

/*
 * Give zeros that were not confirmed the status they had before.  For the lead.
 */
void zeros_forgive(struct job *);

#endif
