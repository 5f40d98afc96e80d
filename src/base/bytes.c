/*
 * Buffers.
 */
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

unsigned char *
page_alloc(size_t len)
{
	return aligned_alloc(PAGE, (size_t)round_up(len, PAGE));
}

/* All bytes are equal if each one equals the next; memcmp is fast. */
bool
all_zero(const unsigned char *buf, size_t len)
{
	return len == 0 || (buf[0] == 0 && memcmp(buf, buf + 1, len - 1) == 0);
}
