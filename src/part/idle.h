/*
 * Whether nobody can be writing to a part of a source.
 */
#ifndef PARDD_IDLE_H
#define PARDD_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "end/endpoint.h"

enum { IDLE_WHY = 160 };	/* bytes */

/*
 * Ask who uses bytes of a source, from "from" to "to"; "partition" says that
 * they are a partition of it.  Returns 0, or -1, and the reason in "why", of
 * IDLE_WHY bytes: somebody may write there, or that cannot be looked up.
 */
int part_idle(const struct endpoint *, uint64_t from, uint64_t to,
    bool partition, char *why);

#endif
