/*
 * NBD: what a server knows of its extents: which are holes, and which a dirty
 * bitmap says have changed.
 */
#include "config.h"

#ifdef HAVE_LIBNBD
#include "nbd_end.h"

#include <errno.h>
#include <stdlib.h>

enum {
	ASK_MOST = 1 << 30,	/* bytes, of a question for extents, and */
	ANSWER_MOST = 4096,	/* of them, of the answer */
};

/* Ask the server, from there on; nbd->lock is held. */
static int
ask(struct nbd *nbd, struct picture *pic, uint64_t off)
{
	uint64_t from = off - off % nbd->block, len = nbd->size - from;
	int err;

	if (pic->x.at == NULL) {
		pic->x.at = calloc(ANSWER_MOST, sizeof(*pic->x.at));
		pic->x.room = pic->x.at == NULL ? 0 : ANSWER_MOST;
	}
	if (pic->x.room == 0)
		return ENOMEM;
	err = nbd_link_extents(&nbd->link, from, len < ASK_MOST ? len :
	    ASK_MOST, &pic->x);
	pic->off = from;
	if (err != 0)
		pic->x.n = 0;
	return err;
}

/*
 * Whether such a part is passed over.  A hole that is not told to read as zeros
 * is data: nobody knows what it reads as.
 */
static bool
passed_over(const struct nbd *nbd, const struct picture *pic, uint32_t flags)
{
	return pic == &nbd->dirty ? flags == 0 :
	    (flags & LIBNBD_STATE_ZERO) != 0;
}

/* The extent of the last answer that holds off. */
static bool
find(const struct nbd *nbd, const struct picture *pic, uint64_t off,
    struct extent *x)
{
	uint64_t at = pic->off, end;
	bool hole, found = false;
	size_t i;

	for (i = 0; i < pic->x.n && at < nbd->size; i++, at = end) {
		end = at + pic->x.at[i].len;
		if (end > nbd->size)
			end = nbd->size;
		if (end <= off)
			continue;
		hole = passed_over(nbd, pic, pic->x.at[i].flags);
		if (at > off && (!found || x->hole != hole))
			return found;
		*x = (struct extent){ off, end - off, hole };
		found = true;
	}
	return found;
}

static int
look_up(struct nbd *nbd, struct picture *pic, uint64_t off, struct extent *x)
{
	int err = 0;

	if (off >= nbd->size)
		return ENXIO;
	pthread_mutex_lock(&nbd->lock);
	if (!find(nbd, pic, off, x)) {
		err = ask(nbd, pic, off);
		if (err == 0 && !find(nbd, pic, off, x))
			err = EPROTO;		/* it has told nothing */
	}
	pthread_mutex_unlock(&nbd->lock);
	return err;
}

int
nbd_extent_at(const struct endpoint *ep, uint64_t off, struct extent *x)
{
	struct nbd *nbd = ep->priv;

	return nbd->extents ? look_up(nbd, &nbd->allocated, off, x) :
	    EOPNOTSUPP;
}

int
nbd_changed(const struct endpoint *ep, uint64_t off, struct extent *x)
{
	struct nbd *nbd = ep->priv;

	return nbd->bitmap != NULL ? look_up(nbd, &nbd->dirty, off, x) :
	    EOPNOTSUPP;
}
#endif
