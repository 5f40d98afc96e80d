/*
 * What a copy may have made of the disks, said from the outside: by what was on
 * them before, what was asked for, and what happened.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "sim.h"

struct order {			/* what the copy is told to do, in sectors */
	size_t		 skip, seek, count;
	bool		 map, coe;
	unsigned	 retries;	/* of this run, */
	bool		 thorough;	/* which leaves nothing out */
};

/* Whether the block that a sector of the source lies in was bad, ever. */
bool near_bad(size_t sector);

/* The disks as they are before it. */
void model_begin(const struct order *);

/* What the next run is told to do. */
void model_again(const struct order *);

/*
 * After a run that ended so, or a power cut (-1): what is wrong, or NULL.
 * quiet: nothing was to stop it.
 */
const char *model_judge(int status, bool quiet);

#endif
