/*
 * What a buffer holds.
 */
#include "base/bytes.h"

#include <string.h>

/* Each byte is compared with the next one, by a function made for that. */
bool
all_zero(const unsigned char *buf, size_t len)
{
	return len == 0 || (buf[0] == 0 && memcmp(buf, buf + 1, len - 1) == 0);
}
