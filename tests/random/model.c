/*
 * Where pardd is another program than dd on purpose: what is refused, what is
 * padded, what ends with another status.  Each function is one such thing.
 */
#include <string.h>

#include "random.h"

/* The end of the copy is padded to this: a device takes whole blocks only. */
static uint64_t
pad_of(const struct line *l)
{
	uint64_t block = block_of(&l->dst) > 0 ? block_of(&l->dst) : 1;

	return (l->conv & PAD) != 0 && block % unit_of(l) != 0 ? unit_of(l) :
	    block;
}

/* Operands that contradict each other are usage errors to pardd. */
static bool
contradicts(const struct line *l)
{
	bool append = (l->dst.flag & APPEND) != 0;

	return (l->conv & (EXCL | NOCREAT)) == (EXCL | NOCREAT) ||
	    (append && (l->dst.off > 0 || (l->conv & SPARSE) != 0));
}

/* What is not there cannot be copied: pardd does not begin, dd copies less. */
static bool
past_end(const struct line *l)
{
	uint64_t at = start_of(l, &l->src), size = source_size(l), n;

	if (l->src.what == PIPE || l->src.what == ZEROS)
		return false;
	if (at > size)
		return true;
	n = l->count < 0 ? 0 : in_bytes(l, (uint64_t)l->count, l->unit);
	return n > size - at;
}

/* A pipe ends when it ends. */
static bool
bounded(const struct line *l)
{
	return l->src.what != PIPE || l->count >= 0;
}

static uint64_t
asked(const struct line *l)
{
	return l->count >= 0 ? in_bytes(l, (uint64_t)l->count, l->unit) :
	    left(l);
}

/* count=0 asks for nothing, so nothing is missing. */
static bool
ends_early(const struct line *l)
{
	return l->src.what == PIPE && l->count != 0 && (asked(l) > left(l) ||
	    start_of(l, &l->src) > l->size);
}

/* Nothing came for what holds something: what wrote the pipe has failed. */
static bool
brings_nothing(const struct line *l)
{
	if (l->src.what != PIPE || l->size > 0 || l->count >= 0)
		return false;
	return block_of(&l->dst) > 0 || l->dst.at > 0 ||
	    (l->dst.what == PLAIN && l->dst.way != OPENED && l->old > 0);
}

/* A disk too small: dd writes what it holds. */
static bool
no_room(const struct line *l)
{
	uint64_t at = start_of(l, &l->dst);

	return block_of(&l->dst) > 0 && (at > target_size(l) || (bounded(l) &&
	    round_up(asked(l), pad_of(l)) > target_size(l) - at));
}

/* Blocks in part: dd has the page cache make them whole. */
static bool
misfits(const struct line *l)
{
	uint32_t from = block_of(&l->src), to = block_of(&l->dst);
	uint64_t n = asked(l);

	if (from > 0 && unit_of(l) % from != 0)
		return true;
	if (to == 0)
		return false;
	if ((l->conv & PAD) != 0)
		n = round_up(n, unit_of(l));
	return start_of(l, &l->dst) % to != 0 || pad_of(l) % to != 0 ||
	    (bounded(l) && (l->count >= 0 || from > 0) && n % to != 0);
}

/* What is written in order has no places: dd seeks in vain, or reads. */
static bool
no_seek(const struct line *l)
{
	return l->dst.off > 0 && (l->dst.what == PIPE ||
	    l->dst.way == APPENDED);
}

/* Both fail, and neither touches anything. */
bool
both_refuse(const struct line *l)
{
	return (l->src.way == LINKED && (l->src.flag & NOFOLLOW) != 0) ||
	    (l->dst.way == LINKED && (l->dst.flag & NOFOLLOW) != 0) ||
	    ((l->conv & EXCL) != 0 && l->old >= 0) ||
	    ((l->conv & NOCREAT) != 0 && l->old < 0);
}

/* Reads that fail: dd ends 1 whatever it copied. */
static void
forecast_faults(const struct line *l, struct due *d)
{
	uint64_t first = UINT64_MAX;
	size_t i;

	d->status = (l->conv & NOERROR) != 0 ? 100 : 3;
	if (d->status == 100)
		return;
	for (i = 0; i < l->nbad; i++)
		if (l->bad[i] < first)
			first = l->bad[i];
	/* Workers are beyond it already: until there, both have the same. */
	d->same = start_of(l, &l->dst) + first - start_of(l, &l->src);
}

void
forecast(const struct line *l, struct due *d)
{
	*d = (struct due){ .same = UINT64_MAX };
	if (contradicts(l)) {
		*d = (struct due){ .status = 1, .untouched = true };
	} else if (both_refuse(l)) {
		*d = (struct due){ .status = -1, .untouched = true };
	} else if (past_end(l) || no_room(l) || misfits(l) || no_seek(l)) {
		*d = (struct due){ .status = 101, .untouched = true };
	} else if (ends_early(l)) {
		d->status = 102;	/* dd does not mind */
	} else if (brings_nothing(l)) {
		d->status = 102;	/* nor here */
	} else if (block_of(&l->dst) > 0 && start_of(l, &l->dst) +
	    round_up(length_of(l), pad_of(l)) > target_size(l)) {
		d->status = 78;		/* the pipe had more than the disk */
		d->same = target_size(l);
	}
	if (l->nbad > 0 && d->status == 0)
		forecast_faults(l, d);
}

/* What dd leaves is made what pardd must leave. */
void
allow(const struct line *l, const struct due *d, struct result *dd)
{
	uint64_t at = start_of(l, &l->dst), length = length_of(l);
	uint64_t end = at + ((l->conv & PAD) != 0 ?
	    round_up(length, unit_of(l)) : length);
	uint64_t whole = at + round_up(length, pad_of(l));

	/* A device is padded with zeros, and the next command goes on there. */
	if (d->untouched || block_of(&l->dst) == 0 || whole <= end ||
	    whole > (uint64_t)dd->size)
		return;
	memset(dd->data + end, 0, whole - end);
	if (dd->out >= 0)
		dd->out = (int64_t)whole;
}
