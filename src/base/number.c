/*
 * Numbers: the grammar of sgp_dd's operands, but strict; and sizes as in dd's
 * totals.
 *
 *	sum     = product { "+" product }
 *	product = number { "x" number }
 *	number  = "0x" hex | hex "h" | decimal [ suffix ]
 *
 * A hex number has no suffix, because b and c would be digits.
 */
#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
number_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 99;
}

/* Read digits of a base at *s, and move *s past them. */
static int
number_digits(const char **s, int base, int64_t *value)
{
	const char *p = *s;
	bool over = false;

	*value = 0;
	for (; number_digit(*p) < base; p++)
		over |= __builtin_mul_overflow(*value, base, value) ||
		    __builtin_add_overflow(*value, number_digit(*p), value);
	if (p == *s)
		return EINVAL;
	*s = p;
	return over ? ERANGE : 0;
}

/* Read the suffix of a decimal at *s; its factor, 1 without one. */
static int64_t
number_suffix(const char **s)
{
	static const char prefix[] = "kmgtpe";
	const char *p = *s, *at;
	int64_t unit = 1, base = 1024;
	size_t power;

	switch (*p) {
	case 'c':
		*s = p + 1;
		return 1;
	case 'w':
		*s = p + 1;
		return 2;
	case 'b':
		*s = p + 1;
		return 512;
	case '\0':
		return 1;
	default:
		break;
	}
	at = strchr(prefix, tolower((unsigned char)*p));
	if (at == NULL)
		return 1;
	p++;
	if (*p == 'B' || *p == 'D' || *p == 'd') {
		base = 1000;
		p++;
	} else if (*p == 'i' && (p[1] == 'B' || p[1] == 'b')) {
		p += 2;
	}
	for (power = (size_t)(at - prefix) + 1; power > 0; power--)
		unit *= base;		/* at most 1024^6 = 2^60 */
	*s = p;
	return unit;
}

static bool
trailing_h(const char *s)
{
	while (isxdigit((unsigned char)*s))
		s++;
	return *s == 'h' || *s == 'H';
}

static int
number_term(const char **s, int64_t *value)
{
	int err;

	if ((*s)[0] == '0' && ((*s)[1] == 'x' || (*s)[1] == 'X')) {
		*s += 2;
		return number_digits(s, 16, value);
	}
	if (trailing_h(*s)) {
		err = number_digits(s, 16, value);
		*s += 1;
		return err;
	}
	err = number_digits(s, 10, value);
	if (err == 0 && __builtin_mul_overflow(*value, number_suffix(s), value))
		err = ERANGE;
	return err;
}

static int
number_product(const char **s, int64_t *value)
{
	int64_t factor;
	int err = number_term(s, value);

	while (err == 0 && (**s == 'x' || **s == 'X')) {
		(*s)++;
		err = number_term(s, &factor);
		if (err == 0 && __builtin_mul_overflow(*value, factor, value))
			err = ERANGE;
	}
	return err;
}

int
number_parse(const char *text, int64_t *value)
{
	const char *s = text;
	int64_t sum = 0, term;
	int err;

	if (*s == '+')
		s++;
	for (;;) {
		err = number_product(&s, &term);
		if (err != 0)
			return err;
		if (__builtin_add_overflow(sum, term, &sum))
			return ERANGE;
		if (*s != '+')
			break;
		s++;
	}
	if (*s != '\0')
		return EINVAL;
	*value = sum;
	return 0;
}

/*
 * What would be rounded up to 1000 (1024) is printed as 1.0 of the next unit.
 */
static const char *
number_scaled(char *buf, size_t room, double n, double base,
    const char *const unit[])
{
	size_t i = 0;

	while (n >= base - 0.5 && unit[i + 1] != NULL) {
		n /= base;
		i++;
	}
	snprintf(buf, room, i > 0 && n < 9.95 ? "%.1f %s" : "%.0f %s", n,
	    unit[i]);
	return buf;
}

const char *
number_si(char *buf, size_t room, double bytes)
{
	static const char *const unit[] = { "B", "kB", "MB", "GB", "TB", "PB",
		"EB", NULL };

	return number_scaled(buf, room, bytes, 1000, unit);
}

const char *
number_iec(char *buf, size_t room, double bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB",
		"PiB", "EiB", NULL };

	return number_scaled(buf, room, bytes, 1024, unit);
}

/* Add n to *rest, modulo "of", which is above both.  Returns the carry. */
static size_t
add_modulo(uint64_t *rest, uint64_t n, uint64_t of)
{
	bool carries = *rest >= of - n;

	*rest = carries ? *rest - (of - n) : *rest + n;
	return carries;
}

/* The product is too large: long division, by the bits of parts. */
size_t
number_part(uint64_t n, size_t parts, uint64_t of)
{
	size_t bit, part = 0;
	uint64_t product, rest = 0;

	if (!__builtin_mul_overflow(n, parts, &product))
		return (size_t)(product / of);
	for (bit = (SIZE_MAX >> 1) + 1; bit > 0; bit >>= 1) {
		part = 2 * part + add_modulo(&rest, rest, of);
		if ((parts & bit) != 0)
			part += (size_t)(n / of) +
			    add_modulo(&rest, n % of, of);
	}
	return part;
}

uint64_t
round_up(uint64_t n, uint64_t unit)
{
	uint64_t rest = n % unit;

	return rest == 0 ? n : n + (unit - rest);
}

uint64_t
number_sum(uint64_t sum, const void *bytes, size_t n)
{
	const unsigned char *b = bytes;

	while (n-- > 0)
		sum = (sum ^ *b++) * UINT64_C(0x100000001b3);
	return sum;
}

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
