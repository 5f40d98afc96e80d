/*
 * Lists of ranges for used.c and its sister files.
 */
#ifndef PARDD_USED_LIST_H
#define PARDD_USED_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "part/used.h"
#include "plan/plan.h"

/*
 * Append the part of a range after the last, joining them if they adjoin.
 * Returns 0 or ENOMEM.
 */
int used_list_add(struct used_list *, uint64_t off, uint64_t end);

/*
 * Append a free range, as far as it is in the copy and consists of whole pages
 * or blocks of the target.
 */
int used_list_free(struct used_list *, const struct plan *, uint64_t off,
    uint64_t end);

/* The total bytes of ranges shorter than this. */
uint64_t used_list_bytes(const struct used_list *, uint64_t shorter);

/*
 * Remove short ranges, as skipping them takes longer than reading them, as long
 * as they hardly add to what is copied, of "length" bytes.
 */
void used_list_trim(struct used_list *, uint64_t length);

/* The first range of a list that another list does not cover, or NULL. */
const struct seg *used_list_uncovered(const struct used_list *,
    const struct used_list *by);

#endif
