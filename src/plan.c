/*
 * Every default and every decision, with its reason.  Nothing is done here.
 */
#include "plan.h"

#include "number.h"
#include "status.h"

enum {
	TRANSFER = 1 << 20,	/* of 64 KiB to 16 MiB the least that is fast */
	SMALL_TRANSFER = 64 << 10,	/* a warm cache, few pages touched */
	TRANSFER_MOST = 1 << 30,
	SECTOR = 512,
};

/* The block: as said, else the source's, else the target's, else 512. */
static uint64_t
block_size(const struct plan *p)
{
	if (p->opts->bs > 0)
		return (uint64_t)p->opts->bs;
	if (p->src->block > 0)
		return p->src->block;
	if (p->dst->block > 0)
		return p->dst->block;
	return SECTOR;
}

static int
too_large(struct fault *f, const char *what)
{
	return fault_set(f, STATUS_USAGE, "%s lies beyond the last byte that "
	    "can be addressed, 8 EiB", what);
}

/* base + n units, within a file offset. */
static int
place(uint64_t *off, uint64_t base, int64_t n, uint64_t unit)
{
	if (__builtin_mul_overflow((uint64_t)n, unit, off) ||
	    __builtin_add_overflow(*off, base, off) || *off > INT64_MAX)
		return -1;
	return 0;
}

static int
place_ends(struct plan *p, struct fault *f)
{
	const struct opts *o = p->opts;

	if (place(&p->src_off, p->src->base, o->skip,
	    (o->iflag & FLAG_SKIP_BYTES) != 0 ? 1 : p->bs) != 0)
		return too_large(f, "skip=");
	if (place(&p->dst_off, p->dst->base, o->seek,
	    (o->oflag & FLAG_SEEK_BYTES) != 0 ? 1 : p->bs) != 0)
		return too_large(f, "seek=");
	return 0;
}

/* How much: count=, else what the source has, else what the target holds. */
static int
set_length(struct plan *p, struct fault *f)
{
	const struct opts *o = p->opts;
	uint64_t most = INT64_MAX - (p->src_off > p->dst_off ? p->src_off :
	    p->dst_off);
	uint64_t end;

	p->counted = o->count >= 0;
	p->bounded = true;
	if (p->counted) {
		if (place(&p->length, 0, o->count, (o->iflag &
		    FLAG_COUNT_BYTES) != 0 ? 1 : p->bs) != 0 ||
		    p->length > most)
			return too_large(f, "count=");
	} else if (p->src->size >= 0) {
		end = (uint64_t)p->src->size;
		p->length = end > p->src_off ? end - p->src_off : 0;
		if (p->length > most)
			return too_large(f, "the end of the copy");
	} else if (p->src->endless && p->dst->room >= 0) {
		end = (uint64_t)p->dst->room;
		p->length = end > p->dst_off ? end - p->dst_off : 0;
	} else if (p->src->endless && !p->dst->streamed) {
		return fault_set(f, STATUS_USAGE,
		    "%s has no end: give count=", p->src->name);
	} else {
		p->bounded = false;
		p->length = most;
	}
	return 0;
}

/*
 * What the end of the copy is padded to.  A device takes whole logical blocks
 * only; conv=sync asks for whole blocks of bs.
 */
static uint64_t
padding(const struct plan *p)
{
	if ((p->opts->conv & CONV_PAD) != 0)
		return p->bs;
	return p->dst->block > 0 ? p->dst->block : 1;
}

/*
 * Without bpt=.  For a small copy through the page cache, the time is mostly
 * that of touching new memory.
 */
static uint64_t
usual_transfer(const struct plan *p)
{
	bool direct = p->src->block > 0 || p->dst->block > 0 ||
	    ((p->opts->iflag | p->opts->oflag) & FLAG_DIRECT) != 0;

	return p->bounded && p->length <= TRANSFER && !direct ?
	    SMALL_TRANSFER : TRANSFER;
}

static int
set_transfer(struct plan *p, struct fault *f)
{
	const struct opts *o = p->opts;
	uint64_t chunk = usual_transfer(p);

	if (o->bpt > 0 && __builtin_mul_overflow((uint64_t)o->bpt, p->bs,
	    &chunk))
		chunk = UINT64_MAX;
	if (chunk > TRANSFER_MOST)
		return fault_set(f, STATUS_USAGE,
		    "bpt= times bs= makes a transfer of more than 1 GiB");
	p->pad = padding(p);
	if ((o->conv & CONV_PAD) != 0 || p->dst->block > 0)
		chunk = round_up(chunk, p->pad);
	/* Borders of transfers lie well on the target, if it is up to us. */
	if (o->bpt < 0 && !p->dst->streamed && p->dst_off % p->pad == 0)
		p->phase = p->dst_off % chunk;
	p->chunk = (size_t)chunk;
	p->room = (size_t)round_up(chunk, p->pad);
	if (p->bounded && p->length < chunk)
		p->room = (size_t)round_up(p->length > 0 ? p->length : 1,
		    p->pad);
	return 0;
}

/* No more workers than there are transfers, and one for a small copy. */
static unsigned
workers(const struct plan *p)
{
	uint64_t ranges = p->length / p->chunk + (p->length % p->chunk != 0);

	if (p->length % p->chunk + p->phase > p->chunk || (p->phase > 0 &&
	    p->length % p->chunk == 0 && p->length > 0))
		ranges++;
	if (ranges < 1 || (p->opts->bpt < 0 && p->length <= TRANSFER))
		ranges = 1;
	return (unsigned)(ranges < (uint64_t)p->opts->thr ? ranges :
	    (uint64_t)p->opts->thr);
}

int
plan_make(struct plan *p, const struct opts *o, struct endpoint *src,
    struct endpoint *dst, struct fault *f)
{
	*p = (struct plan){ .opts = o, .src = src, .dst = dst, .truncate = -1 };
	p->bs = block_size(p);
	if (place_ends(p, f) != 0 || set_length(p, f) != 0 ||
	    set_transfer(p, f) != 0)
		return -1;
	p->block = src->block > 0 ? src->block : SECTOR;
	if (o->map != NULL && dst->block > p->block)
		p->block = dst->block;	/* what is kept is written whole */
	p->workers = workers(p);
	/* The image of a disk holds all its secrets. */
	p->mode = src->device ? 0600 : 0666;
	if ((o->oflag & FLAG_TRUNC) != 0)
		p->truncate = (int64_t)p->dst_off;
	return 0;
}
