/*
 * Holding a plan against the partition tables.
 *
 * A range that was computed by hand from the columns of fdisk is off by one
 * more often than not.  It is odd if one of its borders lies within a
 * partition, or if it begins where a partition begins but ends in the gap
 * behind it, or the like.  A range that is just one partition is not odd, nor
 * is the head of a disk that becomes the head of another.
 */
#include "part/findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* How near a partition's own border is: what is nearest is named. */
static void
nearer(struct border *b, enum lies lies, const struct part *p, uint64_t bytes)
{
	if (b->number != 0 && (lies > b->lies || (lies == b->lies &&
	    bytes >= b->bytes)))
		return;
	*b = (struct border){ lies, p->number, bytes };
}

/* Where a byte lies; own is the partition's border of the same kind. */
static void
lay(struct border *b, const struct part *p, uint64_t at, bool begins)
{
	uint64_t own = begins ? p->start : part_end(p);

	if (at == own)
		nearer(b, LIES_BORDER, p, 0);
	else if (at > p->start && at < part_end(p))
		nearer(b, LIES_INSIDE, p, at > own ? at - own : own - at);
	else if (begins ? at < own : at > own)
		nearer(b, LIES_OUTSIDE, p, at > own ? at - own : own - at);
}

/* Whether one border of the range lies within it, and the other does not. */
static bool
cuts(const struct part *p, uint64_t from, uint64_t to)
{
	bool begins = from > p->start && from < part_end(p);
	bool ends = to > p->start && to < part_end(p);

	return begins != ends;
}

/*
 * Whether a range is held against a partition: one that it touches, but for an
 * extended one that lies within it or around it.
 */
static bool
concerns(const struct part *p, uint64_t from, uint64_t to)
{
	if (from >= part_end(p) || to <= p->start)
		return false;
	return !p->container || from == p->start || to == part_end(p) ||
	    cuts(p, from, to);
}

/* Look at a range; head: it is the first bytes of both ends. */
static void
look_at(struct span *s, const struct parts *t, uint64_t from, uint64_t to,
    bool head)
{
	bool any = false, exact = false;
	size_t i;

	for (i = 0; i < t->n; i++) {
		const struct part *p = &t->part[i];

		if (!concerns(p, from, to))
			continue;
		any = true;
		exact = exact || (from == p->start && to == part_end(p));
		lay(&s->from, p, from, true);
		lay(&s->to, p, to, false);
	}
	if (from == 0)
		s->from.lies = LIES_DISK;
	if (to == UINT64_MAX)
		s->to.lies = LIES_OPEN;
	else if (to >= t->size && s->to.lies != LIES_BORDER)
		s->to.lies = LIES_DISK;
	s->odd = any && !exact && (s->from.lies == LIES_INSIDE ||
	    s->to.lies == LIES_INSIDE || (!head && to != UINT64_MAX));
}

/* Whether operands chose a part of the ends. */
static bool
by_hand(const struct opts *o)
{
	return o->skip > 0 || o->seek > 0 || o->count >= 0 || o->ipart > 0 ||
	    o->opart > 0;
}

static void
span_make(struct span *s, const struct plan *p, struct endpoint *ep,
    uint64_t from, uint64_t length)
{
	uint64_t to = p->bounded ? from + length : UINT64_MAX;
	struct parts t;
	struct fault f;

	if (ep->part > 0 || p->length == 0 || !parts_possible(ep) ||
	    (from == 0 && to == (uint64_t)ep->size) ||
	    parts_read(ep, &t, &f) != 0)
		return;
	look_at(s, &t, from, to, p->src_off == 0 && p->dst_off == 0);
	parts_free(&t);
}

/* From the first byte of a disk to the first byte of another. */
static bool
clones(const struct plan *p)
{
	return parts_possible(p->src) && p->bounded && p->src_off == 0 &&
	    p->dst_off == 0 && p->src->part == 0;
}

/* Whether every partition is in the copy. */
static bool
has_all(const struct plan *p, const struct parts *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (part_end(&t->part[i]) > p->length)
			return false;
	return true;
}

static void
clone_make(struct findings *found, const struct plan *p)
{
	const struct endpoint *dst = p->dst;
	bool whole = p->length == (uint64_t)p->src->size;
	bool larger = whole && dst->size > p->src->size;
	bool smaller = dst->device && dst->size < p->src->size;
	bool other = whole && dst->block > 0 && dst->block != p->src->block;
	struct parts t;
	struct fault f;

	if (!clones(p) || (!larger && !smaller && !other) ||
	    parts_read(p->src, &t, &f) != 0)
		return;
	if (t.type[0] != '\0' && dst->block > 0 && dst->block != t.sector)
		found->table_sector = t.sector;
	else if (larger || (smaller && has_all(p, &t)))
		found->backup_astray = strcmp(t.type, "gpt") == 0;
	parts_free(&t);
}

void
findings_make(struct findings *found, const struct plan *p, bool thorough)
{
	uint64_t written = p->bounded ? round_up(p->length, p->pad) : 0;
	uint64_t to = p->bounded ? p->dst_off + written : p->dst->end;

	*found = (struct findings){ .signs = 0 };
	if (by_hand(p->opts)) {
		span_make(&found->src, p, p->src, p->src_off, p->length);
		span_make(&found->dst, p, p->dst, p->dst_off, written);
	}
	clone_make(found, p);
	if (thorough && p->length > 0)
		found->signs = parts_signs(p->dst, p->dst_off, to,
		    &found->sign);
}

void
findings_free(struct findings *found)
{
	free(found->sign);
	found->sign = NULL;
	found->signs = 0;
}
