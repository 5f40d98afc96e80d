/*
 * Numbers as a root shell writes them, and sizes as people read them.
 */
#ifndef PARDD_NUMBER_H
#define PARDD_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Read a whole operand value: a sum of products of numbers, each decimal with
 * an optional suffix (c w b k kB KiB ... E), 0x hex, or hex with a trailing h.
 * Returns 0, EINVAL for anything that is not such a text to its last
 * character, or ERANGE when the result does not fit; *value is set on 0 only.
 */
int number_parse(const char *text, int64_t *value);

/*
 * Write bytes into buf with an SI (1000) or IEC (1024) prefix, as dd does:
 * "1.0 MB", "1.0 MiB", "17 GB".  Below 1000 (1024) it is plain bytes, "512 B".
 * Returns buf.
 */
const char *number_si(char *buf, size_t room, double bytes);
const char *number_iec(char *buf, size_t room, double bytes);

/* The least multiple of unit that is no less than n; unit > 0. */
uint64_t round_up(uint64_t n, uint64_t unit);

#endif
