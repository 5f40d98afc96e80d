/*
 * What reading signatures needs of reading the table (parts.c).
 */
#ifndef PARDD_PARTS_TABLE_H
#define PARDD_PARTS_TABLE_H

#include <stdint.h>

#include "part/parts.h"

struct view;

/* Bytes of the sectors that the end counts in, as far as it tells. */
uint32_t parts_sector_of(const struct view *);

/* Read the table of a view.  Returns 0 or an errno value. */
int parts_read_table(struct view *, struct parts *);

#endif
