/*
 * Holes in a file.
 */
#ifndef PARDD_HOLES_H
#define PARDD_HOLES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether more than "most" of the bytes in a range of a file are holes; false
 * if that is unknown.  Moves the offset of the descriptor.
 */
bool holes_more(int fd, uint64_t from, uint64_t to, uint64_t most);

/* How many of them are holes; 0 if unknown.  Moves the offset too. */
uint64_t holes_in(int fd, uint64_t from, uint64_t to);

#endif
