/*
 * A map of any length as a number of cells.  The worst status wins: one bad
 * block in a terabyte makes a bad cell.
 */
#include "report/report.h"

#include <string.h>

#include "base/number.h"

/* The order of statuses, from irrelevant to lost. */
static unsigned
cell_badness(char status)
{
	static const char order[] = { OUTSIDE, FINISHED, UNTRIED, CLAIMED,
		UNTRIMMED, UNSCRAPED, BAD };
	const char *at = memchr(order, status, sizeof(order));

	return at != NULL ? (unsigned)(at - order) + 1 : 0;
}

void
cells_fill(char *cell, size_t n, const struct seg *seg, size_t n_seg,
    uint64_t length)
{
	size_t i, at, last;

	memset(cell, 0, n);
	for (i = 0; i < n_seg; i++) {
		const struct seg *s = &seg[i];

		if (s->len == 0 || s->off >= length)
			continue;
		last = number_part(s->off + s->len - 1, n, length);
		if (length < n)		/* up to where the next byte begins */
			last = number_part(s->off + s->len, n, length) - 1;
		for (at = number_part(s->off, n, length); at <= last && at < n;
		    at++)
			if (cell_badness((char)s->status) >
			    cell_badness(cell[at]))
				cell[at] = (char)s->status;
	}
	for (at = 0; at < n; at++)
		if (cell[at] == 0)
			cell[at] = UNTRIED;
}
