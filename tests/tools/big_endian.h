/* Numbers as SCSI has them: most significant byte first. */
#ifndef PARDD_BIG_ENDIAN_H
#define PARDD_BIG_ENDIAN_H

#include <stdint.h>

static inline uint64_t
get_big(const unsigned char *p, int bytes)
{
	uint64_t v = 0;

	while (bytes-- > 0)
		v = v << 8 | *p++;
	return v;
}

static inline void
put_big(unsigned char *p, uint64_t v, int bytes)
{
	for (; bytes-- > 0; v >>= 8)
		p[bytes] = (unsigned char)v;
}

#endif
