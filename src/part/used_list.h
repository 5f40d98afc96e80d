/*
 * What used.c and those beside it do with lists of ranges.
 */
#ifndef PARDD_USED_LIST_H
#define PARDD_USED_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "part/used.h"
#include "plan/plan.h"

/* Add a range behind the last, or as the rest of that.  0 or ENOMEM. */
int used_list_add(struct used_list *, uint64_t off, uint64_t end);

/*
 * The same of what is free, as far as it is in the copy: only whole pages, and
 * blocks, of the target are left out.
 */
int used_list_free(struct used_list *, const struct plan *, uint64_t off,
    uint64_t end);

/* The bytes of the ranges that are shorter than this. */
uint64_t used_list_bytes(const struct used_list *, uint64_t shorter);

/*
 * To read over a short range takes less time than to leave it out: take those
 * out that hardly show in what is copied at all, of so many bytes.
 */
void used_list_trim(struct used_list *, uint64_t length);

/* The first range of a list that another does not cover, or NULL. */
const struct seg *used_list_uncovered(const struct used_list *,
    const struct used_list *by);

#endif
