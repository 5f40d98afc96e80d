/*
 * The pieces of a block map being made.  Digests are computed outside the lock.
 *
 *	c	table->lock, a leaf: nothing is called with it held
 */
#include "digest/bmap.h"

#include <errno.h>
#include <stdlib.h>

void
bmap_table_init(struct bmap_table *t, const struct digester *by)
{
	*t = (struct bmap_table){ .by = by };
	pthread_mutex_init(&t->lock, NULL);
}

void
bmap_table_free(struct bmap_table *t)
{
	if (t->by == NULL)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t->piece);
	*t = (struct bmap_table){ .by = NULL };
}

static int
bmap_table_grow(struct bmap_table *t)
{
	size_t room = t->room * 2 + 1024;
	struct bmap_piece *more;

	if (t->n < t->room)
		return 0;
	if (t->n >= BMAP_RANGES_MOST)
		return EFBIG;
	more = reallocarray(t->piece, room, sizeof(*more));
	if (more == NULL)
		return ENOMEM;
	t->piece = more;
	t->room = room;
	return 0;
}

int
bmap_table_note(struct bmap_table *t, uint64_t off, const void *buf, size_t len)
{
	struct bmap_piece piece = { .off = off, .len = len };
	int err;

	if (!digester_digest(t->by, buf, len, &piece.digest))
		return ENOMEM;
	pthread_mutex_lock(&t->lock);
	err = bmap_table_grow(t);
	if (err == 0) {
		piece.order = t->n;
		t->piece[t->n++] = piece;
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

static int
bmap_pieces_order(const void *a, const void *b)
{
	const struct bmap_piece *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

bool
bmap_table_settle(struct bmap_table *t)
{
	struct bmap_piece *p;
	bool apart = true;
	size_t i, n = 0;

	pthread_mutex_lock(&t->lock);
	if (t->n > 1)
		qsort(t->piece, t->n, sizeof(*t->piece), bmap_pieces_order);
	for (i = 0; i < t->n && apart; i++) {
		p = &t->piece[i];
		if (i + 1 < t->n && p[1].off == p->off)
			apart = p[1].len == p->len;
		else
			t->piece[n++] = *p;
		apart = apart && (i + 1 == t->n || p[1].off == p->off ||
		    p[1].off - p->off >= p->len);
	}
	t->n = n;
	pthread_mutex_unlock(&t->lock);
	return apart;
}
