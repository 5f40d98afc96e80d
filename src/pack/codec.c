/*
 * What codecs share: how they fail, and how they read numbers.
 */
#include "pack/codec.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/status.h"

enum codec_step
codec_fail(struct decoder *d, int status, const char *fmt, ...)
{
	va_list ap;

	d->status = status;
	va_start(ap, fmt);
	vsnprintf(d->why, sizeof(d->why), fmt, ap);
	va_end(ap);
	return CODEC_FAILED;
}

enum codec_step
codec_starve(struct decoder *d, uint64_t need)
{
	if (need == 0)
		return codec_fail(d, STATUS_REFUSED, "needs more memory than "
		    "there is to unpack it");
	return codec_fail(d, STATUS_REFUSED, "needs %llu MiB of memory to "
	    "unpack it; mem=%lluM allows that", (unsigned long long)
	    ((need + (1 << 20) - 1) >> 20), (unsigned long long)
	    ((need + (1 << 20) - 1) >> 20));
}

uint64_t
codec_number(const unsigned char *at, size_t n)
{
	uint64_t sum = 0;

	while (n-- > 0)
		sum = sum << 8 | at[n];
	return sum;
}
