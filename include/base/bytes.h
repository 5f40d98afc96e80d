/*
 * Buffers: their alignment and their contents.
 */
#ifndef PARDD_BYTES_H
#define PARDD_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Allocate len bytes that begin at a page and fill whole pages, as O_DIRECT and
 * commands require.  The caller frees them; NULL without memory.
 */
unsigned char *page_alloc(size_t len);

/* Whether all bytes of a buffer are zero. */
bool all_zero(const unsigned char *buf, size_t len);

#endif
