/*
 * What reading signatures shares with reading the table (parts.c).
 */
#ifndef PARDD_PARTS_TABLE_H
#define PARDD_PARTS_TABLE_H

#include <stdint.h>

#include "part/parts.h"

struct view;

/* The sector size of the end in bytes, as far as it is known. */
uint32_t parts_sector_of(const struct view *);

/* Read the table from a view.  Returns 0 or an errno value. */
int parts_read_table(struct view *, struct parts *);

#endif
