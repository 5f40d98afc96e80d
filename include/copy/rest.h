/*
 * What lies behind the copy on a target: rest=zero, rest=trim.
 */
#ifndef PARDD_REST_H
#define PARDD_REST_H

#include <stdint.h>

#include "copy/job.h"
#include "plan/plan.h"

/*
 * The bytes of the target of a plan, for one target, from the end of the copy
 * on: to the end of its disk, or of its partition; 0: none.
 */
uint64_t rest_length(const struct plan *);

/*
 * Zero the rest of each target; with rest=trim a device frees the blocks, too.
 * For the lead, once everything is copied, and before the flush.
 */
void rest_clear(struct job *);

#endif
