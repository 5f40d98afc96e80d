/*
 * What a buffer holds.
 */
#ifndef PARDD_BYTES_H
#define PARDD_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all bytes of a buffer are zero. */
bool all_zero(const unsigned char *buf, size_t len);

#endif
