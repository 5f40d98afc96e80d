/*
 * Numbers as people type them, and sizes as people read them.
 */
#ifndef PARDD_NUMBER_H
#define PARDD_NUMBER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))	/* members */

typedef unsigned long long ull;	/* for %llu */

/*
 * Parse the value of an operand: a sum of products of numbers, each decimal
 * with an optional suffix (c w b k kB KiB ... E), hex with 0x, or hex with a
 * trailing h.  Returns 0 with *value; EINVAL if any part of the text is
 * something else; or ERANGE if the result does not fit.
 */
int number_parse(const char *text, int64_t *value);

/*
 * Write bytes into buf with an SI (1000) or IEC (1024) prefix, as dd does:
 * "1.0 MB", "1.0 MiB", "17 GB".  Below 1000 (1024) it is plain bytes, "512 B".
 * Returns buf.
 */
const char *number_si(char *buf, size_t room, double bytes);
const char *number_iec(char *buf, size_t room, double bytes);

/* Make *high at least n. */
static inline void
raise_to(atomic_uint_fast64_t *high, uint64_t n)
{
	uint_fast64_t old = *high;

	while (old < n && !atomic_compare_exchange_weak(high, &old, n))
		continue;
}

/* n rounded up to a multiple of unit (> 0). */
uint64_t round_up(uint64_t n, uint64_t unit);

/*
 * n * parts / of, rounded down, without overflow on the way: the part that byte
 * n is in, if "of" (> 0) bytes are divided into that many equal parts.
 */
size_t number_part(uint64_t n, size_t parts, uint64_t of);

/* Mix bytes into a sum that began as NUMBER_SUM: FNV-1a, 64 bits. */
#define NUMBER_SUM	UINT64_C(0xcbf29ce484222325)
uint64_t number_sum(uint64_t sum, const void *bytes, size_t n);

/*
 * Buffers: their alignment and their contents.
 */

/*
 * Allocate len bytes that begin at a page and fill whole pages, as O_DIRECT and
 * commands require.  The caller frees them; NULL without memory.
 */
unsigned char *page_alloc(size_t len);

/* Whether all bytes of a buffer are zero. */
bool all_zero(const unsigned char *buf, size_t len);

#endif
