/*
 * Whether part of a source may be written to while it is copied.
 */
#ifndef PARDD_IDLE_H
#define PARDD_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "end/endpoint.h"

enum { IDLE_WHY = 160 };	/* bytes */

/*
 * Find out who uses the bytes from "from" to "to"; "partition" means that they
 * are a partition.  Returns 0; or -1 with the reason in "why" (IDLE_WHY bytes)
 * if somebody may write there, or that is unknown.
 */
int part_idle(const struct endpoint *, uint64_t from, uint64_t to,
    bool partition, char *why);

#endif
