/*
 * Holes where data should be.
 */
#ifndef PARDD_HOLES_H
#define PARDD_HOLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether more than "most" of the bytes from "from" to "to" of a file are
 * holes; false where that cannot be told.  Moves the descriptor's offset.
 */
bool holes_more(int fd, uint64_t from, uint64_t to, uint64_t most);

/* How many of them are; 0 where that cannot be told.  Moves the offset, too. */
uint64_t holes_in(int fd, uint64_t from, uint64_t to);

#endif
