/*
 * Extents of an NBD export: which are holes, and which have changed according
 * to a dirty bitmap.
 */
#include "config.h"

#ifdef HAVE_LIBNBD
#include "nbd_end.h"

#include <errno.h>
#include <stdlib.h>

enum {
	ASK_MOST = 1 << 30,	/* bytes per query, and */
	ANSWER_MOST = 4096,	/* extents per answer */
};

/* Query the extents from off on, with nbd->lock held. */
static int
nbd_extents_query(struct nbd *nbd, struct extent_cache *cache, uint64_t off)
{
	uint64_t from = off - off % nbd->block, len = nbd->size - from;
	int err;

	if (cache->x.at == NULL) {
		cache->x.at = calloc(ANSWER_MOST, sizeof(*cache->x.at));
		cache->x.room = cache->x.at == NULL ? 0 : ANSWER_MOST;
	}
	if (cache->x.room == 0)
		return ENOMEM;
	err = nbd_link_extents(&nbd->link, from, len < ASK_MOST ? len :
	    ASK_MOST, &cache->x);
	cache->off = from;
	if (err != 0)
		cache->x.n = 0;
	return err;
}

/*
 * Whether an extent is skipped.  A hole that does not promise to read as zeros
 * is data, because nobody knows what it reads as.
 */
static bool
passed_over(const struct nbd *nbd, const struct extent_cache *cache,
    uint32_t flags)
{
	return cache == &nbd->dirty ? flags == 0 :
	    (flags & LIBNBD_STATE_ZERO) != 0;
}

/* The extent at off, if the last answer has it. */
static bool
nbd_extents_find(const struct nbd *nbd, const struct extent_cache *cache,
    uint64_t off, struct extent *x)
{
	uint64_t at = cache->off, end;
	bool hole, found = false;
	size_t i;

	for (i = 0; i < cache->x.n && at < nbd->size; i++, at = end) {
		end = at + cache->x.at[i].len;
		if (end > nbd->size)
			end = nbd->size;
		if (end <= off)
			continue;
		hole = passed_over(nbd, cache, cache->x.at[i].flags);
		if (at > off && (!found || x->hole != hole))
			return found;
		*x = (struct extent){ off, end - off, hole };
		found = true;
	}
	return found;
}

static int
nbd_extents_look_up(struct nbd *nbd, struct extent_cache *cache, uint64_t off,
    struct extent *x)
{
	int err = 0;

	if (off >= nbd->size)
		return ENXIO;
	pthread_mutex_lock(&nbd->lock);
	if (!nbd_extents_find(nbd, cache, off, x)) {
		err = nbd_extents_query(nbd, cache, off);
		if (err == 0 && !nbd_extents_find(nbd, cache, off, x))
			err = EPROTO;		/* an empty answer */
	}
	pthread_mutex_unlock(&nbd->lock);
	return err;
}

int
nbd_extent_at(const struct endpoint *ep, uint64_t off, struct extent *x)
{
	struct nbd *nbd = ep->priv;

	return nbd->extents ? nbd_extents_look_up(nbd, &nbd->allocated, off,
	    x) : EOPNOTSUPP;
}

int
nbd_changed(const struct endpoint *ep, uint64_t off, struct extent *x)
{
	struct nbd *nbd = ep->priv;

	return nbd->bitmap != NULL ?
	    nbd_extents_look_up(nbd, &nbd->dirty, off, x) : EOPNOTSUPP;
}
#endif
