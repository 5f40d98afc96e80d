/*
 * Describing an end of the copy for people.
 */
#ifndef PARDD_WORDING_H
#define PARDD_WORDING_H

#include <stddef.h>

#include "end/endpoint.h"
#include "part/damage.h"

/*
 * Its name, in at most "most" bytes and a NUL; of a long name the end, where
 * names differ.  Not yet escaped.  Returns text.
 */
const char *wording_name(char *text, size_t room, const struct endpoint *,
    size_t most);

/* A description: "block device, 500 GB, Samsung SSD 870, serial S5Y1". */
const char *wording_end(char *text, size_t room, const struct endpoint *);

/* Model and serial number: "Samsung SSD 870, S5Y1"; or the kind of end. */
const char *wording_who(char *text, size_t room, const struct endpoint *);

/*
 * What distinguishes it, to be put after its name: ", Samsung SSD 870, 500 GB,
 * serial S5Y1", as far as known.
 */
const char *wording_brief(char *text, size_t room, const struct endpoint *);

/* What was lost, as a sentence without its full stop; "" if unknown. */
const char *wording_loss(char *text, size_t room, const struct loss *);

#endif
