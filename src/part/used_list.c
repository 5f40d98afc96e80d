/*
 * Lists of ranges: in order, disjoint, none adjacent.
 */
#include "used_list.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

#include "base/number.h"

enum {
	SECTOR = 512,
	LEAST_MOST = 1 << 20,	/* bytes: a longer range is always left out */
	ALONG = 100,		/* at most 1/ALONG more is copied */
};

int
used_list_add(struct used_list *l, uint64_t off, uint64_t end)
{
	struct seg *last = l->n > 0 ? &l->seg[l->n - 1] : NULL, *more;
	size_t room = l->room * 2 + 64;

	if (last != NULL)
		off = MAX(off, last->off + last->len);
	if (off >= end)
		return 0;
	if (last != NULL && last->off + last->len == off) {
		last->len += end - off;
		return 0;
	}
	if (l->seg == NULL || l->n == l->room) {
		more = reallocarray(l->seg, room, sizeof(*more));
		if (more == NULL)
			return ENOMEM;
		l->seg = more;
		l->room = room;
	}
	l->seg[l->n++] = (struct seg){ off, end - off, OUTSIDE };
	return 0;
}

int
used_list_free(struct used_list *l, const struct plan *p, uint64_t off,
    uint64_t end)
{
	uint64_t unit = p->grain;

	off = MAX(off, p->src_off);
	end = MIN(end, p->src_off + p->length);
	if (off >= end)
		return 0;
	off = round_up(off - p->src_off + p->dst_off, unit);
	end = end - p->src_off + p->dst_off;
	end -= end % unit;
	return off < end ? used_list_add(l, off - p->dst_off + p->src_off,
	    end - p->dst_off + p->src_off) : 0;
}

uint64_t
used_list_bytes(const struct used_list *l, uint64_t shorter)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < l->n; i++)
		if (l->seg[i].len < shorter)
			sum += l->seg[i].len;
	return sum;
}

void
used_list_trim(struct used_list *l, uint64_t length)
{
	uint64_t used = length - used_list_bytes(l, UINT64_MAX);
	uint64_t least = LEAST_MOST;
	size_t i, n = 0;

	while (least > SECTOR && used_list_bytes(l, least) > used / ALONG)
		least /= 2;
	for (i = 0; i < l->n; i++)
		if (l->seg[i].len >= least)
			l->seg[n++] = l->seg[i];
	l->n = n;
}

const struct seg *
used_list_uncovered(const struct used_list *l, const struct used_list *by)
{
	size_t i, k = 0;

	for (i = 0; i < l->n; i++) {
		const struct seg *s = &l->seg[i], *t;

		while (k < by->n && by->seg[k].off + by->seg[k].len <= s->off)
			k++;
		t = &by->seg[k];
		if (k == by->n || t->off > s->off ||
		    t->off + t->len < s->off + s->len)
			return s;
	}
	return NULL;
}
