/*
 * What a worker of a rescue holds: a piece, claimed as the pass wants it.
 */
#ifndef PARDD_HOLD_H
#define PARDD_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "copy/job.h"
#include "map/map.h"
#include "rescue/gaps.h"

struct hold {			/* a claimed piece */
	struct seg	 seg;
	struct gap	 gap;		/* the gap it belongs to, if any */
	uint64_t	 ticket;	/* for exclusive.c, or 0 */
	bool		 calm;		/* all was read, and not slowly */
	bool		 passed;	/* another worker has passed it */
};

/* Claim a piece, for reading alone if necessary.  Returns as map_claim. */
int hold_claim(struct worker *, struct hold *);

/*
 * Wait until rate= allows a piece, unless that was done, or is done block by
 * block.  False if the copy was stopped meanwhile.
 */
bool hold_pay(struct job *, const struct hold *);

/*
 * Put back the rest of the gap that the piece belongs to.  False without
 * memory; the job has failed then.
 */
bool hold_give_back(struct job *, const struct hold *);

#endif
