/*
 * An end of the copy in words, for people.
 */
#ifndef PARDD_WORDING_H
#define PARDD_WORDING_H

#include <stddef.h>

#include "end/endpoint.h"
#include "part/damage.h"

/*
 * What it is called, in "most" bytes and a 0 at most; of a long name the end,
 * where names differ.  Not escaped yet.  Returns text.
 */
const char *wording_name(char *text, size_t room, const struct endpoint *,
    size_t most);

/* What it is: "block device, 500 GB, Samsung SSD 870, serial S5Y1". */
const char *wording_end(char *text, size_t room, const struct endpoint *);

/* Model and serial number: "Samsung SSD 870, S5Y1"; or what kind it is. */
const char *wording_who(char *text, size_t room, const struct endpoint *);

/*
 * What tells it from others, to follow its name: ", Samsung SSD 870, 500 GB,
 * serial S5Y1", or as much of that as is known.
 */
const char *wording_brief(char *text, size_t room, const struct endpoint *);

/* What was lost, a sentence without its end; "" where that is not known. */
const char *wording_loss(char *text, size_t room, const struct loss *);

#endif
